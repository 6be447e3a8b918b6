"""What the three rounds of P3 report, and what follows from their means."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sordino_server.design.arrays import Floats
from sordino_server.design.candidates.factorization import direction_randomizer
from sordino_server.design.factorization import factorize
from sordino_server.estimation.statistics import mean_statistic
from sordino_server.protocols.answers import plausible_histogram
from sordino_server.protocols.base import ClosedRound, ProtocolError, RoundPlan
from sordino_server.protocols.scalar_reports import ScalarReports
from sordino_server.protocols.vector_reports import VectorReports, balanced_factors
from sordino_shared.guarantees import PureEpsilon

_GAP = 0.01
# τ = 4‖W‖_∞: Theorem 24 of Ghazi et al.
_CLIPPED_AT = 4.0
# The first two rounds are played through so often for a prediction; one play's squared error varies by its noise alone.
_PLAYS, _SEED = 8, 20_261_121


@dataclass(frozen=True, eq=False)
class ThreeRoundMechanism:
    """Reports of both vectors under a quarter of ε each, and what follows from their means."""

    left: VectorReports
    right: VectorReports
    quarter: PureEpsilon

    @classmethod
    def of(cls, matrix: Floats, quarter: PureEpsilon) -> ThreeRoundMechanism:
        """With factors of W of the least γ₂."""
        return cls._with(*balanced_factors(factorize(matrix, "max", _GAP, centred=False)), quarter)

    @classmethod
    def published(cls, first: RoundPlan) -> ThreeRoundMechanism:
        """With the factors that the first round's plan publishes."""
        factors = first.analyst.factors
        if factors is None:
            raise ProtocolError("the plan of the first round publishes no factors", first.device.digest)
        return cls._with(factors.left.numpy(), factors.right.numpy(), first.device.guarantee)

    @classmethod
    def _with(cls, left: Floats, right: Floats, quarter: PureEpsilon) -> ThreeRoundMechanism:
        first, second = (VectorReports.of(each, direction_randomizer(each, quarter)) for each in (left, right))
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
    def products(self) -> ScalarReports:
        """Reports of ⟨L e_x, μ⟩."""
        return ScalarReports(-self.largest, self.largest, self.quarter)

    @property
    def clipped(self) -> ScalarReports:
        """Reports of clip ⟨Y, R e_x − μ⟩."""
        return ScalarReports(-_CLIPPED_AT * self.largest, _CLIPPED_AT * self.largest, self.quarter)

    @property
    def most_moved(self) -> float:
        """How far the limit for many reports moves at most, for a share of 1 of made-up reports in every round.

        Both mean numbers move by f·(their furthest output + the largest honest number). A share f of the reports, of
        length b, that Y is the mean of moves ⟨Y, R e_x − μ⟩ by at most f·(b·max ‖R e_x − R e_x'‖ + the range of a row
        of W), and clipping brings numbers no further apart. Without that the two add up to hᵀWh for every μ in R·Δ.
        """
        right, ranges = self.right.columns, np.ptp(self.matrix, axis=1)
        squares = (right**2).sum(axis=0)
        apart = np.sqrt(np.maximum(squares[:, None] + squares - 2 * right.T @ right, 0.0).max())
        numbers = sum(float(np.abs(each.decoded()).max()) + each.high for each in (self.products, self.clipped))
        return numbers + self.left.scale * float(apart) + float(ranges.max())

    def guess(self, first: ClosedRound) -> Floats:
        """h̃ (k,) with μ = R h̃ the point of R·Δ that is nearest to the mean report of R e_x."""
        mean = mean_statistic(first.plan.device.randomizer, first.aggregate)
        return self._nearest(self.right.scale * mean, first.aggregate.count)

    def left_mean(self, second: ClosedRound) -> Floats:
        """Y (d,), the mean report of L e_x."""
        mean = mean_statistic(second.plan.device.randomizer, second.aggregate)
        return np.asarray(self.left.scale * mean[: len(self.left.columns)])

    def remainders(self, left_mean: Floats, guess: Floats) -> Floats:
        """(k,) ⟨Y, R e_x − R h̃⟩, clipped."""
        along = left_mean @ self.right.columns
        most = _CLIPPED_AT * self.largest
        return np.clip(along - along @ guess, -most, most)

    def variance(self, guess: Floats, values: Floats, users: tuple[int, int, int]) -> float:
        """Of the two numbers' noise, and of ⟨Y − Lh, Rh − μ⟩ as it would be were h̃ the histogram."""
        return self._numbers_variance(guess, guess, values, users) + self._missed(guess, users)

    def _numbers_variance(self, histogram: Floats, guess: Floats, values: Floats, users: tuple[int, int, int]) -> float:
        products = self.products.variances(self.products_with(guess)) / users[1]
        return float(histogram @ (products + self.clipped.variances(values) / users[2]))

    def _missed(self, histogram: Floats, users: tuple[int, int, int]) -> float:
        """Σ_h Var⟨Y, Rh − μ⟩ for μ as the first round gives it, over a few plays of that round."""
        generator = np.random.Generator(np.random.PCG64(_SEED))
        found = []
        for _ in range(_PLAYS):
            guess = self._nearest(self.right.played(histogram, users[0], generator), users[0])
            found.append(self.left.variance(self.right.columns @ (histogram - guess), histogram) / users[1])
        return float(np.mean(found))

    def squared_error(self, histogram: Floats, users: int) -> float:
        """The mean squared error for users with this histogram, over plays of the first two rounds."""
        generator = np.random.Generator(np.random.PCG64(_SEED))
        truth, found = float(histogram @ self.matrix @ histogram), []
        for _ in range(_PLAYS):
            guess = self._nearest(self.right.played(histogram, users, generator), users)
            values = self.remainders(self.left.played(histogram, users, generator), guess)
            missed = float(histogram @ (self.products_with(guess) + values)) - truth
            found.append(missed**2 + self._numbers_variance(histogram, guess, values, (users,) * 3))
        return float(np.mean(found))

    def products_with(self, guess: Floats) -> Floats:
        """(k,) ⟨L e_x, R h̃⟩, which no rounding takes out of the range of W."""
        return np.clip(self.matrix @ guess, -self.largest, self.largest)

    def _nearest(self, mean: Floats, users: int) -> Floats:
        return plausible_histogram(self.right.columns, mean, self.right.scale**2 / users)
