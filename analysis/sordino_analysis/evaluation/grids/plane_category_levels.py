"""One level of grids on categories and two ordered attributes: a plane's level, and which attributes it tells apart.

As beside one ordered attribute, a cell is one member of each attribute that is told apart, all members of the others,
and a cell of the plane; labels are drawn for all cells together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.attribute_groups import Apart, AttributeGroups
from sordino_analysis.evaluation.grids.category_levels import merged, over_members
from sordino_analysis.evaluation.grids.levels import Pair, Shape
from sordino_analysis.evaluation.grids.plane_levels import PlaneLevel


@dataclass(frozen=True, kw_only=True)
class PlaneCategoryLevel:
    """A `plane` level of the attributes at `axes`, told `apart` for the attributes without an order, in their order.

    A comb tells none apart. Both widths of the plane are 0 where all its types are one cell.
    """

    plane: PlaneLevel
    axes: Pair
    apart: Apart

    def grouped(self, groups: AttributeGroups) -> PlaneCategoryLevel:
        """The same with one attribute for each group."""
        return self._at(groups.grouped_axes, groups.of_groups(self.apart))

    def ungrouped(self, groups: AttributeGroups) -> PlaneCategoryLevel:
        """The reverse of `grouped`."""
        return self._at(groups.axes, groups.of_attributes(self.apart))

    def _at(self, axes: Shape, apart: Apart) -> PlaneCategoryLevel:
        first, second = axes
        return replace(self, axes=(first, second), apart=apart)

    @property
    def chance(self) -> float:
        """p of the level."""
        return self.plane.chance

    @property
    def density(self) -> float:
        """q, the share of labels in a report's set."""
        return self.plane.density

    @property
    def high(self) -> float:
        """u of the types in the set."""
        return self.plane.high

    @property
    def low(self) -> float:
        """u of the others."""
        return self.plane.low

    @property
    def widths(self) -> Shape:
        """As on the wire."""
        return self._placed([int(apart) for apart in self.apart], self.plane.widths)

    @property
    def sets(self) -> Shape | None:
        """Of a comb the lengths of the sides of a report's rectangles; a hashed level has none."""
        sides = self.plane.sets
        return None if sides is None else self._placed([0] * len(self.apart), sides)

    @property
    def periods(self) -> Shape:
        """Lengths after which a comb repeats; 1 on attributes that are left out."""
        return self._placed([1] * len(self.apart), self.plane.periods)

    def _placed(self, others: Sequence[int], ordered: Pair) -> Shape:
        found = list(others)
        for axis, one in zip(self.axes, ordered, strict=True):
            found.insert(axis, one)
        return tuple(found)

    def factor(self, sizes: Shape, plane: Pair) -> float:
        """f: what a report counts; 1/f is the mean of (second moment)/(that off the holder's cell)."""
        if self.plane.residues is not None:
            return 1.0
        held = math.prod(min(1.0, width / size) for width, size in zip(self.plane.widths, plane, strict=True) if width)
        held /= math.prod(size for size, apart in zip(sizes, self.apart, strict=True) if apart)
        return 1 / (1 + (self.plane.own_spread / self.plane.spread - 1) * held)

    def second_moments(self, weights: Floats, counts: Sequence[Floats]) -> Floats:
        """E[(Σ β(u−1))² | x] for β (r₁, …, k₁, k₂) of classes of members that are alike: (r₁ or 1, …, k₁, k₂).

        `counts` (r,) has the members in each class of an attribute without an order.
        """
        cells = merged(weights, self.apart, counts)
        even = self.plane.even_moment(cells)
        others = over_members(even, self.apart, counts) - even
        return np.asarray(self.plane.second_moments(cells) + others[..., None, None])

    def even_moment(self, weights: Floats, counts: Sequence[Floats]) -> float:
        """E[(Σ β(u−1))²] of a report whose label is even, for β (r₁, …, k₁, k₂) as in `second_moments`."""
        even = self.plane.even_moment(merged(weights, self.apart, counts))
        return float(over_members(even, self.apart, counts))
