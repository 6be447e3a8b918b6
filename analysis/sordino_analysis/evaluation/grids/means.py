"""The mean variance of a whole family of queries for each type, in O(k) a level however many queries there are.

A report's second moment sums squares of ⟨1_I, β⟩ over intervals I; the sum of those over the queries is 1_Iᵀ N 1_I with
N = Σ_q β_q β_qᵀ = M⁻¹CGCᵀM⁻¹ for the Gram matrix G of the queries and C = 1 − 1aᵀ, and N has a small displacement rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.families import LineFamily
from sordino_analysis.evaluation.grids.law import GridLaw
from sordino_analysis.evaluation.grids.levels import GridLevel, inner_sums
from sordino_analysis.evaluation.grids.stacked import MatrixRows, StackFamily
from sordino_analysis.optimisation.toeplitz import IntervalForms


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
        for level in self.law.levels:
            moments = self._of_cells(level) if level.hashed else self._of_combs(level)
            found += level.chance * level.factor(self.law.size) ** 2 * moments
        return np.asarray(found)

    @cached_property
    def _places(self) -> int:
        """n: the types, and room for an interval that begins at the last of them."""
        return self.law.size + max(level.window if not level.hashed else level.width for level in self.law.levels)

    def _product(self, vectors: Floats) -> Floats:
        """N u for each of `vectors` (b, n); places after the types are empty."""
        law, size = self.law, self.law.size
        inner = law.inverse.product(vectors[:, :size])
        summed = self.family.gram(inner - inner.sum(axis=1, keepdims=True) * law.centre)
        whole = np.zeros_like(vectors)
        whole[:, :size] = law.inverse.product(summed - (summed @ law.centre)[:, None])
        return whole

    @cached_property
    def _forms(self) -> IntervalForms:
        return IntervalForms.of(self._product, self._places)

    @cached_property
    def _with_all(self) -> Floats:
        """1ᵀN 1_[0, b) for b = 0 … n."""
        return np.concatenate([[0.0], np.cumsum(self._product(np.ones((1, self._places)))[0])])

    def _of_cells(self, level: GridLevel) -> Floats:
        """Σ_q E[(Σβ_q(u−1))² | x] of a hashed level, (k,)."""
        width = level.width
        squares = self._forms.windows(width)[: self.law.size + width - 1]
        own = inner_sums(squares, width)
        return np.asarray((level.spread * squares.sum() + (level.own_spread - level.spread) * own) / width)

    def _of_combs(self, level: GridLevel) -> Floats:
        """The same of a comb: the square of every shift, from each pair of its intervals and from each with all."""
        wide, period, step = level.window, level.period, level.high - level.low
        squares = np.full(period, (level.low - 1) ** 2 * self._with_all[-1])
        starts = np.arange(1 - wide, self.law.size)
        stops = np.minimum(starts + wide, self._places)
        crossed = self._with_all[stops] - self._with_all[np.maximum(starts, 0)]
        np.add.at(squares, starts % period, 2 * (level.low - 1) * step * crossed)
        for lag in range(0, self.law.size + wide, period):
            pairs = self._forms.windows(wide, lag)[: len(starts)]
            twice = 1.0 if lag == 0 else 2.0
            np.add.at(squares, starts[: len(pairs)] % period, twice * step**2 * pairs)
        own = inner_sums(squares[starts % period], wide)
        return np.asarray((level.low * squares.sum() + step * own) / period)
