"""A pairwise statistic and the options of its plan; its number of bins may be open."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from sordino_analysis.optimisation.deadline import Deadline
from sordino_analysis.pairwise.protocol import ProtocolRequest, check_users
from sordino_analysis.pairwise.protocol_planner import CompiledProtocol, compile_protocol
from sordino_analysis.pairwise.protocol_registry import find_protocol
from sordino_analysis.pairwise.tuning import BINS
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning.one_thread import one_thread
from sordino_analysis.planning.planning_request import Interrupted, never, request_digest
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.progress import Progress, ProgressCallback, ignore_progress
from sordino_analysis.questions.pairwise import PairwiseSpecification, choose_bins
from sordino_analysis.questions.question import question_digest
from sordino_analysis.request_terms import Effort
from sordino_shared.guarantees import check_round_guarantee
from sordino_shared.protocol import Digest

# Bins are compared by the protocol that is quickest to design: errors of the others move alike with their number.
_BINS_BY = "one_round"


@dataclass(frozen=True, eq=False)
class PairwiseRequest:
    """The protocol with the least predicted error for the statistic that `specification` describes."""

    unused: ClassVar = ("mechanism", "reduction", "objective", "robust")
    specification: PairwiseSpecification
    options: PlanningOptions

    def __post_init__(self) -> None:
        self.check(self.options, queries=1)

    @classmethod
    def of(cls, specification: PairwiseSpecification, options: PlanningOptions) -> Self:
        """For the statistic that is written down."""
        return cls(specification, options)

    @classmethod
    def check(cls, options: PlanningOptions, queries: int) -> None:
        """Raise InvalidValue where no plan is made with these options; a statistic is one query."""
        options.refuse(
            ("mechanism", "reduction", "robust"),
            "mechanism, reduction and robust are of linear queries; choose a protocol for a pairwise statistic",
        )
        options.refuse(
            ("collector", "target_error"),
            "a shuffler takes linear queries for now, no pairwise statistic: leave out collector and target_error",
        )
        if options.users is None:
            raise PlanError(
                "a pairwise statistic needs `users`, the number to expect: protocols are compared at it", options
            )
        check_round_guarantee(options.guarantee)
        check_users(options.users)
        if options.protocol is not None:
            find_protocol(options.protocol)

    @property
    def digest(self) -> Digest:
        """Names all that the plan depends on."""
        return request_digest(question_digest(self.specification), self.options, self.unused)

    def compile(self, progress: ProgressCallback = ignore_progress, interrupted: Interrupted = never) -> FinishedPlan:
        """The compared protocols' best as it travels and is kept."""
        return self.compare(progress, interrupted).finished()

    @one_thread
    def compare(
        self, progress: ProgressCallback = ignore_progress, interrupted: Interrupted = never
    ) -> CompiledProtocol:
        """The protocol with the least predicted error, at the number of bins that errs least where that is open.

        The time limit is that of the whole; it is cut short at once when `interrupted` becomes true.
        """
        deadline = Deadline(self.options.time_limit, interrupted)
        request = ProtocolRequest(self._binned(progress, deadline).build(), self.options, deadline)
        return compile_protocol(request, lambda step: progress(replace(step, stage="comparing protocols")))

    def with_time_limit(self, seconds: float) -> Self:
        """The same request with at most so many seconds."""
        return replace(self, options=self.options.with_time_limit(seconds))

    def _binned(self, progress: ProgressCallback, deadline: Deadline) -> PairwiseSpecification:
        line = self.specification.open_bins()
        if line is None:
            return self.specification
        share = deadline.part(BINS.share_of_time)

        def predicted(bins: int) -> float:
            def trying(_: Progress) -> None:
                progress(Progress(0.0, f"trying {bins} bins"))

            binned = ProtocolRequest(self.specification.with_bins(bins).build(), self.options, share)
            quick = {"protocol": _BINS_BY, "effort": Effort.QUICK}
            tried = replace(binned, options=self.options.model_copy(update=quick))
            return compile_protocol(tried, trying, bounds=False).design.plan.predicted_rmse

        return self.specification.with_bins(choose_bins(line, predicted, share.passed))
