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
    """The `groups` of attributes of `sizes`, by their places among those without an order; the ordered are at `axes`.

    Functions of the types are arrays of `shape`, and of `grouped` where each group is one attribute. An ordered
    attribute comes after as many groups as begin before it.
    """

    shape: Shape
    axes: Shape
    groups: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, shape: Shape, axes: Shape, told: Iterable[Apart]) -> AttributeGroups:
        """Those that each of `told` treats alike."""
        columns: dict[tuple[bool, ...], list[int]] = {}
        for place, column in enumerate(zip(*told, strict=True)):
            columns.setdefault(column, []).append(place)
        return cls(shape, axes, tuple(map(tuple, columns.values())))

    @cached_property
    def _others(self) -> list[int]:
        """The places of the attributes without an order."""
        return [place for place in range(len(self.shape)) if place not in self.axes]

    @cached_property
    def sizes(self) -> Shape:
        """Of the attributes without an order."""
        return tuple(self.shape[place] for place in self._others)

    @cached_property
    def counts(self) -> Shape:
        """Combinations of the members of each group."""
        return tuple(math.prod(self.sizes[place] for place in group) for group in self.groups)

    @cached_property
    def grouped_axes(self) -> Shape:
        """The ordered attributes' places among the groups."""
        before = [sum(self._others[group[0]] < axis for group in self.groups) for axis in self.axes]
        return tuple(groups + place for place, groups in enumerate(before))

    @cached_property
    def grouped(self) -> Shape:
        """The shape of functions with one attribute for each group."""
        found = list(self.counts)
        for place, axis in zip(self.grouped_axes, self.axes, strict=True):
            found.insert(place, self.shape[axis])
        return tuple(found)

    @cached_property
    def _order(self) -> list[int]:
        """The attributes in the order of the groups."""
        placed = [[self._others[place] for place in group] for group in self.groups]
        for place, axis in zip(self.grouped_axes, self.axes, strict=True):
            placed.insert(place, [axis])
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
