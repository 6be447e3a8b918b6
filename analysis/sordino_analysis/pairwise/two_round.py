"""T2: every device answers one of two rounds, which it draws; the second estimates one query computed from the first.

For many users the error tends to that of one query, 4V₂/n, however hard the form is for one round. The shares of the
rounds and λ are chosen by predicted error before the first report, so the estimate is unbiased.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from math import sqrt
from operator import add

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.protocol_plan import OneStepParameters, ProtocolPlan
from sordino_analysis.pairwise.decoded_report_moments import DecodedReportMoments
from sordino_analysis.pairwise.estimators import NoStatistic, one_round_estimate
from sordino_analysis.pairwise.form_kernel import FormGoal, FormKernel, search_form_kernel
from sordino_analysis.pairwise.forms import aim_at, aims, form_queries, planned_statistic
from sordino_analysis.pairwise.one_round import MECHANISM, decoded, decoded_forgeries, too_many_types
from sordino_analysis.pairwise.one_step import StepTerms, one_step_estimate
from sordino_analysis.pairwise.pairwise_manipulation import Manipulation
from sordino_analysis.pairwise.protocol import PairwiseError, ProtocolDesign, ProtocolRequest
from sordino_analysis.pairwise.sealing import seal
from sordino_analysis.pairwise.second_round import (
    Allotment,
    answers_of,
    predicted_terms,
    predicted_variance,
    query_round,
)
from sordino_analysis.pairwise.statistic_estimate import PairwiseEstimate
from sordino_analysis.pairwise.tuning import SECOND_ROUND, TWO_ROUND
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_analysis.progress import Progress, ProgressCallback, progress_of_part
from sordino_analysis.questions.pairwise import QuadraticForm
from sordino_analysis.request_terms import Effort
from sordino_shared.guarantees import PureEpsilon

# Of fewer users a round has too few for an interval.
FEWEST_USERS = 40
_UNIT = 1 << 32


@dataclass(frozen=True)
class Split:
    """f, λ and the variance that they are predicted to have, a mean over the references."""

    share: float
    step: float
    variance: float


class TwoRound:
    """Two rounds, every device in one of them, and a one-step estimator."""

    name = "two_round"

    def reason_against(self, request: ProtocolRequest) -> str | None:
        """Why it does not apply, or None."""
        if request.users < FEWEST_USERS:
            return f"{request.users} users are too few for two rounds; {FEWEST_USERS} are the least"
        return too_many_types(request)

    def design(self, request: ProtocolRequest, progress: ProgressCallback) -> ProtocolDesign:
        """The share of the first round, λ and the first round's kernel with the least predicted variance."""
        kernel, split = _searched(request, progress)
        statistic = request.statistic
        first = seal(
            form_queries(statistic), request.guarantee, kernel.kernel, kernel.decoder, MECHANISM, request.options.seed
        )
        plan = request.plan(
            self.name,
            (request.guarantee.nano, request.guarantee.nano),
            sqrt(split.variance),
            first_weight=round(split.share * _UNIT),
            parameters=OneStepParameters(split.step),
        )
        return ProtocolDesign(plan, first)

    def predict(self, design: ProtocolDesign, histogram: Floats) -> float:
        """The root mean squared error at the plan's number of users, for users with this histogram (k,)."""
        plan = design.plan
        assert plan.first_share is not None
        law = DecodedReportMoments.of(design.first.device.randomizer, design.first.analyst.decoder)
        aim = aim_at(planned_statistic(plan), histogram)
        allotment = _allotted(plan.users, plan.first_share, plan.round_guarantees()[1])
        return sqrt(predicted_terms(aim, law, allotment).variance(plan.step))

    def manipulation(self, design: ProtocolDesign) -> tuple[Manipulation, ...]:
        """Of the form that the statistic is; of a function of several, of their values after the first round."""
        assert design.plan.first_share is not None
        return two_round_manipulation(design, design.plan.users * design.plan.first_share)

    def worst_variance(
        self, design: ProtocolDesign, form: QuadraticForm, populations: Floats, goes_on: Callable[[], bool]
    ) -> tuple[float, float] | None:
        """Predicted for `populations` (P, k), where the statistic is the form."""
        if not planned_statistic(design.plan).is_one_form:
            return None
        assert design.plan.first_share is not None
        allotment = _allotted(design.plan.users, design.plan.first_share, design.plan.round_guarantees()[1])
        return worst_of_two_rounds(design, allotment, populations, goes_on)

    def step(self, plan: ProtocolPlan, closed: tuple[ClosedRound, ...]) -> RoundPlan | PairwiseEstimate:
        """The second round's plan after the first, then the estimate."""
        return two_round_step(plan, closed, self.name, same_users=False)

    def conclude(self, plan: ProtocolPlan, closed: tuple[ClosedRound, ...]) -> PairwiseEstimate:
        """The estimate; from the first round alone, with a warning, where there was no second one."""
        return two_round_estimate(plan, closed, self.name, same_users=False)


def worst_of_two_rounds(
    design: ProtocolDesign, allotment: Allotment, populations: Floats, goes_on: Callable[[], bool]
) -> tuple[float, float] | None:
    """The largest predicted variance of the populations (P, k) with its standard error; None if `goes_on` says no."""
    law = DecodedReportMoments.of(design.first.device.randomizer, design.first.analyst.decoder)
    statistic, step = planned_statistic(design.plan), design.plan.step
    found = [predicted_variance(aim_at(statistic, each), law, allotment, step, goes_on) for each in populations]
    known = [each for each in found if each is not None]
    return max(known) if len(known) == len(found) else None


def two_round_step(
    plan: ProtocolPlan, closed: tuple[ClosedRound, ...], protocol: str, *, same_users: bool
) -> RoundPlan | PairwiseEstimate:
    """The plan for s = Wĥ after the first round, the estimate after the second; raises PairwiseError."""
    if len(closed) > 1:
        return two_round_estimate(plan, closed, protocol, same_users=same_users)
    statistic, guarantee = planned_statistic(plan), plan.round_guarantees()[1]
    try:
        return query_round(statistic, decoded(closed[0]), plan.target, guarantee, plan.seed)
    except NoStatistic as error:
        raise PairwiseError(str(error), error.value) from error


def two_round_estimate(
    plan: ProtocolPlan, closed: tuple[ClosedRound, ...], protocol: str, *, same_users: bool
) -> PairwiseEstimate:
    """One step from the first round by the second; the first round's own estimate where the second has no reports.

    Raises PairwiseError where the first round has no pair of reports.
    """
    statistic, reports = planned_statistic(plan), decoded(closed[0])
    try:
        if len(closed) < 2 or closed[1].aggregate.count == 0:
            warning = "nobody answered the second round: this is the first round's estimate, less precise than planned"
            return one_round_estimate(statistic, reports, target=plan.target, protocol=protocol, warnings=(warning,))
        answers = answers_of(closed[1], same_users=same_users)
        step = plan.step
        return one_step_estimate(statistic, reports, answers, step, target=plan.target, protocol=protocol)
    except NoStatistic as error:
        raise PairwiseError(str(error), error.value) from error


def two_round_manipulation(design: ProtocolDesign, first_users: float) -> tuple[Manipulation, ...]:
    """Of T where the statistic is one form, with so many users in the first round; else of the forms after that."""
    plan, forms = design.plan, decoded_forgeries(design)
    if len(forms) > 1:
        return tuple(form.in_one_round() for form in forms)
    return (forms[0].in_two_rounds(plan.step, plan.round_guarantees()[1], first_users),)


def _allotted(users: float, share: float, guarantee: PureEpsilon) -> Allotment:
    return Allotment(share * users, (1 - share) * users, False, guarantee)


def _searched(request: ProtocolRequest, progress: ProgressCallback) -> tuple[FormKernel, Split]:
    """A first kernel for guessed shares; then, unless it has to be quick, one for the shares that are best with it."""
    guess = Split(TWO_ROUND.first_guess_share, TWO_ROUND.first_guess_step, 0.0)
    quick = replace(request, options=request.options.model_copy(update={"effort": Effort.QUICK}))
    first_kernel = _kernel(quick, guess, progress_of_part(progress, 0.0, 0.15))
    split = _best_split(request, first_kernel.law, progress_of_part(progress, 0.15, 0.1))
    if request.options.effort is not Effort.QUICK and not request.deadline.passed():
        again = _kernel(request, split, progress_of_part(progress, 0.25, 0.6))
        better = _best_split(request, again.law, progress_of_part(progress, 0.85, 0.1))
        if better.variance < split.variance:
            first_kernel, split = again, better
    return first_kernel, split


def _kernel(request: ProtocolRequest, split: Split, progress: ProgressCallback) -> FormKernel:
    goal = FormGoal(
        aims(request.statistic),
        split.share * request.users,
        linear=(1 - split.step) ** 2,
        quadratic=(1 - 2 * split.step) ** 2,
    )
    return search_form_kernel(
        goal,
        request.guarantee,
        effort=request.options.effort,
        seed=request.options.seed,
        deadline=request.deadline.part(SECOND_ROUND.share_of_search),
        progress=progress,
    )


def _best_split(request: ProtocolRequest, law: DecodedReportMoments, progress: ProgressCallback) -> Split:
    """f and λ with the least mean predicted variance over the references, of the shares tried before the deadline."""
    splits: list[Split] = []
    for number, share in enumerate(TWO_ROUND.shares):
        if splits and request.deadline.passed():
            break
        part = progress_of_part(progress, number / len(TWO_ROUND.shares), 1 / len(TWO_ROUND.shares))
        splits.append(_split(request, law, share, part))
    return min(splits, key=lambda split: split.variance)


def _split(request: ProtocolRequest, law: DecodedReportMoments, share: float, progress: ProgressCallback) -> Split:
    allotment = _allotted(request.users, share, request.guarantee)
    references, terms = aims(request.statistic), []
    for number, aim in enumerate(references):
        progress(Progress(number / len(references)))
        terms.append(predicted_terms(aim, law, allotment))
    total: StepTerms = reduce(add, terms)
    step = total.best_step()
    return Split(share, step, total.variance(step) / len(terms))
