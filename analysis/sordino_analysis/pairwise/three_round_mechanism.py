"""What the three rounds of P3 report, and what follows from their means."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.accumulate import mean_accumulator
from sordino_analysis.mechanisms.factorization import direction_randomizer
from sordino_analysis.mechanisms.single_query import QueryKernel, furthest_answer
from sordino_analysis.optimisation.factorization import factorize
from sordino_analysis.pairwise.pairwise_manipulation import Manipulation
from sordino_analysis.pairwise.protocol import PairwiseError
from sordino_analysis.pairwise.public_numbers import number_kernel, number_variances
from sordino_analysis.pairwise.published_answers import plausible_histogram
from sordino_analysis.pairwise.tuning import THREE_ROUND
from sordino_analysis.pairwise.vector_reports import VectorReports, balanced_factors
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_analysis.vectorized.arrays import ndarray
from sordino_shared.guarantees import PureEpsilon

# τ = 4‖W‖_∞: Theorem 24 of Ghazi et al.
_CLIPPED_AT = 4.0
# The first two rounds are played through so often for a prediction, which then scatters by 5 % or less.
_SEED = 20_261_121


@dataclass(frozen=True, eq=False)
class ThreeRoundMechanism:
    """Reports of both vectors under a quarter of ε each, and what follows from their means."""

    left: VectorReports
    right: VectorReports
    quarter: PureEpsilon

    @classmethod
    def of(cls, matrix: Floats, quarter: PureEpsilon) -> ThreeRoundMechanism:
        """With factors of W of the least γ₂. `matrix` W (k, k)."""
        return cls._with(*balanced_factors(factorize(matrix, "max", THREE_ROUND.gap, centred=False)), quarter)

    @classmethod
    def published(cls, first: RoundPlan) -> ThreeRoundMechanism:
        """With the factors that the first round's plan publishes; raises PairwiseError where it publishes none."""
        factors = first.analyst.factors
        if factors is None:
            raise PairwiseError("the plan of the first round publishes no factors", first.device.digest)
        return cls._with(ndarray(factors.left), ndarray(factors.right), first.device.guarantee)

    @classmethod
    def _with(cls, left: Floats, right: Floats, quarter: PureEpsilon) -> ThreeRoundMechanism:
        first, second = (VectorReports.of(factor, direction_randomizer(factor, quarter)) for factor in (left, right))
        return cls(first, second, quarter)

    @cached_property
    def matrix(self) -> Floats:
        """W = LᵀR (k, k)."""
        return np.asarray(self.left.columns.T @ self.right.columns)

    @property
    def largest(self) -> float:
        """‖W‖_∞."""
        return float(np.abs(self.matrix).max())

    @property
    def clipped_at(self) -> float:
        """τ."""
        return _CLIPPED_AT * self.largest

    def manipulation(self, form: str) -> Manipulation:
        """Bound on the move of the limit for many reports, for a share f of fake reports in every round.

        Of numbers in a range w an answer stands at most cw/2 from their middle, so their mean moves by f·(c + 1)w/2.
        The values ⟨L e_x, μ⟩ have at most the range of a row of W, v. Fake reports of length b turn Y from Lh to
        (1 − f)·Lh + f·u for a vector u of length b or less. Let d be b·max ‖R e_x − R e_x'‖: the values ⟨Y, R e_x − μ⟩
        move by at most f·(d + v), and their range is at most fd + (1 − f)v. Clipping brings numbers no further apart.
        Without fake reports the two means add up to hᵀWh for every μ in R·Δ.
        """
        right = self.right.columns
        squares = (right**2).sum(axis=0)
        apart = np.sqrt(np.maximum(squares[:, None] + squares - 2 * right.T @ right, 0.0).max())
        turned, row = self.left.scale * float(apart), float(np.ptp(self.matrix, axis=1).max())
        claimed = (furthest_answer(self.quarter) + 1) / 2
        return Manipulation(form, 2 * claimed * row + turned + row, claimed * max(turned - row, 0.0))

    def guess(self, first: ClosedRound) -> Floats:
        """h̃ (k,) with μ = R h̃ the point of R·Δ that is nearest to the mean report of R e_x."""
        mean = mean_accumulator(first.plan.device.randomizer, first.aggregate)
        return self._nearest(self.right.scale * mean, first.aggregate.count)

    def left_mean(self, second: ClosedRound) -> Floats:
        """Y (d,), the mean report of L e_x."""
        mean = mean_accumulator(second.plan.device.randomizer, second.aggregate)
        return np.asarray(self.left.scale * mean[: len(self.left.columns)])

    def remainders(self, left_mean: Floats, guess: Floats) -> Floats:
        """(k,) ⟨Y, R e_x − R h̃⟩, clipped."""
        return np.clip(self._remainders(left_mean, guess), -self.clipped_at, self.clipped_at)

    def _remainders(self, left_mean: Floats, guess: Floats) -> Floats:
        along = left_mean @ self.right.columns
        return np.asarray(along - along @ guess)

    def third_query(self, values: Floats, guess: Floats) -> QueryKernel:
        """How users report a number with these values (k,), which depends on h̃."""
        return number_kernel(values, _likely(guess), self.quarter)

    def missed(self, histogram: Floats, users: tuple[int, int, int]) -> tuple[float, float]:
        """Variance and fourth cumulant of ⟨Y − Lh, Rh − μ⟩ for μ as the first round gives it, over plays of that round.

        For one μ it is nearly normal of variance v, so over them its fourth cumulant is 3Var(v). `histogram` h (k,).
        """
        generator = np.random.Generator(np.random.PCG64(_SEED))
        guesses = (self._played(histogram, users[0], generator) for _ in range(THREE_ROUND.plays))
        variances = [self._missed(histogram, guess, users[1]) for guess in guesses]
        return float(np.mean(variances)), 3.0 * float(np.var(variances))

    def squared_error(self, histogram: Floats, users: int, plays: int = THREE_ROUND.plays) -> float:
        """The mean squared error for users with this histogram, over plays of the first two rounds.

        `histogram` h (k,).
        """
        generator = np.random.Generator(np.random.PCG64(_SEED))
        truth = float(histogram @ self.matrix @ histogram)
        errors, numbers, weights = [], [], []
        for _ in range(plays):
            guess = self._played(histogram, users, generator)
            left_mean = self.left.played(histogram, users, generator)
            whole, products = self._remainders(left_mean, guess), self.products_with(guess)
            clipped = self.remainders(left_mean, guess)
            # Where nothing is cut the mean of missed² is known, and a play's own would be its noise.
            missed, cut = float(histogram @ (products + whole)) - truth, float(histogram @ (clipped - whole))
            errors.append(self._missed(histogram, guess, users) + cut * (2 * missed + cut))
            numbers += [products, clipped]
            weights += [_likely(guess)] * 2
        noise = number_variances(np.array(numbers), np.array(weights), self.quarter) @ histogram
        return float(np.mean(errors) + 2 * noise.mean() / users)

    def products_with(self, guess: Floats) -> Floats:
        """(k,) ⟨L e_x, R h̃⟩."""
        return np.asarray(self.matrix @ guess)

    def _missed(self, histogram: Floats, guess: Floats, users: int) -> float:
        return self.left.variance(self.right.columns @ (histogram - guess), histogram) / users

    def _played(self, histogram: Floats, users: int, generator: np.random.Generator) -> Floats:
        return self._nearest(self.right.played(histogram, users, generator), users)

    def _nearest(self, mean: Floats, users: int) -> Floats:
        return plausible_histogram(self.right.columns, mean, self.right.scale**2 / users)


def _likely(guess: Floats) -> Floats:
    """Type weights between h̃, which noise leaves on too few types, and even ones.

    Kernels for h̃ alone have more variance than those for the true histogram: of 1,000 users 4 to 8 % at ε = 8, up to
    a third at ε = 16. For these weights it is 1 to 4 %.
    """
    return (guess + 1 / len(guess)) / 2
