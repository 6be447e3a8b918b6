"""Attributes that are always told apart together count as one, whose members are their combinations.

Queries and levels that name eleven attributes at once have two parts then, the constant one and the rest, in place of
2^11.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.levels import Shape

# For each attribute without an order whether something tells its members apart.
Apart = tuple[bool, ...]


@dataclass(frozen=True)
class AttributeGroups:
    """The `groups` of attributes of `sizes`, by their places among those without an order; `axis` is the ordered one's.

    Functions of the types are arrays of `shape`, and of `grouped` where each group is one attribute. The ordered
    attribute comes after as many groups as begin before it.
    """

    shape: Shape
    axis: int
    groups: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, shape: Shape, axis: int, told: Iterable[Apart]) -> AttributeGroups:
        """Those that each of `told` treats alike."""
        columns: dict[tuple[bool, ...], list[int]] = {}
        for place, column in enumerate(zip(*told, strict=True)):
            columns.setdefault(column, []).append(place)
        return cls(shape, axis, tuple(map(tuple, columns.values())))

    @cached_property
    def sizes(self) -> Shape:
        """Of the attributes without an order."""
        return self.shape[: self.axis] + self.shape[self.axis + 1 :]

    @cached_property
    def counts(self) -> Shape:
        """Combinations of the members of each group."""
        return tuple(math.prod(self.sizes[place] for place in group) for group in self.groups)

    @cached_property
    def grouped_axis(self) -> int:
        """The ordered attribute's place among the groups."""
        return sum(group[0] < self.axis for group in self.groups)

    @cached_property
    def grouped(self) -> Shape:
        """The shape of functions with one attribute for each group."""
        return (*self.counts[: self.grouped_axis], self.shape[self.axis], *self.counts[self.grouped_axis :])

    @cached_property
    def _order(self) -> list[int]:
        """The attributes in the order of the groups."""
        placed = [[place + (place >= self.axis) for place in group] for group in self.groups]
        placed.insert(self.grouped_axis, [self.axis])
        return [place for group in placed for place in group]

    def arranged(self, values: Floats) -> Floats:
        """Values of all types, (k,) or of `shape`, as those of `grouped`, (c₁, …, k₁, …)."""
        return values.reshape(self.shape).transpose(self._order).reshape(self.grouped)

    def flattened(self, values: Floats) -> Floats:
        """(k,) from values of `grouped`, the reverse of `arranged`."""
        ordered = values.reshape([self.shape[place] for place in self._order])
        return ordered.transpose(np.argsort(self._order)).ravel()

    def of_groups(self, apart: Apart) -> Apart:
        """Flags of attributes as those of groups; attributes of a group have the same."""
        return tuple(apart[group[0]] for group in self.groups)

    def of_attributes(self, apart: Apart) -> Apart:
        """Flags of groups as those of attributes."""
        by_place = {place: flag for group, flag in zip(self.groups, apart, strict=True) for place in group}
        return tuple(by_place[place] for place in range(len(self.sizes)))
