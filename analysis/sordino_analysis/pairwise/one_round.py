"""S: one round in which every device spends its whole ε on one report; sums over pairs of reports, less the own pairs.

U = [SᵀWS − Σ_i g_iᵀWg_i]/(n(n − 1)) for the decoded reports g_i and S = Σ_i g_i is unbiased for the mean of W over the
pairs of different users, whatever the kernel; the kernel is the one found with the least predicted variance.
"""

from __future__ import annotations

from collections.abc import Callable

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.protocol_plan import ProtocolPlan
from sordino_analysis.pairwise.decoded_report_moments import DecodedReportMoments
from sordino_analysis.pairwise.decoded_reports import DecodedReports
from sordino_analysis.pairwise.estimators import NoStatistic, one_round_estimate
from sordino_analysis.pairwise.form_kernel import FormGoal, search_form_kernel
from sordino_analysis.pairwise.forms import aim_at, aims, form_queries, planned_statistic
from sordino_analysis.pairwise.pairwise_manipulation import DecodedForgeries, Manipulation
from sordino_analysis.pairwise.protocol import PairwiseError, ProtocolDesign, ProtocolRequest
from sordino_analysis.pairwise.sealing import seal
from sordino_analysis.pairwise.statistic_estimate import PairwiseEstimate
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_analysis.progress import ProgressCallback, progress_of_part
from sordino_analysis.questions.pairwise import QuadraticForm
from sordino_shared.quantities import quantity

# One step of the search for a kernel of 1024 types takes minutes on one core.
MAX_TYPES = 1024
MECHANISM = "form_kernel"


class OneRound:
    """One round, one report with the whole ε, U-statistic."""

    name = "one_round"

    def reason_against(self, request: ProtocolRequest) -> str | None:
        """Why it does not apply, or None."""
        return too_many_types(request)

    def design(self, request: ProtocolRequest, progress: ProgressCallback) -> ProtocolDesign:
        """The kernel with the least variance predicted for `users` users over the reference histograms."""
        statistic = request.statistic
        found = search_form_kernel(
            FormGoal(aims(statistic), request.users),
            request.guarantee,
            effort=request.options.effort,
            seed=request.options.seed,
            deadline=request.deadline,
            progress=progress_of_part(progress, 0.0, 0.9),
        )
        first = seal(
            form_queries(statistic), request.guarantee, found.kernel, found.decoder, MECHANISM, request.options.seed
        )
        plan = request.plan(self.name, (request.guarantee.nano,), found.value**0.5)
        return ProtocolDesign(plan, first)

    def predict(self, design: ProtocolDesign, histogram: Floats) -> float:
        """The root mean squared error at the plan's number of users, for users with this histogram (k,)."""
        aim = aim_at(planned_statistic(design.plan), histogram)
        law = DecodedReportMoments.of(design.first.device.randomizer, design.first.analyst.decoder)
        return float(sum(law.form_variance(aim.matrix, histogram, design.plan.users)) ** 0.5)

    def manipulation(self, design: ProtocolDesign) -> tuple[Manipulation, ...]:
        """Of every form, at every number of reports."""
        return tuple(forgeries.in_one_round() for forgeries in decoded_forgeries(design))

    def worst_variance(
        self, design: ProtocolDesign, form: QuadraticForm, populations: Floats, goes_on: Callable[[], bool]
    ) -> tuple[float, float] | None:
        """Exactly, of any form, for any `populations` (P, k)."""
        law, plan = DecodedReportMoments.of(design.first.device.randomizer, design.first.analyst.decoder), design.plan
        return max(law.exact_variance(form.matrix, each, plan.users, plan.target) for each in populations), 0.0

    def step(self, plan: ProtocolPlan, closed: tuple[ClosedRound, ...]) -> RoundPlan | PairwiseEstimate:
        """The estimate, after the one round."""
        return self.conclude(plan, closed)

    def conclude(self, plan: ProtocolPlan, closed: tuple[ClosedRound, ...]) -> PairwiseEstimate:
        """The estimate from the one round; raises PairwiseError where its reports allow none."""
        statistic = planned_statistic(plan)
        try:
            return one_round_estimate(statistic, decoded(closed[0]), target=plan.target, protocol=self.name)
        except NoStatistic as error:
            raise PairwiseError(str(error), error.value) from error


def too_many_types(request: ProtocolRequest) -> str | None:
    """Why no dense kernel is searched for so many types, or None."""
    size = request.statistic.size
    return f"{size} types; kernels are searched for at most {MAX_TYPES}" if size > MAX_TYPES else None


def decoded_forgeries(design: ProtocolDesign) -> tuple[DecodedForgeries, ...]:
    """Possible fake reports of a first round that counts outputs, per form; raises InvalidValue for another round."""
    law = DecodedReportMoments.of(design.first.device.randomizer, design.first.analyst.decoder)
    statistic = planned_statistic(design.plan)
    return tuple(DecodedForgeries(law, form, design.plan.target) for form in statistic.forms)


def decoded(closed: ClosedRound) -> DecodedReports:
    """The reports of a round whose plan counts outputs; raises PairwiseError where there are fewer than two."""
    count = closed.aggregate.count
    if count < 2:
        raise PairwiseError(
            f"the round has {quantity(count, 'report')}, and pairs need two users: leave it open for more", count
        )
    law = DecodedReportMoments.of(closed.plan.device.randomizer, closed.plan.analyst.decoder)
    return DecodedReports.of(law, closed.aggregate)
