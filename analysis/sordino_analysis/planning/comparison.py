"""Candidates one by one: what speaks against each, its exact figures, and which of them is the best so far."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.analyst_part import ErrorFigures
from sordino_analysis.documents.summary_parts import MechanismRow
from sordino_analysis.evaluation.answer_moments import AnswerMoments, ErrorProfile
from sordino_analysis.evaluation.grids.listing import answered_by_grids
from sordino_analysis.evaluation.manipulation import largest_moves
from sordino_analysis.evaluation.variance import counts_as_unbiased
from sordino_analysis.mechanisms.mechanism import Mechanism, MechanismFailed, Predicted, Proposal, SharedWork
from sordino_analysis.mechanisms.registry import mechanism_names
from sordino_analysis.mechanisms.request import NOT_ALLOWED, PlanRequest
from sordino_analysis.planning.measures import Evaluated, measure_of, objective_variance
from sordino_analysis.planning_options import PlanError
from sordino_analysis.progress import ProgressCallback, progress_of_part
from sordino_analysis.questions.linear.widths import CharacterMap
from sordino_shared.errors import InvalidValue

# Two candidates closer than this are the same mechanism up to the rounding of its integers; the simpler one is taken.
_TIE = 1e-9
# Milliseconds for any domain, so that they are compared even when the time is over.
_AT_ONCE = {"randomized_response", "subset_selection", "subset_mixture", "coarsened_histogram", "shifted_grids"}
# Of a candidate's progress; the search before it reports the rest.
_SHARE_OF_EVALUATION = 0.2
# Entries of W, or queries about characters, up to which the largest moves of a candidate take less than a second.
_MOST_ENTRIES, _MOST_CHARACTER_QUERIES = 1 << 22, 1 << 15


@dataclass(frozen=True, kw_only=True)
class MechanismReport:
    """What became of one candidate; figures where it was evaluated, a reason where it was not or could not be taken.

    `snapping_cost` is the relative loss of the objective when a search rounds soft rows to staircase rows; it
    is negative where what was optimised after snapping gained more. `manipulation` and `least_variance` are those of
    `MechanismRow`.
    """

    name: str
    applies: bool
    reason: str | None
    figures: ErrorFigures | None
    seconds: float
    snapping_cost: float | None = None
    manipulation: float | None = None
    least_variance: float | None = None

    def row(self) -> MechanismRow:
        """Its row in the plan's summary."""
        figures = self.figures
        return MechanismRow(
            name=self.name,
            max_variance=None if figures is None else figures.max_variance,
            mean_variance=None if figures is None else figures.mean_variance,
            bias_bound=None if figures is None else figures.bias_bound,
            manipulation=self.manipulation,
            least_variance=self.least_variance,
            snapping_cost=self.snapping_cost,
            applies=self.applies,
            reason=self.reason,
            seconds=round(self.seconds, 3),
        )


@dataclass(frozen=True, eq=False)
class Contender:
    """A candidate that was evaluated, and what it is compared by."""

    name: str
    evaluated: Evaluated
    value: float

    @property
    def proposal(self) -> Proposal:
        """Randomizer and decoder."""
        return self.evaluated.proposal

    @property
    def profile(self) -> ErrorProfile:
        """Errors of its answers."""
        return self.evaluated.profile

    def beats(self, other: Contender | None) -> bool:
        """Whether it is better, or as good and simpler."""
        if other is None or self.value < other.value * (1 - _TIE):
            return True
        names = mechanism_names()
        return self.value <= other.value * (1 + _TIE) and names.index(self.name) < names.index(other.name)


class Comparison:
    """The best candidate so far by the measure that the request's options name, and a report of each."""

    def __init__(self, request: PlanRequest) -> None:
        self.request = request
        self.measure = measure_of(request)
        self.reports: list[MechanismReport] = []
        self._best: Contender | None = None

    @property
    def variance(self) -> float | None:
        """The objective's variance under the best."""
        return None if self._best is None else self._variance(self._best.profile.figures())

    def consider(self, candidate: Mechanism, work: SharedWork, progress: ProgressCallback) -> None:
        """Evaluate the candidate, unless something speaks against it, and keep it if it is the best."""
        start = time.perf_counter()
        reason, least = self._reason_against(candidate, work)
        try:
            searching = progress_of_part(progress, 0.0, 1 - _SHARE_OF_EVALUATION)
            proposal = candidate.propose(work, searching).on_devices(self.request) if reason is None else None
        except MechanismFailed as failure:
            reason, proposal = str(failure), None
        if proposal is None:
            report = MechanismReport(
                name=candidate.name,
                applies=False,
                reason=reason,
                figures=None,
                seconds=time.perf_counter() - start,
                least_variance=least,
            )
        else:
            evaluating = progress_of_part(progress, 1 - _SHARE_OF_EVALUATION, _SHARE_OF_EVALUATION)
            report = self._evaluated(candidate.name, proposal, start, evaluating)
        self.reports.append(report)

    def listed(self) -> tuple[MechanismReport, ...]:
        """A report of each, in the order of the registry."""
        names = mechanism_names()
        return tuple(sorted(self.reports, key=lambda report: names.index(report.name)))

    def best(self) -> Contender:
        """The best; raises PlanError with every candidate's reason where none applies."""
        if self._best is None:
            reasons = "".join(f"\n- {report.name}: {report.reason}" for report in self.reports)
            raise PlanError(f"no mechanism applies to this request:{reasons}", self.reports)
        return self._best

    def _reason_against(self, candidate: Mechanism, work: SharedWork) -> tuple[str | None, float | None]:
        """Why it is not built, and what its variance is at least, where that is known."""
        reason = candidate.reason_against(work)
        if self._best is None:
            return reason, None
        if reason is None and candidate.name not in _AT_ONCE and work.deadline.passed():
            return "the time was over before its turn", None
        least = candidate.least_variance(work) if isinstance(candidate, Predicted) else None
        if reason is None and least is not None and self.measure.least_value(least) > self._best.value * (1 + _TIE):
            return f"its formula gives at least {least:.4g}, and {self._best.name} has less", least
        return reason, least if reason is not None else None

    def _evaluated(self, name: str, proposal: Proposal, start: float, progress: ProgressCallback) -> MechanismReport:
        law = proposal.law(self.request)
        profile = law.profile(progress)
        figures = profile.figures()
        moves, reason = self._moves(proposal, law, figures), self._objection(figures)
        evaluated = Evaluated(proposal=proposal, law=law, profile=profile, moves=moves)
        if reason is None:
            reason = self._compared(name, evaluated)
        soft = proposal.soft_variance
        return MechanismReport(
            name=name,
            applies=reason is None,
            reason=reason,
            figures=figures,
            seconds=time.perf_counter() - start,
            snapping_cost=None if soft is None else self._variance(figures) / soft - 1,
            manipulation=None if moves is None else float(moves.max()),
        )

    def _moves(self, proposal: Proposal, law: AnswerMoments, figures: ErrorFigures) -> Floats | None:
        """(Q,) the largest effects of fake reports on answers; None where they were not asked for and take long."""
        workload = self.request.workload
        operator = workload.operator
        if isinstance(operator, CharacterMap):
            short = operator.shape[0] <= _MOST_CHARACTER_QUERIES
        else:
            short = answered_by_grids(workload) or math.prod(operator.shape) <= _MOST_ENTRIES
        if not short and self.request.options.robust is None:
            return None
        return largest_moves(proposal.randomizer, proposal.decoder, workload, figures.bias_bound, law)

    def _objection(self, figures: ErrorFigures) -> str | None:
        if counts_as_unbiased(figures):
            return None
        if not self.request.allows_bias:
            return NOT_ALLOWED
        if self.request.options.users is None:
            return (
                f"biased by up to {figures.bias_bound:.3g}: it is compared by mean squared error at a stated number of "
                "users only"
            )
        return None

    def _compared(self, name: str, evaluated: Evaluated) -> str | None:
        """Keep it where it is the best; the reason why it cannot be taken, or None."""
        try:
            value = self.measure.value(evaluated)
        except InvalidValue as reason:
            return str(reason)
        contender = Contender(name, evaluated, value)
        if contender.beats(self._best):
            self._best = contender
        return None

    def _variance(self, figures: ErrorFigures) -> float:
        return objective_variance(figures, self.request.options.objective)
