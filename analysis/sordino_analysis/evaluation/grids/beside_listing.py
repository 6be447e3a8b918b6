"""The rows of listed queries beside categories: boxes in place of the whole workload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sordino_analysis.evaluation.grids.attribute_groups import Apart
from sordino_analysis.evaluation.grids.families import Query
from sordino_analysis.evaluation.grids.levels import Shape
from sordino_analysis.questions.linear.boxes import Box, Boxes, Side
from sordino_analysis.questions.linear.workload import Workload

# A query by the number of its part, and the members of each attribute that it is about.
PlacedSides = tuple[int, tuple[Side, ...]]


def sides_beside(
    sizes: Shape, apart: Apart, members: Sequence[int], axes: Shape, intervals: Sequence[Query]
) -> tuple[Side, ...]:
    """The first and last member of each attribute: of those told apart one of `members`, at `axes` the intervals."""
    named = iter(members)
    sides: list[Side] = []
    for size, is_apart in zip(sizes, apart, strict=True):
        member = next(named) if is_apart else None
        sides.append((0, size - 1) if member is None else (member, member))
    for axis, (start, stop) in zip(axes, intervals, strict=True):
        sides.insert(axis, (start, stop - 1))
    return tuple(sides)


def only_listed(workload: Workload, listed: Sequence[PlacedSides]) -> Workload:
    """The workload with the listed queries only; others are asked one by one."""
    rows = [row_of_sides(workload, part, sides) for part, sides in listed]
    boxes = [Box(workload.label(row), sides) for row, (_, sides) in zip(rows, listed, strict=True)]
    return replace(
        workload,
        operator=Boxes(boxes, workload.domain.shape),
        name_query=lambda query: boxes[query].label,
        scope=lambda query: workload.scope(rows[query]),
    )


def row_of_sides(workload: Workload, part: int, sides: Sequence[Side]) -> int:
    """The index of the query of a part with these members of each attribute in the whole workload.

    The constant row of a part is left out there.
    """
    pieces = [piece for piece, _ in workload.operator.stacked]
    factors = pieces[part].factored
    assert factors is not None
    places = [factor.row(*side) for factor, side in zip(factors, sides, strict=True)]
    heights = [factor.shape[0] for factor in factors]
    row = int(np.ravel_multi_index(places, heights))
    before = sum(piece.shape[0] for piece in pieces[:part])
    omitted = int(np.prod(heights, dtype=np.int64)) - pieces[part].shape[0]
    constants = [factor.constant_row for factor in factors]
    constant = int(np.ravel_multi_index([c for c in constants if c is not None], heights)) if omitted else row
    return before + row - (row > constant)
