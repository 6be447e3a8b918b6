"""Boxes of a domain: the share of users whose member of each attribute lies between a first and a last one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.questions.linear.operators import Indices, MergedTypes, ZeroOneMap

Side = tuple[int, int]


@dataclass(frozen=True)
class Box:
    """One question: `sides` has the first and the last member that count, for each attribute; `label` names it."""

    label: str
    sides: tuple[Side, ...]

    def involved(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The attributes of a domain of this `shape` that the box does not hold as a whole."""
        return tuple(a for a, (side, size) in enumerate(zip(self.sides, shape, strict=True)) if side != (0, size - 1))

    def of_members(self, attributes: Sequence[int]) -> tuple[int, ...] | None:
        """The one member of each of the `attributes` that the box holds; None where it holds several of one."""
        sides = [self.sides[attribute] for attribute in attributes]
        return tuple(first for first, _ in sides) if all(first == last for first, last in sides) else None


def meet(box: Box, other: Box) -> Box | None:
    """The users who are in both boxes, under the label of the first; None where there can be none."""
    pairs = list(zip(box.sides, other.sides, strict=True))
    sides = tuple((max(one[0], two[0]), min(one[1], two[1])) for one, two in pairs)
    return Box(box.label, sides) if all(first <= last for first, last in sides) else None


class Boxes(ZeroOneMap):
    """A row for each box, 1 at the cells that are in it."""

    def __init__(self, boxes: Sequence[Box], shape: tuple[int, ...]) -> None:
        self.boxes, self.sizes = tuple(boxes), shape
        self._slices = [tuple(slice(first, last + 1) for first, last in box.sides) for box in self.boxes]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.boxes), int(np.prod(self.sizes, dtype=np.int64))

    def merged(self) -> MergedTypes | None:
        ends = np.array([box.sides for box in self.boxes]) + np.array([0, 1])
        cuts = [np.unique([0, size, *ends[:, axis].ravel()]) for axis, size in enumerate(self.sizes)]
        lengths = tuple(np.diff(each) for each in cuts)
        blocks = tuple(map(len, lengths))
        if blocks == self.sizes:
            return None
        places = [np.searchsorted(each, ends[:, axis]) - np.array([0, 1]) for axis, each in enumerate(cuts)]
        boxes = [
            Box(box.label, tuple((int(first), int(last)) for first, last in sides))
            for box, sides in zip(self.boxes, np.stack(places, axis=1).tolist(), strict=True)
        ]
        return MergedTypes(Boxes(boxes, blocks), lengths)

    def matvec(self, histogram: Floats) -> Floats:
        cube = histogram.reshape(*self.sizes, *histogram.shape[1:])
        axes = tuple(range(len(self.sizes)))
        if len(self.sizes) > 1:
            return np.array([cube[part].sum(axis=axes) for part in self._slices])
        sums = np.concatenate([np.zeros_like(cube[:1]), np.cumsum(cube, axis=0)])
        first, last = np.array([box.sides[0] for box in self.boxes]).T
        return np.asarray(sums[last + 1] - sums[first])

    def rmatvec(self, weights: Floats) -> Floats:
        cube = np.zeros((*self.sizes, *weights.shape[1:]))
        for part, weight in zip(self._slices, weights, strict=True):
            cube[part] += weight
        return cube.reshape(self.shape[1], *weights.shape[1:])

    def take(self, rows: Indices) -> Floats:
        cubes = np.zeros((len(rows), *self.sizes))
        for cube, row in zip(cubes, rows.tolist(), strict=True):
            cube[self._slices[row]] = 1.0
        return cubes.reshape(len(rows), -1)
