"""Linear queries and the options of their plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from sordino_analysis.average_case.figures import average_case_figures
from sordino_analysis.documents.elimination_plan import EliminationPlan, RoundShares
from sordino_analysis.documents.plan_summary import LinearSummary
from sordino_analysis.documents.queries import IndicatorQueries, RuleQueries
from sordino_analysis.estimation.few_attributes import MOST_LISTED_TYPES
from sordino_analysis.mechanisms.registry import mechanism_names
from sordino_analysis.mechanisms.request import PlanRequest, check_number_of_queries
from sordino_analysis.planning.blankets import choose_blanket, closed_forms
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning.levels import with_levels
from sordino_analysis.planning.planner import CompiledPlan, compile_plan
from sordino_analysis.planning.planning_request import Interrupted, never, request_digest
from sordino_analysis.planning_options import CollectorTarget, PlanError, PlanningOptions
from sordino_analysis.progress import ProgressCallback, ignore_progress, progress_of_part
from sordino_analysis.questions.linear import Workload, WorkloadSpecification
from sordino_shared.guarantees import check_round_guarantee
from sordino_shared.protocol import Digest

# Each report tells one character, at any ε.
SINGLE_INDICATORS = "fourier"


@dataclass(frozen=True, eq=False)
class LinearRequest:
    """The mechanism with the least variance for `workload`; it is pickled as its queries, and built again from them.

    With `rounds` it is the plan of the first of them, and comes with that of the protocol. Without `with_coins` its
    summary says nothing of fake reports with drawn coins.
    """

    unused: ClassVar = ("protocol", "target")
    workload: Workload
    options: PlanningOptions
    rounds: RoundShares | None = None
    with_coins: bool = True

    def __post_init__(self) -> None:
        self.check(self.options, self.workload.queries)
        if self.options.collector is not None:
            self._check_shuffled()

    @classmethod
    def of(cls, specification: WorkloadSpecification, options: PlanningOptions) -> Self:
        """For the workload that is written down, which is built here."""
        return cls(specification.build(), options, specification.rounds)

    @classmethod
    def check(cls, options: PlanningOptions, queries: int) -> None:
        """Raise InvalidValue where no plan is made with these options, or for so many queries."""
        check_round_guarantee(options.guarantee)
        check_number_of_queries(queries)
        options.refuse(cls.unused, "protocol and target are of pairwise statistics; this workload has linear queries")
        options.check_collector()
        if options.robust is not None and options.users is None:
            raise PlanError(
                "robust weighs what fake reports do to an answer against its error: state the number of users, too",
                options.robust,
            )
        if options.mechanism is not None and options.mechanism not in mechanism_names():
            names = ", ".join(mechanism_names())
            raise PlanError(f"there is no mechanism {options.mechanism!r}; there are {names}", options.mechanism)

    @property
    def digest(self) -> Digest:
        """Names all that the plan depends on."""
        question = self.workload.digest
        if self.rounds is not None:
            question = Digest.of(question + EliminationPlan.of(self.rounds, self.options.guarantee).content)
        return request_digest(question, self.options, self.unused)

    def compile(self, progress: ProgressCallback = ignore_progress, interrupted: Interrupted = never) -> FinishedPlan:
        """The plan of the best mechanism; of several rounds it predicts errors for the users of the first."""
        if isinstance(self.workload.published, IndicatorQueries):
            return self._of_single_indicators(self.workload.published, progress, interrupted)
        if self.options.collector is not None:
            return self._behind_a_shuffler(self.options.collector, progress, interrupted)
        if self.rounds is None:
            return self._best(self.options, progress, interrupted)
        users, protocol = self.options.users, EliminationPlan.of(self.rounds, self.options.guarantee)
        answering = None if users is None else max(1, int(users * self.rounds.shares[0]))
        options = self.options.model_copy(update={"users": answering})
        first = compile_plan(PlanRequest(self.workload, options), progress, interrupted).finished(
            with_coins=self.with_coins
        )
        assert isinstance(first.summary, LinearSummary)
        summary = first.summary.of_first_round(users, self.rounds, str(protocol.digest))
        return FinishedPlan(first.device, first.analyst, summary, protocol)

    def _check_shuffled(self) -> None:
        """Raise PlanError for what no shuffler takes yet."""
        if self.rounds is not None:
            raise PlanError("a shuffler takes one round for now: leave out `rounds` of the class, or collector", self)
        if isinstance(self.workload.published, (IndicatorQueries, RuleQueries)):
            raise PlanError("a shuffler takes linear queries for now, no class of rules: leave out collector", self)
        if self.workload.size > MOST_LISTED_TYPES:
            raise PlanError(
                f"a shuffler takes up to {MOST_LISTED_TYPES:,} cells for now, the domain has {self.workload.size:,}: "
                "ask about fewer attributes or wider bins, or leave out collector",
                self.workload.size,
            )

    def _behind_a_shuffler(
        self, collector: CollectorTarget, progress: ProgressCallback, interrupted: Interrupted
    ) -> FinishedPlan:
        """ε of a device by what closed forms take fewest users at, and there the best of all mechanisms."""
        assert self.options.target_error is not None
        named, forms = self.options.mechanism, closed_forms(self.workload.size)
        options = self.options
        try:
            chosen = choose_blanket(
                self.workload,
                options.objective,
                collector.bound,
                self.options.target_error,
                largest_epsilon=options.guarantee.epsilon,
                mechanisms=forms if named not in forms else {named},
            )
            options = options.model_copy(update={"epsilon": chosen.local_epsilon})
        except PlanError:
            # A search may find what can be hidden at the largest ε, and says why not where none does.
            pass
        return self._best(options, progress, interrupted)

    def _best(self, options: PlanningOptions, progress: ProgressCallback, interrupted: Interrupted) -> FinishedPlan:
        """The plan with the least variance of those for several levels of numbers, or the one of anything else."""
        workloads = list(with_levels(self.workload, options))
        share, plans = 1 / len(workloads), list[CompiledPlan]()
        for number, workload in enumerate(workloads):
            part = progress_of_part(progress, number * share, share)
            plans.append(compile_plan(PlanRequest(workload, options), part, interrupted))
        return min(plans, key=lambda plan: plan.relative_variance).finished(with_coins=self.with_coins)

    def _of_single_indicators(
        self, asked: IndicatorQueries, progress: ProgressCallback, interrupted: Interrupted
    ) -> FinishedPlan:
        """Each report tells one indicator, so that estimates are nearly independent; raises PlanError."""
        if self.options.mechanism not in (None, SINGLE_INDICATORS):
            raise PlanError(f"`scheme: arrangement` has the mechanism {SINGLE_INDICATORS}: leave it open", self.options)
        epsilon = self.options.guarantee.epsilon
        figures = average_case_figures(asked.family, self.workload.queries, asked.width, epsilon)
        options = self.options.model_copy(update={"mechanism": SINGLE_INDICATORS})
        found = compile_plan(PlanRequest(self.workload, options), progress, interrupted).finished(
            with_coins=self.with_coins
        )
        return replace(found, summary=found.summary.model_copy(update={"average_case": figures}))

    def with_time_limit(self, seconds: float) -> Self:
        """The same request with at most so many seconds."""
        return replace(self, options=self.options.with_time_limit(seconds))
