"""The mean variance of all queries about categories and intervals for each type, in O(k) a level and kind of cell.

A query about some combination of members has few kinds of cells: of an attribute that it tells apart a cell has the
query's own member, another one, or all of them. The weights β of the query on each kind are one linear map of its
interval, so that N = Σ β βᵀ over the intervals has a small displacement rank there, as on a line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.beside_law import Subset
from sordino_analysis.evaluation.grids.category_families import CategoryFamily, CategoryPart
from sordino_analysis.evaluation.grids.category_law import CategoryLaw
from sordino_analysis.evaluation.grids.category_levels import CategoryLevel
from sordino_analysis.evaluation.grids.levels import inner_sums
from sordino_analysis.evaluation.grids.means import SquareSums, places_of

# What a cell has of an attribute: the member that a query names, another one, or all.
_OWN, _OTHER, _ALL = range(3)
Kind = tuple[int, ...]


def category_mean_variances(law: CategoryLaw, family: CategoryFamily) -> Floats:
    """(k,) the mean of w_q Var_q(x) over the family's queries, exactly, for the types x of any members."""
    found = np.zeros(law.bins)
    for part in family.parts:
        found += part.weight * _PartMeans(law, part).variances()
    return np.asarray(found / family.count)


@dataclass(frozen=True, eq=False)
class _PartMeans:
    law: CategoryLaw
    part: CategoryPart

    def variances(self) -> Floats:
        """(k,) Σ_q Var_q(x)."""
        found = -self._squared_distances()
        for level, factor in zip(self.law.levels, self.law.factors, strict=True):
            found += level.chance * factor**2 * self._moments(level)
        return found

    @property
    def _named(self) -> int:
        """The combinations of members that queries name."""
        return self.part.categories(self.law.sizes)

    def _squared_distances(self) -> Floats:
        """Σ_q (v_x − t_q)²: that of the interval for the query's own member, t_q² for each other one."""
        density = self.law.density * (math.prod(self.law.sizes) // self._named)
        means = float(density @ self.part.family.gram(density))
        return self.part.family.squared_distances(density) + (self._named - 1) * means

    def _moments(self, level: CategoryLevel) -> Floats:
        """(k,) Σ_q E[(Σβ_q(u−1))² | x]."""
        pairs = self._pairs(level)
        unnamed = _combinations(self.law.sizes, [told and not named for told, named in pairs])
        ignored = _combinations(self.law.sizes, [named and not told for told, named in pairs])
        if not level.line.hashed:
            return ignored * self._sums(self._kinds_of_all(level)).moments(level.line)
        width, squares = level.line.width, np.zeros(1)
        for kind, count in self._cells(level):
            sums = self._sums(kind)
            squares = squares + count * (np.array([sums.whole]) if level.whole else sums.windows(width))
        own = inner_sums(squares, width)
        common = self._named * unnamed * level.line.spread * squares.sum()
        return np.asarray((common + ignored * (level.line.own_spread - level.line.spread) * own) / width)

    def _pairs(self, level: CategoryLevel) -> list[tuple[bool, bool]]:
        """Whether the level tells each attribute apart, and whether queries do."""
        return list(zip(level.apart, self.part.apart, strict=True))

    def _kinds_of_all(self, level: CategoryLevel) -> Kind:
        return tuple(_ALL if not told else _OWN for told in level.apart)

    def _cells(self, level: CategoryLevel) -> Iterator[tuple[Kind, int]]:
        """The kinds of cells of a level, and the number of each among the members that queries name."""
        choices: list[list[tuple[int, int]]] = []
        for size, (told, named) in zip(self.law.sizes, self._pairs(level), strict=True):
            if not told:
                choices.append([(_ALL, 1)])
            elif named and size > 1:
                choices.append([(_OWN, 1), (_OTHER, size - 1)])
            else:
                choices.append([(_OWN, 1)])
        for chosen in product(*choices):
            yield tuple(kind for kind, _ in chosen), math.prod(count for _, count in chosen)

    @cached_property
    def _known(self) -> dict[Kind, SquareSums]:
        return {}

    def _sums(self, kind: Kind) -> SquareSums:
        if kind not in self._known:
            places = places_of([level.line for level in self.law.levels], self.law.bins)
            self._known[kind] = SquareSums(partial(self._product, kind), self.law.bins, places)
        return self._known[kind]

    def _product(self, kind: Kind, vectors: Floats) -> Floats:
        """N u = B G Bᵀ u for each of `vectors` (b, k), with the β on cells of this kind B v of intervals v."""
        return self._weights(kind, self.part.family.gram(self._transposed(kind, vectors)))

    def _terms(self, kind: Kind) -> Iterator[tuple[Subset, float]]:
        """U and its share of the cells of this kind."""
        for subset in self.law.inverses:
            share = 1.0
            for size, zero, named, one in zip(self.law.sizes, subset, self.part.apart, kind, strict=True):
                share *= _share(size, one, zero=zero, named=named)
            if share:
                yield subset, share

    def _weights(self, kind: Kind, intervals: Floats) -> Floats:
        """B v = Σ_U share·T_U⁻¹v − c·M⁻¹1, for `intervals` v (b, k) of one member."""
        return self._summed(kind, intervals) - (intervals @ self.law.centre)[:, None] * self._constant(kind)

    def _transposed(self, kind: Kind, vectors: Floats) -> Floats:
        """Bᵀu for each of `vectors` (b, k)."""
        return self._summed(kind, vectors) - (vectors @ self._constant(kind))[:, None] * self.law.centre

    def _summed(self, kind: Kind, vectors: Floats) -> Floats:
        found = np.zeros_like(vectors)
        for subset, share in self._terms(kind):
            found += share * self.law.inverses[subset].product(vectors)
        return found

    def _constant(self, kind: Kind) -> Floats:
        """(k,) M⁻¹1 on the cells of this kind, as often as an interval counts in c: once for each unnamed member."""
        cells = _combinations(self.law.sizes, [one == _ALL for one in kind])
        unnamed = _combinations(self.law.sizes, [not named for named in self.part.apart])
        return cells * unnamed * self.law.flat


def _share(size: int, kind: int, *, zero: bool, named: bool) -> float:
    """Of the function that is 1 on a query's member, or on all where none is `named`: its part of sum 0, or its mean.

    Its value on the member, on another one, or the sum over all of them.
    """
    if not named:
        return 0.0 if zero else float(size if kind == _ALL else 1)
    mean = 1 / size
    if kind == _ALL:
        return 0.0 if zero else 1.0
    return mean if not zero else float(kind == _OWN) - mean


def _combinations(sizes: Sequence[int], counted: Sequence[bool]) -> int:
    return math.prod(size for size, counts in zip(sizes, counted, strict=True) if counts)
