"""Queries about an interval of one ordered attribute within members of other attributes, or among all of these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

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
from sordino_analysis.evaluation.grids.families import CellFamily, IntervalFamily, PrefixFamily, Query, RangeFamily
from sordino_analysis.evaluation.grids.levels import Shape
from sordino_analysis.questions.linear.operators import Indices, OneAttribute, Prefix, Ranges, Total
from sordino_analysis.questions.linear.workload import Workload


class WholeFamily(IntervalFamily):
    """The one interval of all types."""

    @property
    def count(self) -> int:
        return 1

    def gram(self, vectors: Floats) -> Floats:
        return np.asarray(vectors.sum(axis=-1, keepdims=True) * np.ones(self.size))

    def cell_gram(self, edges: Indices) -> Floats:
        return np.ones((len(edges) - 1, len(edges) - 1))

    def squared_distances(self, density: Floats) -> Floats:
        return np.full(self.size, (1 - float(density.sum())) ** 2)

    def mirrored(self, query: Query) -> Query:
        return query

    def place(self, query: Query) -> int:
        return 0

    def all(self) -> list[Query]:
        return [(0, self.size)]

    def neighbours(self, query: Query, step: int) -> list[Query]:
        return []

    def samples(self, count: int) -> list[Query]:
        return self.all()


@dataclass(frozen=True)
class CategoryPart(PartBeside):
    """Each interval of the `family`, for each member of the attributes that are told `apart`, one flag for each.

    With `whole` that of all types is among them, which the family leaves out. The variances of the queries count
    `weight` times in an objective.
    """

    family: IntervalFamily
    whole: bool = False
    weight: float = 1.0

    @property
    def intervals(self) -> int:
        """How many queries there are about each combination of members."""
        return self.family.count + self.whole

    def all(self) -> list[Query]:
        """Every interval."""
        return self.family.all() + self._last

    def samples(self, count: int) -> list[Query]:
        """About `count` of the intervals, spread over all."""
        found = self.family.samples(count)
        return found[:: max(1, len(found) // max(1, count))] + self._last

    @property
    def _last(self) -> list[Query]:
        return [(0, self.family.size)] if self.whole else []

    def resized(self, bins: int) -> CategoryPart:
        """Of fewer bins, without further members."""
        return replace(self, family=self.family.resized(bins))

    def query(self, shape: Shape, axis: int, interval: Query) -> Floats:
        """v (k₁, k₂, …) of this shape, about the first member of each attribute that is told apart."""
        return self.query_of(shape, (axis,), (interval,))


@dataclass(frozen=True)
class CategoryFamily:
    """The `parts` of a workload on attributes of `shape` sizes, of which the one at `axis` is ordered."""

    shape: Shape
    axis: int
    parts: tuple[CategoryPart, ...]

    @cached_property
    def sizes(self) -> Shape:
        """Of the attributes without an order."""
        return sizes_beside(self.shape, (self.axis,))

    @property
    def bins(self) -> int:
        """k, the members of the ordered attribute."""
        return self.shape[self.axis]

    @property
    def count(self) -> int:
        """Q, without queries that are constant."""
        return sum(part.categories(self.sizes) * part.intervals for part in self.parts)

    def groups(self, told: Iterable[Apart] = ()) -> AttributeGroups:
        """The attributes that all parts treat alike, and all of `told`, which levels may tell apart."""
        return groups_of(self.shape, (self.axis,), self.parts, told)

    def grouped(self, groups: AttributeGroups) -> CategoryFamily:
        """The same questions with one attribute for each group."""
        parts = tuple(replace(part, apart=groups.of_groups(part.apart)) for part in self.parts)
        return CategoryFamily(groups.grouped, groups.grouped_axes[0], parts)

    def resized(self, bins: int) -> CategoryFamily:
        """The same questions about fewer bins."""
        shape = (*self.shape[: self.axis], bins, *self.shape[self.axis + 1 :])
        return CategoryFamily(shape, self.axis, tuple(part.resized(bins) for part in self.parts))


def category_family_of(workload: Workload) -> CategoryFamily | None:
    """What queries ask of categories and one ordered attribute; None where they ask something else."""
    found = pieces_beside(workload, 1)
    if found is None:
        return None
    (axis,), pieces = found
    return CategoryFamily(
        workload.domain.shape, axis, tuple(_part(factors, axis, weight) for factors, weight in pieces)
    )


def _part(factors: Sequence[OneAttribute], axis: int, weight: float) -> CategoryPart:
    apart = told_apart(factors, (axis,))
    family = family_of_factor(factors[axis])
    varies = any(apart) and family.bins == family.size and not isinstance(family, CellFamily | WholeFamily)
    return CategoryPart(apart, family, varies, weight)


def family_of_factor(factor: OneAttribute) -> IntervalFamily:
    """The intervals that a factor of a product asks of an attribute with an order."""
    match factor:
        case Prefix(bins=bins, size=size):
            return PrefixFamily(bins, size)
        case Ranges(bins=bins, size=size):
            return RangeFamily(bins, size)
        case Total(size=size):
            return WholeFamily(size, size)
        case _:
            return CellFamily(factor.shape[1], factor.shape[1])
