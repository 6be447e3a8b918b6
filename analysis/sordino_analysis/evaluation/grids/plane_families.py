"""Queries about rectangles of two ordered attributes within members of other attributes, or among all of these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.attribute_groups import Apart, AttributeGroups
from sordino_analysis.evaluation.grids.beside_families import (
    PartBeside,
    groups_of,
    pieces_beside,
    sizes_beside,
    told_apart,
)
from sordino_analysis.evaluation.grids.category_families import WholeFamily, family_of_factor
from sordino_analysis.evaluation.grids.families import CellFamily, IntervalFamily, PrefixFamily, Query, RangeFamily
from sordino_analysis.evaluation.grids.levels import Pair, Shape
from sordino_analysis.questions.linear.operators import OneAttribute
from sordino_analysis.questions.linear.workload import Workload

# The intervals of both attributes.
Rectangle = tuple[Query, Query]


@dataclass(frozen=True)
class PlaneSide:
    """The intervals of one ordered attribute: those of the `family`, and that of all types where it leaves it out."""

    family: IntervalFamily

    @property
    def size(self) -> int:
        """The members of the attribute."""
        return self.family.size

    @property
    def left_out(self) -> bool:
        """Whether the interval of all types is one that the family leaves out."""
        return isinstance(self.family, PrefixFamily | RangeFamily) and self.family.bins == self.size

    @property
    def has_whole(self) -> bool:
        """Whether the interval of all types is among them."""
        return self.left_out or isinstance(self.family, WholeFamily) or (self._of_cells and self.size == 1)

    @property
    def _of_cells(self) -> bool:
        return isinstance(self.family, CellFamily)

    @property
    def count(self) -> int:
        """How many there are."""
        return self.family.count + self.left_out

    @property
    def whole(self) -> Query:
        """The largest interval of bins."""
        return (0, self.family.bins)

    def all(self) -> list[Query]:
        """Every interval."""
        return self.family.all() + ([self.whole] if self.left_out else [])

    def spread(self, times: int) -> list[Query]:
        """In the middle of `times` parts of all intervals; of ranges in half as many each of starts and of lengths."""
        if self.count <= times:
            return self.all()
        bins, middles = self.family.bins, (np.arange(times) + 0.5) / times
        if isinstance(self.family, RangeFamily):
            # An even range of [0, 1] begins at s with the density 2(1 − s), and has any length up to 1 − s.
            half = (np.arange(max(1, times // 2)) + 0.5) / max(1, times // 2)
            starts = 1 - np.sqrt(1 - half)
            ends = [(int(s * bins), int((s + (1 - s) * length) * bins) + 1) for s, length in product(starts, half)]
            return sorted({(a, max(a + 1, min(b, bins))) for a, b in ends})
        places = np.unique(np.floor(middles * self.count).astype(int)).tolist()
        if isinstance(self.family, PrefixFamily):
            return [(0, place + 1) for place in places]
        return [(place, place + 1) for place in places]

    def resized(self, bins: int) -> PlaneSide:
        """Of fewer bins, without further members."""
        return PlaneSide(self.family.resized(bins))


@dataclass(frozen=True)
class PlanePart(PartBeside):
    """Each rectangle of two `sides`, for each member of the attributes told `apart`, one flag for each.

    The variances of the queries count `weight` times in an objective.
    """

    sides: tuple[PlaneSide, PlaneSide]
    weight: float = 1.0

    @property
    def constant(self) -> Rectangle | None:
        """The one that all users are in, which is no query."""
        first, second = self.sides
        return None if any(self.apart) or not (first.has_whole and second.has_whole) else (first.whole, second.whole)

    @property
    def rectangles(self) -> int:
        """How many queries there are about each combination of members."""
        first, second = self.sides
        return first.count * second.count - (self.constant is not None)

    def all(self) -> list[Rectangle]:
        """Every rectangle."""
        first, second = self.sides
        return self._varying(product(first.all(), second.all()))

    def spread(self, times: int) -> list[Rectangle]:
        """In the middle of `times` × `times` parts of all."""
        first, second = (side.spread(times) for side in self.sides)
        return self._varying(product(first, second))

    def at_the_ends(self, times: int) -> list[Rectangle]:
        """Rectangles of all bins of one attribute and `times` intervals of the other, and one of a single cell."""
        first, second = self.sides
        cell = (first.all()[0], second.all()[0]) if self.rectangles > 1 else (first.whole, second.whole)
        across = product([first.whole], [*second.spread(times), second.whole])
        along = product(first.spread(times), [second.whole])
        asked = [one for one in [*across, *along] if self._asks(one)]
        return self._varying(dict.fromkeys([cell, *asked]))

    def _asks(self, rectangle: Rectangle) -> bool:
        """Whether a rectangle that holds all bins of some attribute is a query."""
        return not any(
            isinstance(side.family, CellFamily) and stop - start > 1
            for side, (start, stop) in zip(self.sides, rectangle, strict=True)
        )

    def _varying(self, rectangles: Iterable[Rectangle]) -> list[Rectangle]:
        return [one for one in rectangles if one != self.constant]

    def resized(self, bins: Pair) -> PlanePart:
        """Of fewer bins, without further members."""
        first, second = (side.resized(count) for side, count in zip(self.sides, bins, strict=True))
        return replace(self, sides=(first, second))

    def query(self, shape: Shape, axes: Shape, rectangle: Rectangle) -> Floats:
        """v (k₁, k₂, …) of this shape, about the first member of each attribute that is told apart."""
        return self.query_of(shape, axes, rectangle)


@dataclass(frozen=True)
class PlaneCategoryFamily:
    """The `parts` of a workload on attributes of `shape` sizes, of which those at `axes` are ordered."""

    shape: Shape
    axes: Shape
    parts: tuple[PlanePart, ...]

    @cached_property
    def sizes(self) -> Shape:
        """Of the attributes without an order."""
        return sizes_beside(self.shape, self.axes)

    @property
    def plane(self) -> Pair:
        """(k₁, k₂), the members of the ordered attributes."""
        first, second = (self.shape[axis] for axis in self.axes)
        return first, second

    @property
    def bins(self) -> Pair:
        """The bins of both that all parts ask about."""
        first, second = (min(part.sides[place].family.bins for part in self.parts) for place in (0, 1))
        return first, second

    @property
    def count(self) -> int:
        """Q, without queries that are constant."""
        return sum(part.categories(self.sizes) * part.rectangles for part in self.parts)

    def groups(self, told: Iterable[Apart] = ()) -> AttributeGroups:
        """The attributes that all parts treat alike, and all of `told`, which levels may tell apart."""
        return groups_of(self.shape, self.axes, self.parts, told)

    def grouped(self, groups: AttributeGroups) -> PlaneCategoryFamily:
        """The same questions with one attribute for each group."""
        parts = tuple(replace(part, apart=groups.of_groups(part.apart)) for part in self.parts)
        return PlaneCategoryFamily(groups.grouped, groups.grouped_axes, parts)

    def resized(self, bins: Pair) -> PlaneCategoryFamily:
        """The same questions about fewer bins."""
        shape = list(self.shape)
        for axis, count in zip(self.axes, bins, strict=True):
            shape[axis] = count
        return PlaneCategoryFamily(tuple(shape), self.axes, tuple(part.resized(bins) for part in self.parts))


def plane_category_family_of(workload: Workload) -> PlaneCategoryFamily | None:
    """What queries ask of categories and two ordered attributes; None where they ask something else."""
    found = pieces_beside(workload, 2)
    if found is None:
        return None
    axes, pieces = found
    return PlaneCategoryFamily(
        workload.domain.shape, axes, tuple(_part(factors, axes, weight) for factors, weight in pieces)
    )


def _part(factors: Sequence[OneAttribute], axes: Shape, weight: float) -> PlanePart:
    first, second = (PlaneSide(family_of_factor(factors[axis])) for axis in axes)
    return PlanePart(told_apart(factors, axes), (first, second), weight)
