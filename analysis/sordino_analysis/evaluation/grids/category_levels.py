"""One level of grids on categories and one ordered attribute: a line's level, and which attributes it tells apart.

A cell is one member of each attribute that is told apart, all members of the others, and a cell of the line, or the
whole line. So a level looks at each combination of categories as the line's level looks at a line, but labels are
drawn for all cells together. On the wire the widths are 1 for an attribute that is told apart, 0 for one that is not,
and the line's for the ordered one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.attribute_groups import Apart, AttributeGroups
from sordino_analysis.evaluation.grids.levels import GridLevel, Shape, WindowSums


@dataclass(frozen=True, kw_only=True)
class CategoryLevel:
    """A `line` level of the attribute at `axis`, told `apart` for the attributes without an order, in their order.

    A comb tells none apart. With `whole` all members of the line are one cell, and the line's width is 1.
    """

    line: GridLevel
    axis: int
    apart: Apart
    whole: bool = False

    def grouped(self, groups: AttributeGroups) -> CategoryLevel:
        """The same with one attribute for each group."""
        return replace(self, axis=groups.grouped_axes[0], apart=groups.of_groups(self.apart))

    def ungrouped(self, groups: AttributeGroups) -> CategoryLevel:
        """The reverse of `grouped`."""
        return replace(self, axis=groups.axes[0], apart=groups.of_attributes(self.apart))

    @property
    def chance(self) -> float:
        """p of the level."""
        return self.line.chance

    @property
    def density(self) -> float:
        """q, the share of labels in a report's set."""
        return self.line.density

    @property
    def high(self) -> float:
        """u of the types in the set."""
        return self.line.high

    @property
    def low(self) -> float:
        """u of the others."""
        return self.line.low

    @property
    def widths(self) -> Shape:
        """As on the wire."""
        return self._placed([int(apart) for apart in self.apart], 0 if self.whole else self.line.width)

    @property
    def sets(self) -> Shape | None:
        """Of a comb the length of the intervals of a report; a hashed level has none."""
        return None if self.line.hashed else self._placed([0] * len(self.apart), self.line.window)

    @property
    def periods(self) -> Shape:
        """Lengths after which a comb repeats; 1 on attributes that are left out."""
        return self._placed([1] * len(self.apart), self.line.period)

    def _placed(self, others: Sequence[int], ordered: int) -> Shape:
        return (*others[: self.axis], ordered, *others[self.axis :])

    def factor(self, sizes: Shape, bins: int) -> float:
        """f: what a report counts; 1/f is the mean of (second moment)/(that off the holder's cell)."""
        if not self.line.hashed:
            return 1.0
        held = 1.0 if self.whole else min(1.0, self.line.width / bins)
        held /= math.prod(size for size, apart in zip(sizes, self.apart, strict=True) if apart)
        return 1 / (1 + (self.line.own_spread / self.line.spread - 1) * held)

    def kernel(self, bins: int) -> Floats:
        """R (k,) of types of one combination of categories, by their distance on the line."""
        return np.full(bins, self.line.spread) if self.whole else self.line.kernel(bins)

    def second_moments(self, weights: Floats, counts: Sequence[Floats]) -> Floats:
        """E[(Σ β(u−1))² | x] for β (r₁, …, k) of classes of members that are alike: (r₁ or 1, …, k or 1).

        `counts` (r,) has the members in each class of an attribute without an order.
        """
        sums = WindowSums.of(self._cells(weights, counts))
        even = self.line.even_moment(sums)
        others = over_members(even, self.apart, counts) - even
        return np.asarray(self.line.second_moments(sums) + others[..., None])

    def even_moment(self, weights: Floats, counts: Sequence[Floats]) -> float:
        """E[(Σ β(u−1))²] of a report whose label is even, for β (r₁, …, k) of classes as in `second_moments`."""
        sums = WindowSums.of(self._cells(weights, counts))
        return float(over_members(self.line.even_moment(sums), self.apart, counts))

    def _cells(self, weights: Floats, counts: Sequence[Floats]) -> Floats:
        """Σ β over what is left out, which has one entry then."""
        weights = merged(weights, self.apart, counts)
        return weights.sum(axis=-1, keepdims=True) if self.whole else weights


def merged(weights: Floats, apart: Apart, counts: Sequence[Floats]) -> Floats:
    """Σ β (r₁, …) over the attributes that are not told `apart`: these have one entry. `counts` (r,)."""
    for axis, (told, count) in enumerate(zip(apart, counts, strict=True)):
        if not told:
            weights = np.expand_dims(np.tensordot(weights, count, (axis, 0)), axis)
    return weights


def over_members(values: Floats, apart: Apart, counts: Sequence[Floats]) -> Floats:
    """Σ over all members of what their classes have, for `values` (r₁ or 1, …); `counts` (r,)."""
    total = values
    for told, count in zip(apart, counts, strict=True):
        total = np.tensordot(count, total, (0, 0)) if told else total[0]
    return np.asarray(total)
