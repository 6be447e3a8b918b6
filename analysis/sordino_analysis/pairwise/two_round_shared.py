"""P2: every device answers two rounds with half of its ε each; the second estimates one query computed from the first.

Ghazi et al.'s reduction to linear queries, whose estimator is λ = ½ of the one-step estimator; here λ is the one with
the least predicted variance. It beats two rounds of different users only where ε is large.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import sqrt
from operator import add

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.protocol_plan import OneStepParameters, ProtocolPlan
from sordino_analysis.pairwise.decoded_report_moments import DecodedReportMoments
from sordino_analysis.pairwise.form_kernel import FormGoal, search_form_kernel
from sordino_analysis.pairwise.forms import aim_at, aims, form_queries, planned_statistic
from sordino_analysis.pairwise.one_round import MECHANISM, too_many_types
from sordino_analysis.pairwise.one_step import StepTerms
from sordino_analysis.pairwise.pairwise_manipulation import Manipulation
from sordino_analysis.pairwise.protocol import ProtocolDesign, ProtocolRequest
from sordino_analysis.pairwise.sealing import seal
from sordino_analysis.pairwise.second_round import Allotment, predicted_terms
from sordino_analysis.pairwise.statistic_estimate import PairwiseEstimate
from sordino_analysis.pairwise.tuning import SECOND_ROUND, TWO_ROUND
from sordino_analysis.pairwise.two_round import (
    two_round_estimate,
    two_round_manipulation,
    two_round_step,
    worst_of_two_rounds,
)
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_analysis.progress import Progress, ProgressCallback, progress_of_part
from sordino_analysis.questions.pairwise import QuadraticForm
from sordino_shared.guarantees import MIN_ROUND_NANO, PureEpsilon


class TwoRoundShared:
    """Two rounds of the same users, half of ε in each."""

    name = "two_round_shared"

    def reason_against(self, request: ProtocolRequest) -> str | None:
        """Why it does not apply, or None."""
        if request.guarantee.nano < 2 * MIN_ROUND_NANO:
            return f"half of {request.guarantee} is less than a round may have"
        return too_many_types(request)

    def design(self, request: ProtocolRequest, progress: ProgressCallback) -> ProtocolDesign:
        """The kernel of the first round and λ with the least predicted variance."""
        statistic, (first_half, second_half) = request.statistic, _halves(request.guarantee)
        goal = FormGoal(
            aims(statistic),
            request.users,
            linear=(1 - TWO_ROUND.first_guess_shared) ** 2,
            quadratic=(1 - 2 * TWO_ROUND.first_guess_shared) ** 2,
        )
        kernel = search_form_kernel(
            goal,
            first_half,
            effort=request.options.effort,
            seed=request.options.seed,
            deadline=request.deadline.part(SECOND_ROUND.share_of_search),
            progress=progress_of_part(progress, 0.0, 0.9),
        )
        allotment = Allotment(request.users, request.users, True, second_half)
        terms = []
        for number, aim in enumerate(goal.aims):
            progress(Progress(0.9 + 0.05 * number / len(goal.aims)))
            terms.append(predicted_terms(aim, kernel.law, allotment))
        total: StepTerms = reduce(add, terms)
        step = total.best_step()
        plan = request.plan(
            self.name,
            (first_half.nano, second_half.nano),
            sqrt(total.variance(step) / len(goal.aims)),
            parameters=OneStepParameters(step),
        )
        first = seal(
            form_queries(statistic), first_half, kernel.kernel, kernel.decoder, MECHANISM, request.options.seed
        )
        return ProtocolDesign(plan, first)

    def predict(self, design: ProtocolDesign, histogram: Floats) -> float:
        """The root mean squared error at the plan's number of users, for users with this histogram (k,)."""
        plan = design.plan
        law = DecodedReportMoments.of(design.first.device.randomizer, design.first.analyst.decoder)
        allotment = Allotment(plan.users, plan.users, True, plan.round_guarantees()[1])
        terms = predicted_terms(aim_at(planned_statistic(plan), histogram), law, allotment)
        return sqrt(terms.variance(plan.step))

    def manipulation(self, design: ProtocolDesign) -> tuple[Manipulation, ...]:
        """Of the form that the statistic is; of a function of several, of their values after the first round."""
        return two_round_manipulation(design, design.plan.users)

    def worst_variance(
        self, design: ProtocolDesign, form: QuadraticForm, populations: Floats, goes_on: Callable[[], bool]
    ) -> tuple[float, float] | None:
        """Predicted for `populations` (P, k), where the statistic is the form."""
        if not planned_statistic(design.plan).is_one_form:
            return None
        users = design.plan.users
        allotment = Allotment(users, users, True, design.plan.round_guarantees()[1])
        return worst_of_two_rounds(design, allotment, populations, goes_on)

    def step(self, plan: ProtocolPlan, closed: tuple[ClosedRound, ...]) -> RoundPlan | PairwiseEstimate:
        """The second round's plan after the first, then the estimate."""
        return two_round_step(plan, closed, self.name, same_users=True)

    def conclude(self, plan: ProtocolPlan, closed: tuple[ClosedRound, ...]) -> PairwiseEstimate:
        """The estimate; from the first round alone, with a warning, where there was no second one."""
        return two_round_estimate(plan, closed, self.name, same_users=True)


def _halves(guarantee: PureEpsilon) -> tuple[PureEpsilon, PureEpsilon]:
    half = guarantee.nano // 2
    return PureEpsilon(half), PureEpsilon(guarantee.nano - half)
