"""The mean variance of a whole family of queries for each type, in O(k) a level however many queries there are.

A report's second moment sums squares of ⟨1_I, β⟩ over intervals I; the sum of those over the queries is 1_Iᵀ N 1_I with
N = Σ_q β_q β_qᵀ = M⁻¹CGCᵀM⁻¹ for the Gram matrix G of the queries and C = 1 − 1aᵀ, and N has a small displacement rank.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.families import LineFamily
from sordino_analysis.evaluation.grids.law import GridLaw
from sordino_analysis.evaluation.grids.levels import GridLevel, inner_sums
from sordino_analysis.evaluation.grids.stacked import MatrixRows, StackFamily
from sordino_analysis.optimisation.toeplitz import IntervalForms, LinearOperator


def mean_variances(law: GridLaw, family: LineFamily) -> Floats:
    """The mean of w_q Var_q(x) over the family's queries for each type x, exactly: (k,)."""
    return np.asarray(_sums(law, family) / family.count)


def _sums(law: GridLaw, family: LineFamily) -> Floats:
    """Σ w_q Var_q(x) over the queries, (k,): of rows of a matrix one by one, of all other parts at once."""
    if isinstance(family, MatrixRows):
        return np.asarray(law.variances(family.factors).sum(axis=0))
    if not isinstance(family, StackFamily):
        return _FamilyMeans(law, family).variances()
    pairs = list(zip(family.families, family.shares, strict=True))
    found = np.zeros(law.size)
    for part, share in pairs:
        if isinstance(part, MatrixRows):
            found += share * _sums(law, part)
    together = [pair for pair in pairs if not isinstance(pair[0], MatrixRows)]
    if together:
        families, shares = zip(*together, strict=True)
        found += _FamilyMeans(law, StackFamily(families, shares)).variances()
    return found


@dataclass(frozen=True, eq=False)
class _FamilyMeans:
    law: GridLaw
    family: LineFamily

    def variances(self) -> Floats:
        """Σ w_q Var_q(x), (k,)."""
        found = -self.family.squared_distances(self.law.density)
        squares = SquareSums(self._product, self.law.size, places_of(self.law.levels, self.law.size))
        for level in self.law.levels:
            found += level.chance * level.factor(self.law.size) ** 2 * squares.moments(level)
        return np.asarray(found)

    def _product(self, vectors: Floats) -> Floats:
        """N u for each of `vectors` (b, k)."""
        law = self.law
        inner = law.inverse.product(vectors)
        summed = self.family.gram(inner - inner.sum(axis=1, keepdims=True) * law.centre)
        return law.inverse.product(summed - (summed @ law.centre)[:, None])


def places_of(levels: Iterable[GridLevel], size: int) -> int:
    """n: the types, and room for an interval of any level that begins at the last of them."""
    return size + max(level.width if level.hashed else level.window for level in levels)


@dataclass(frozen=True, eq=False)
class SquareSums:
    """Σ_q of squares of sums over intervals of β_q, from N = Σ_q β_q β_qᵀ.

    N is given by its `product` with vectors (b, k) of `size` k; intervals have `places` n ≥ k, of which those after the
    types are empty.
    """

    product: LinearOperator
    size: int
    places: int

    def _padded(self, vectors: Floats) -> Floats:
        whole = np.zeros_like(vectors)
        whole[:, : self.size] = self.product(vectors[:, : self.size])
        return whole

    @cached_property
    def _forms(self) -> IntervalForms:
        return IntervalForms.of(self._padded, self.places)

    @cached_property
    def _with_all(self) -> Floats:
        """1ᵀN 1_[0, b) for b = 0 … n."""
        return np.concatenate([[0.0], np.cumsum(self._padded(np.ones((1, self.places)))[0])])

    @property
    def whole(self) -> float:
        """Σ_q (Σ β_q)²."""
        return float(self._with_all[-1])

    def windows(self, width: int) -> Floats:
        """(k + width − 1,) Σ_q D² of the windows of one width that hold a type."""
        return self._forms.windows(width)[: self.size + width - 1]

    def moments(self, level: GridLevel) -> Floats:
        """(k,) Σ_q E[(Σβ_q(u−1))² | x] of a level."""
        return self._of_cells(level) if level.hashed else self._of_combs(level)

    def _of_cells(self, level: GridLevel) -> Floats:
        squares = self.windows(level.width)
        own = inner_sums(squares, level.width)
        return np.asarray((level.spread * squares.sum() + (level.own_spread - level.spread) * own) / level.width)

    def _of_combs(self, level: GridLevel) -> Floats:
        """The square of every shift, from each pair of its intervals and from each with all."""
        wide, period, step = level.window, level.period, level.high - level.low
        squares = np.full(period, (level.low - 1) ** 2 * self._with_all[-1])
        starts = np.arange(1 - wide, self.size)
        stops = np.minimum(starts + wide, self.places)
        crossed = self._with_all[stops] - self._with_all[np.maximum(starts, 0)]
        np.add.at(squares, starts % period, 2 * (level.low - 1) * step * crossed)
        for lag in range(0, self.size + wide, period):
            pairs = self._forms.windows(wide, lag)[: len(starts)]
            twice = 1.0 if lag == 0 else 2.0
            np.add.at(squares, starts[: len(pairs)] % period, twice * step**2 * pairs)
        own = inner_sums(squares[starts % period], wide)
        return np.asarray((level.low * squares.sum() + step * own) / period)
