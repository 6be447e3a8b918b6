"""P3: a rough mean of R e_x first, so that the noise of the mean of L e_x only meets what the rough mean missed.

Ghazi et al., Theorem 24, with a quarter of ε for each of four reports in three rounds:
1. the vector R e_x; its mean, projected onto R·Δ, is μ (the projection mechanism of their Theorem 19);
2. the vector L e_x, whose mean is Y, and the number ⟨L e_x, μ⟩;
3. the number ⟨Y, R e_x − μ⟩, clipped to ±4‖W‖_∞.
Both numbers are public for every type once their round is sealed, so each is asked with the best kernel for its values.
The means of the two numbers add up to hᵀLᵀμ + Yᵀ(Rh − μ), that is hᵀWh + ⟨Y − Lh, Rh − μ⟩.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.analyst_part import Factors
from sordino_analysis.documents.decoders import AnswerDecoder
from sordino_analysis.documents.protocol_plan import ProtocolPlan
from sordino_analysis.mechanisms.factorization import direction_randomizer
from sordino_analysis.mechanisms.single_query import QueryKernel
from sordino_analysis.pairwise.error_moments import ErrorMoments, IndependentError
from sordino_analysis.pairwise.pairwise_manipulation import Manipulation
from sordino_analysis.pairwise.protocol import PairwiseError, ProtocolDesign, ProtocolRequest
from sordino_analysis.pairwise.public_numbers import MeanNumber
from sordino_analysis.pairwise.published_answers import PublishedAnswer, histogram_variance, publish_answer
from sordino_analysis.pairwise.references import reference_histograms
from sordino_analysis.pairwise.sealing import RoundQueries, answers_from, seal
from sordino_analysis.pairwise.statistic_estimate import PairwiseEstimate
from sordino_analysis.pairwise.three_round_mechanism import ThreeRoundMechanism
from sordino_analysis.pairwise.vector_reports import row_labels
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_analysis.progress import Progress, ProgressCallback
from sordino_analysis.questions.pairwise import QuadraticForm
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import Pair

# The rounds use a quarter, half and a quarter of ε (Theorem 24 of Ghazi et al.).
_PARTS = 4


class ThreeRound:
    """Every device answers all three rounds."""

    name = "three_round"

    def reason_against(self, request: ProtocolRequest) -> str | None:
        """Why it does not apply, or None."""
        if not request.statistic.is_one_form:
            return "it estimates one quadratic form, and the statistic is a function of several"
        if request.guarantee.nano < _PARTS:
            return "ε cannot be split into four parts"
        return None

    def design(self, request: ProtocolRequest, progress: ProgressCallback) -> ProtocolDesign:
        """The factors of W, and the plan of the first vector."""
        quarter = request.guarantee.nano // _PARTS
        mechanism = ThreeRoundMechanism.of(request.statistic.forms[0].matrix, PureEpsilon(quarter))
        errors = []
        histograms = reference_histograms(request.statistic.domain)
        for number, histogram in enumerate(histograms):
            errors.append(mechanism.squared_error(histogram, request.users))
            progress(Progress(0.8 * (number + 1) / len(histograms)))
        plan = request.plan(self.name, (quarter, 2 * quarter, quarter), float(np.sqrt(np.mean(errors))))
        return ProtocolDesign(plan, _first(request, mechanism))

    def predict(self, design: ProtocolDesign, histogram: Floats) -> float:
        """The root mean squared error at the plan's number of users, for users with this histogram (k,)."""
        mechanism = ThreeRoundMechanism.published(design.first)
        return float(np.sqrt(mechanism.squared_error(histogram, design.plan.users)))

    def manipulation(self, design: ProtocolDesign) -> tuple[Manipulation, ...]:
        """Of what the estimate tends to as reports become many, whatever the first round said."""
        return (ThreeRoundMechanism.published(design.first).manipulation(design.first.analyst.workload),)

    def worst_variance(
        self, design: ProtocolDesign, form: QuadraticForm, populations: Floats, goes_on: Callable[[], bool]
    ) -> tuple[float, float] | None:
        """None for any `populations` (P, k): it is biased, and bounds are about unbiased protocols."""
        return None

    def step(self, plan: ProtocolPlan, closed: tuple[ClosedRound, ...]) -> RoundPlan | PairwiseEstimate:
        """The second and the third round from the means of those before, and then the estimate.

        Raises PairwiseError for a round without reports.
        """
        for number, round_ in enumerate(closed):
            if round_.aggregate.count == 0:
                raise PairwiseError(f"nobody reported in round {number}: the later rounds build on its mean", number)
        mechanism = ThreeRoundMechanism.published(closed[0].plan)
        guess = mechanism.guess(closed[0])
        if len(closed) == 1:
            return _second(plan, closed[0].plan, mechanism, guess)
        values = mechanism.remainders(mechanism.left_mean(closed[1]), guess)
        if len(closed) == 2:
            return _third(plan, closed[0].plan, values, mechanism.third_query(values, guess))
        return _estimate(plan, closed, mechanism, guess)

    def conclude(self, plan: ProtocolPlan, closed: tuple[ClosedRound, ...]) -> PairwiseEstimate:
        """The three rounds make up the estimate together; raises PairwiseError where one is missing."""
        if len(closed) < len(plan.rounds):
            raise PairwiseError(
                f"the campaign was closed after {len(closed)} of three rounds, and the estimate is in the last one: "
                "start a new campaign and leave it open to its end",
                len(closed),
            )
        estimate = self.step(plan, closed)
        assert isinstance(estimate, PairwiseEstimate)
        return estimate


def _first(request: ProtocolRequest, mechanism: ThreeRoundMechanism) -> RoundPlan:
    """Reports of R e_x, which answer Wh through L."""
    right, statistic = mechanism.right, request.statistic
    queries = RoundQueries(statistic.name, statistic.domain, mechanism.matrix, row_labels(len(mechanism.matrix)))
    left, centre = array_of(mechanism.left.columns, "<f8"), array_of(np.zeros(statistic.size), "<f8")
    factors = Factors(left, array_of(right.columns, "<f8"), centre, None)
    decoder = answers_from(right.scale * mechanism.left.columns.T)
    randomizer = direction_randomizer(right.columns, mechanism.quarter)
    return seal(queries, mechanism.quarter, randomizer, decoder, "three_round", request.options.seed, factors)


def _second(plan: ProtocolPlan, first: RoundPlan, mechanism: ThreeRoundMechanism, guess: Floats) -> RoundPlan:
    """Reports of L e_x, which answer Wh through R, and of ⟨L e_x, μ⟩."""
    products, left = mechanism.products_with(guess), mechanism.left
    query = mechanism.third_query(products, guess)
    matrix, dimension = np.vstack([mechanism.matrix, products]), len(left.columns)
    decoder = np.zeros((len(matrix), dimension + query.kernel.outputs))
    decoder[:-1, :dimension] = left.scale * mechanism.right.columns.T
    decoder[-1, dimension:] = ndarray(query.decoder.matrix)[0]
    offset = np.append(np.zeros(len(matrix) - 1), ndarray(query.decoder.offset))
    labels = (*row_labels(len(matrix) - 1), "product with the rough mean")
    queries = RoundQueries(first.analyst.workload, first.device.domain, matrix, labels)
    randomizer = Pair(direction_randomizer(left.columns, mechanism.quarter), query.kernel)
    both = AnswerDecoder(array_of(decoder, "<f8"), array_of(offset, "<f8"))
    return seal(queries, plan.round_guarantees()[1], randomizer, both, "three_round", plan.seed)


def _third(plan: ProtocolPlan, first: RoundPlan, values: Floats, query: QueryKernel) -> RoundPlan:
    """Reports of ⟨Y, R e_x − μ⟩, clipped."""
    labels = ("product with what the rough mean missed",)
    queries = RoundQueries(first.analyst.workload, first.device.domain, values[None, :], labels)
    return seal(queries, plan.round_guarantees()[2], query.kernel, query.decoder, "three_round", plan.seed)


def _estimate(
    plan: ProtocolPlan, closed: tuple[ClosedRound, ...], mechanism: ThreeRoundMechanism, guess: Floats
) -> PairwiseEstimate:
    """The sum of both mean numbers; it errs by their noise, and by what h̃ would miss were it the truth."""
    users = (closed[0].aggregate.count, closed[1].aggregate.count, closed[2].aggregate.count)
    product, remainder = (MeanNumber.of(round_) for round_ in closed[1:])
    value = product.value + remainder.value
    if plan.target == "pairs":
        value = (min(users) * value - float(np.diag(mechanism.matrix) @ guess)) / (min(users) - 1)
    missed, spread = mechanism.missed(guess, users), histogram_variance(mechanism.matrix, guess)
    # Users who skipped a later round by chance are missing from its numbers.
    skipped = max(1 / min(users) - 1 / users[0], 0.0)
    of_users, population = (
        ErrorMoments.without_slope(
            *missed,
            product.error(guess) + remainder.error(guess) + IndependentError(variance=4 * max(spread, 0.0) * share),
        )
        for share in (skipped, skipped + 1 / users[0])
    )
    answer = PublishedAnswer(
        form=closed[0].plan.analyst.workload,
        value=value,
        own=of_users,
        population=population,
        users=users,
        bias_bound=None,
        clipped=f"products with what the rough mean missed, to ±{mechanism.clipped_at:g}",
    )
    return publish_answer(plan, answer)
