"""P1: every device reports L e_x and R e_x with half of its ε each; inner products of the sums estimate hᵀLᵀRh.

Ghazi et al., Lemma 11. The two vectors are randomised independently, so that even a user's own pair is unbiased; the
mean over pairs of different users takes those out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.analyst_part import Factors
from sordino_analysis.documents.protocol_plan import ProtocolPlan
from sordino_analysis.evaluation.accumulate import mean_accumulator
from sordino_analysis.mechanisms.factorization import direction_randomizer
from sordino_analysis.optimisation.factorization import factorize, reduce_dimension
from sordino_analysis.pairwise.error_moments import ErrorMoments, quadratic_moments
from sordino_analysis.pairwise.pairwise_manipulation import Manipulation
from sordino_analysis.pairwise.protocol import PairwiseError, ProtocolDesign, ProtocolRequest
from sordino_analysis.pairwise.published_answers import PublishedAnswer, plausible_histogram, publish_answer
from sordino_analysis.pairwise.references import reference_histograms
from sordino_analysis.pairwise.sealing import RoundQueries, answers_from, seal
from sordino_analysis.pairwise.statistic_estimate import PairwiseEstimate
from sordino_analysis.pairwise.tuning import ONE_ROUND_SPLIT
from sordino_analysis.pairwise.vector_reports import VectorReports, balanced_factors, published_factors, row_labels
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_analysis.progress import Progress, ProgressCallback
from sordino_analysis.questions.pairwise import QuadraticForm
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.quantities import quantity
from sordino_shared.randomizers import Pair


class OneRoundSplit:
    """One round of two vectors; a random projection shortens them where that pays even with the largest bias.

    The interval has to carry the bound on the bias, whatever the bias is.
    """

    name = "one_round_split"

    def reason_against(self, request: ProtocolRequest) -> str | None:
        """Why it does not apply, or None."""
        if not request.statistic.is_one_form:
            return "it estimates one quadratic form, and the statistic is a function of several"
        return None

    def design(self, request: ProtocolRequest, progress: ProgressCallback) -> ProtocolDesign:
        """Factors of W of the least γ₂, with columns of the same length, and the plan of the one round."""
        histograms = reference_histograms(request.statistic.domain)

        def assured(reports: SplitReports) -> float:
            variances = [reports.variance(histogram, request.users) for histogram in histograms]
            return float(np.mean(variances)) + reports.bias_bound**2

        best = min(_in_time(request), key=assured)
        progress(Progress(0.8))
        errors = [best.squared_error(histogram, request.users) for histogram in histograms]
        plan = request.plan(self.name, (request.guarantee.nano,), float(np.sqrt(np.mean(errors))))
        return ProtocolDesign(plan, _sealed(request, best))

    def predict(self, design: ProtocolDesign, histogram: Floats) -> float:
        """The root mean squared error at the plan's number of users, for users with this histogram (k,)."""
        return float(np.sqrt(SplitReports.of(design.first).squared_error(histogram, design.plan.users)))

    def manipulation(self, design: ProtocolDesign) -> tuple[Manipulation, ...]:
        """Of the one form, at every number of reports; no seed does more."""
        return (SplitReports.of(design.first).manipulation(design.first.analyst.workload),)

    def worst_variance(
        self, design: ProtocolDesign, form: QuadraticForm, populations: Floats, goes_on: Callable[[], bool]
    ) -> tuple[float, float] | None:
        """None for any `populations` (P, k): it spends half of ε on either side, where kernels are not searched for."""
        return None

    def step(self, plan: ProtocolPlan, closed: tuple[ClosedRound, ...]) -> PairwiseEstimate:
        """The estimate after the one round; raises PairwiseError where fewer than two devices reported."""
        (only,) = closed
        users = only.aggregate.count
        if users < 2:
            raise PairwiseError(
                f"{quantity(users, 'device')} reported, and a pair needs two: keep the round open longer", users
            )
        reports = SplitReports.of(only.plan)
        mean = mean_accumulator(reports.randomizer, only.aggregate)
        of_users, population = reports.errors(mean, users)
        answer = PublishedAnswer(
            form=only.plan.analyst.workload,
            value=reports.value(mean, users, plan.target),
            own=of_users,
            population=population,
            users=(users,),
            bias_bound=reports.bias_bound,
        )
        return publish_answer(plan, answer)

    def conclude(self, plan: ProtocolPlan, closed: tuple[ClosedRound, ...]) -> PairwiseEstimate:
        """One round is all there is."""
        return self.step(plan, closed)


@dataclass(frozen=True, eq=False)
class SplitReports:
    """Reports of both vectors: the factors they stand for and the randomizer that sends them."""

    factors: Factors
    randomizer: Pair

    @classmethod
    def of(cls, plan: RoundPlan) -> SplitReports:
        """As a plan publishes them; raises PairwiseError for a plan of another kind."""
        randomizer, factors = plan.device.randomizer, plan.analyst.factors
        if not isinstance(randomizer, Pair) or not randomizer.has_products or factors is None:
            raise PairwiseError("the plan of the round has no pair of vectors", plan.device.digest)
        return cls(factors, randomizer)

    @cached_property
    def matrix(self) -> Floats:
        """W = LᵀR (k, k), before any reduction."""
        return np.asarray(ndarray(self.factors.left).T @ ndarray(self.factors.right))

    @cached_property
    def left(self) -> VectorReports:
        """Reports of L e_x, or of TL e_x."""
        return VectorReports.of(published_factors(self.factors)[0], self.randomizer.first)

    @cached_property
    def right(self) -> VectorReports:
        """Reports of R e_x, or of TR e_x."""
        return VectorReports.of(published_factors(self.factors)[1], self.randomizer.second)

    @cached_property
    def bias_bound(self) -> float:
        """‖(TL)ᵀTR − W‖_∞, which no histogram's bias exceeds (Lemma 12); 0 without a reduction."""
        if self.factors.transform is None:
            return 0.0
        return float(np.abs(self.left.columns.T @ self.right.columns - self.matrix).max())

    def value(self, mean: Floats, users: int, target: str) -> float:
        """⟨ȳ_L, ȳ_R⟩ for hᵀWh; for pairs (n²⟨ȳ_L, ȳ_R⟩ − Σ_i ⟨y_iL, y_iR⟩)/(n(n − 1)).

        `mean` (p,), the mean accumulator.
        """
        split, scale = self.randomizer.first.accumulator_size, self.left.scale * self.right.scale
        product = float(mean[:split] @ mean[split:-1])
        if target == "histogram":
            return scale * product
        return scale * (users * product - float(mean[-1])) / (users - 1)

    def variance(self, histogram: Floats, users: int) -> float:
        """(r̄ᵀΣ_L r̄ + l̄ᵀΣ_R l̄)/n + tr(Σ_L Σ_R)/(n(n − 1)) for r̄ = Rh, l̄ = Lh and the average covariances Σ.

        `histogram` h (k,).
        """
        left, right = self.left.columns @ histogram, self.right.columns @ histogram
        linear = self.left.variance(right, histogram) + self.right.variance(left, histogram)
        quadratic = float((self.left.covariance(histogram) * self.right.covariance(histogram)).sum())
        return linear / users + quadratic / (users * (users - 1))

    def errors(self, mean: Floats, users: int) -> tuple[ErrorMoments, ErrorMoments]:
        """Of the value about the users and about the population.

        One report is (y_L, y_R) ∈ ℝ^2d with the mean Mx for M = (L; R), and ⟨L h, R h⟩ is its form [[0, I], [I, 0]]/2.
        Every report is noisy, half of a sphere or more, so the mean of many is nearly normal.
        """
        histogram, split = self.histogram(mean, users), self.randomizer.first.accumulator_size
        both = np.concatenate([self.left.scale * mean[:split], self.right.scale * mean[split:-1]])
        columns = np.vstack([self.left.columns, self.right.columns])
        noise = scipy.linalg.block_diag(self.left.covariance(histogram), self.right.covariance(histogram))
        drawn = (columns * histogram) @ columns.T - np.outer(columns @ histogram, columns @ histogram)
        form = np.asarray(np.kron([[0.0, 0.5], [0.5, 0.0]], np.eye(len(both) // 2)), dtype=float)
        of_users, population = (
            quadratic_moments(covariance / users, both, (form, form, form)) for covariance in (noise, noise + drawn)
        )
        return of_users, population

    def squared_error(self, histogram: Floats, users: int) -> float:
        """Variance and squared bias for users with this histogram. `histogram` h (k,)."""
        reduced = (self.left.columns @ histogram) @ (self.right.columns @ histogram)
        return self.variance(histogram, users) + float(reduced - histogram @ self.matrix @ histogram) ** 2

    def manipulation(self, form: str) -> Manipulation:
        """A fake report y for R has length b for every seed: |⟨L e_x, y⟩| ≤ ‖L e_x‖·b; so for L, and for both."""
        honest = np.abs(self.left.columns.T @ self.right.columns)
        lefts, rights = (np.linalg.norm(side.columns, axis=0) for side in (self.left, self.right))
        crossed = (lefts * self.right.scale + honest.max(axis=1)).max()
        crossed += (rights * self.left.scale + honest.max(axis=0)).max()
        return Manipulation.of_pairs(form, float(crossed), float(self.left.scale * self.right.scale + honest.max()))

    def histogram(self, mean: Floats, users: int) -> Floats:
        """A valid histogram near the second vector's estimate of Rh. `mean` (p,) → (k,)."""
        split = self.randomizer.first.accumulator_size
        noise = self.right.scale**2 / users
        return plausible_histogram(self.right.columns, self.right.scale * mean[split:-1], noise)


def _in_time(request: ProtocolRequest) -> Iterator[SplitReports]:
    """The reductions that are made before the deadline: at least the first, which reduces nothing."""
    for reports in _reductions(request):
        yield reports
        if request.deadline.passed():
            return


def _reductions(request: ProtocolRequest) -> Iterator[SplitReports]:
    matrix, half = request.statistic.forms[0].matrix, PureEpsilon(request.guarantee.nano // 2)
    whole = factorize(matrix, "max", ONE_ROUND_SPLIT.gap, centred=False, should_stop=request.deadline.passed)
    left, right = balanced_factors(whole)
    for share in ONE_ROUND_SPLIT.reductions:
        dimension = max(1, round(share * whole.rank))
        transform = None if share == 1 else reduce_dimension(whole, dimension, request.options.seed).projection
        shown = (left, right) if transform is None else (transform @ left, transform @ right)
        pair = Pair(direction_randomizer(shown[0], half), direction_randomizer(shown[1], half))
        projection = None if transform is None else array_of(transform, "<f8")
        centre = array_of(np.zeros(len(matrix)), "<f8")
        yield SplitReports(Factors(array_of(left, "<f8"), array_of(right, "<f8"), centre, projection), pair)


def _sealed(request: ProtocolRequest, reports: SplitReports) -> RoundPlan:
    """The round as a linear plan: its second vector answers Wh."""
    statistic = request.statistic
    queries = RoundQueries(statistic.name, statistic.domain, reports.matrix, row_labels(len(reports.matrix)))
    split = reports.randomizer.first.accumulator_size
    decoder = np.zeros((len(reports.matrix), reports.randomizer.accumulator_size))
    decoder[:, split:-1] = reports.right.scale * reports.left.columns.T
    return seal(
        queries,
        request.guarantee,
        reports.randomizer,
        answers_from(decoder),
        OneRoundSplit.name,
        request.options.seed,
        reports.factors,
    )
