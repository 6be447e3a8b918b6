"""What queries about one or two ordered attributes beside others have in common: pieces, and members told apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.attribute_groups import Apart, AttributeGroups
from sordino_analysis.evaluation.grids.families import Query
from sordino_analysis.evaluation.grids.levels import Shape
from sordino_analysis.questions.linear.operators import Identity, OneAttribute, Prefix, Ranges, Symmetry
from sordino_analysis.questions.linear.workload import Workload

# A part of a workload by its factors, one for each attribute, and how often its variances count.
Piece = tuple[tuple[OneAttribute, ...], float]


@dataclass(frozen=True)
class PartBeside:
    """Queries for each member of the attributes that are told `apart`, one flag for each attribute without an order."""

    apart: Apart

    def categories(self, sizes: Shape) -> int:
        """How many combinations of members are told apart, of attributes of these `sizes`."""
        return math.prod(size for size, apart in zip(sizes, self.apart, strict=True) if apart)

    def query_of(self, shape: Shape, axes: Shape, intervals: Sequence[Query]) -> Floats:
        """v (k₁, k₂, …) of this shape, about the first member of each attribute that is told apart."""
        found = np.zeros(shape)
        held: list[slice] = [slice(0, 1) if apart else slice(None) for apart in self.apart]
        for axis, interval in zip(axes, intervals, strict=True):
            held.insert(axis, slice(*interval))
        found[tuple(held)] = 1.0
        return found


def sizes_beside(shape: Shape, axes: Shape) -> Shape:
    """The members of the attributes that are not at `axes`."""
    return tuple(size for place, size in enumerate(shape) if place not in axes)


def groups_of(shape: Shape, axes: Shape, parts: Iterable[PartBeside], told: Iterable[Apart]) -> AttributeGroups:
    """The attributes that all parts treat alike, and all of `told`, which levels may tell apart."""
    return AttributeGroups.of(shape, axes, [*(part.apart for part in parts), *told])


def pieces_beside(workload: Workload, ordered: int) -> tuple[Shape, list[Piece]] | None:
    """The places of so many `ordered` attributes beside others, and the pieces of a stack; None of another workload.

    None of a histogram, too, which one bin of an ordered attribute leaves: it has mechanisms of its own.
    """
    if workload.dithering is not None or workload.symmetry is Symmetry.TYPES:
        return None
    stacked = workload.operator.stacked
    pieces = [(factors, weight) for part, weight in stacked if (factors := part.factored) is not None]
    if len(pieces) < len(stacked) or len(workload.domain.attributes) <= ordered:
        return None
    axes = {axis for factors, _ in pieces for axis, one in enumerate(factors) if isinstance(one, Prefix | Ranges)}
    return (tuple(sorted(axes)), pieces) if len(axes) == ordered else None


def told_apart(factors: Sequence[OneAttribute], axes: Shape) -> Apart:
    """Which attributes without an order a piece tells apart."""
    others = (factor for place, factor in enumerate(factors) if place not in axes)
    return tuple(isinstance(other, Identity) and other.size > 1 for other in others)
