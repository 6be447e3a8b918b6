"""Pairs: the sums of both parts, and of two directions the sum of their inner products."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.accumulator_moments import AccumulatorMoments
from sordino_analysis.evaluation.randomizers.directions import DIRECTION_ERROR, DIRECTION_SCALE, unit_vectors
from sordino_analysis.evaluation.randomizers.ingest_sums import IngestSums
from sordino_analysis.evaluation.randomizers.server_half import Ends, Integers, ServerHalf
from sordino_analysis.evaluation.randomizers.sum_bounds import check_between, check_length
from sordino_analysis.vectorized.randomizers import split_pair
from sordino_shared.randomizers import Pair

# Entries of two unit vectors are multiplied as multiples of 2^-24, so that sums of products fit a word.
_PRODUCT_SHIFT = 8


@dataclass(frozen=True, eq=False)
class PairMoments(AccumulatorMoments):
    """s = (s₁, s₂), independent given the type; with `products` also ⟨s₁, s₂⟩ of two directions in d dimensions.

    E[⟨s₁, s₂⟩²] = 1/d and E[⟨s₁, s₂⟩ s₁ | x] = E[s₂ | x]/d, since E[s sᵀ] is I/d for either. F is (b, p₁ + p₂ [+ 1]).
    """

    first: AccumulatorMoments
    second: AccumulatorMoments
    sizes: tuple[int, int]
    products: bool

    def means(self, rows: Floats) -> Floats:
        left, right, last = self._split(rows)
        together: Floats = self.first.means(left) + self.second.means(right)
        return together + np.outer(last, self._inner()) if self.products else together

    def variances(self, rows: Floats) -> Floats:
        left, right, last = self._split(rows)
        spread: Floats = self.first.variances(left) + self.second.variances(right)
        if not self.products:
            return spread
        together = self.first.means(left) + self.second.means(right)
        squares = together**2 + 2 * last[:, None] * self._crossed(left, right) + last[:, None] ** 2 / self.sizes[0]
        return np.asarray(spread + squares - self.means(rows) ** 2)

    def covariance(self, rows: Floats, histogram: Floats) -> Floats:
        left, right, last = self._split(rows)
        spread: Floats = self.first.covariance(left, histogram) + self.second.covariance(right, histogram)
        if not self.products:
            return spread
        together, means = self.first.means(left) + self.second.means(right), self.means(rows)
        crossed = np.outer(self._crossed(left, right) @ histogram, last)
        squares = (together * histogram) @ together.T + crossed + crossed.T + np.outer(last, last) / self.sizes[0]
        return np.asarray(spread + squares - (means * histogram) @ means.T)

    def mean_error(self, rows: Floats) -> Floats:
        left, right, last = self._split(rows)
        # Either mean has at most length one, so their inner product is off by at most both errors.
        return np.asarray(
            self.first.mean_error(left) + self.second.mean_error(right) + 2 * DIRECTION_ERROR * np.abs(last)
        )

    def _split(self, rows: Floats) -> tuple[Floats, Floats, Floats]:
        """What is decoded from s₁, from s₂ and (b,) from their inner product."""
        ends = self.sizes[0], sum(self.sizes)
        return rows[:, : ends[0]], rows[:, ends[0] : ends[1]], rows[:, ends[1] :].sum(axis=1)

    def _vectors(self) -> tuple[Floats, Floats]:
        """Mean directions of both parts, (d, k)."""
        basis = np.eye(self.sizes[0])
        return self.first.means(basis), self.second.means(basis)

    def _inner(self) -> Floats:
        """(k,) E[⟨s₁, s₂⟩ | x]."""
        first, second = self._vectors()
        return np.asarray((first * second).sum(axis=0))

    def _crossed(self, left: Floats, right: Floats) -> Floats:
        """(b, k) E[⟨s₁, s₂⟩·(F₁s₁ + F₂s₂) | x]."""
        first, second = self._vectors()
        return np.asarray((left @ second + right @ first) / self.sizes[0])


@dataclass(frozen=True, eq=False)
class PairHalf(ServerHalf):
    """s = (s₁, s₂), and for two directions of one dimension ⟨s₁, s₂⟩ in units of 2^-32."""

    summed_on_ingest: ClassVar[IngestSums | None] = None
    randomizer: Pair
    first: ServerHalf
    second: ServerHalf

    @cached_property
    def moments(self) -> PairMoments:
        pair = self.randomizer
        sizes = (pair.first.accumulator_size, pair.second.accumulator_size)
        return PairMoments(self.first.moments, self.second.moments, sizes, pair.has_products)

    def _sum(self, payloads: NDArray[np.uint8]) -> Integers:
        first, second = split_pair(self.randomizer, payloads)
        sums = [self.first.accumulate(first), self.second.accumulate(second)]
        if self.randomizer.has_products:
            size = self.randomizer.first.accumulator_size
            left, right = (_coarser(unit_vectors(part, size)) for part in (first, second))
            products = np.einsum("nd,nd->n", left, right)
            sums.append(np.array([(products >> (32 - 2 * _PRODUCT_SHIFT)).sum()]))
        return np.concatenate(sums)

    def check(self, sums: Integers, count: int) -> None:
        check_length(sums, self.randomizer.accumulator_size)
        size = self.randomizer.first.accumulator_size
        second = size + self.randomizer.second.accumulator_size
        self.first.check(sums[:size], count)
        self.second.check(sums[size:second], count)
        # Two vectors in units of 2^-24, every entry rounded.
        most = (((1 << (32 - _PRODUCT_SHIFT)) + size) ** 2 >> (32 - 2 * _PRODUCT_SHIFT)) + 1
        check_between(sums[second:], -count * most, count * most, count)

    def units(self) -> Floats:
        products = np.full(int(self.randomizer.has_products), float(DIRECTION_SCALE))
        return np.concatenate([self.first.units(), self.second.units(), products])

    def extremes(self, rows: Floats, reach: float) -> Ends:
        """Both parts' ends added up, and what an inner product of two directions, between −1 and 1, adds.

        `rows` (b, p) → (b,) each.
        """
        sizes = [self.randomizer.first.accumulator_size, self.randomizer.second.accumulator_size]
        left, right, products = np.split(rows, np.cumsum(sizes), axis=1)
        first, second = self.first.extremes(left, reach), self.second.extremes(right, reach)
        most = np.abs(products).sum(axis=1)
        return first[0] + second[0] - most, first[1] + second[1] + most


def _coarser(vectors: Integers) -> Integers:
    """In units of 2^-24, rounded to the nearest."""
    return np.asarray((vectors + (1 << (_PRODUCT_SHIFT - 1))) >> _PRODUCT_SHIFT)
