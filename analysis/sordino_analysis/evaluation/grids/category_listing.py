"""Which queries about categories are listed: all, or for each combination of members some that are spread over all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from sordino_analysis.evaluation.grids.category_families import CategoryFamily
from sordino_analysis.evaluation.grids.families import Query
from sordino_analysis.questions.linear.boxes import Box, Boxes, Side
from sordino_analysis.questions.linear.workload import Workload

# With more queries than the first, about as many as the second are listed, but no fewer than the third of each member.
_ALL_LISTED, _LISTED, _FEWEST = 512, 128, 3


@dataclass(frozen=True)
class Listed:
    """A query of a part by its number, about one member of each attribute that it tells apart."""

    part: int
    members: tuple[int, ...]
    query: Query

    @property
    def place(self) -> tuple[int, Query]:
        """The query whatever its members are."""
        return self.part, self.query


def listed_of(family: CategoryFamily) -> Iterator[Listed]:
    """The listed queries in the order of the workload."""
    for number, part in enumerate(family.parts):
        named = [size for size, apart in zip(family.sizes, part.apart, strict=True) if apart]
        combinations = int(np.prod(named, dtype=np.int64))
        queries = part.all() if family.count <= _ALL_LISTED else part.samples(max(_FEWEST, _LISTED // combinations))
        for members, query in product(product(*map(range, named)), queries):
            yield Listed(number, members, query)


def listed_categories(workload: Workload, family: CategoryFamily) -> Workload:
    """The workload with the listed queries only; others are asked one by one."""
    listed = list(listed_of(family))
    rows = [row_of(workload, family, one) for one in listed]
    boxes = [Box(workload.label(row), _sides(family, one)) for row, one in zip(rows, listed, strict=True)]
    return replace(
        workload,
        operator=Boxes(boxes, workload.domain.shape),
        name_query=lambda query: boxes[query].label,
        scope=lambda query: workload.scope(rows[query]),
    )


def _sides(family: CategoryFamily, one: Listed) -> tuple[Side, ...]:
    members = iter(one.members)
    start, stop = one.query
    sides: list[Side] = []
    for size, apart in zip(family.sizes, family.parts[one.part].apart, strict=True):
        member = next(members) if apart else None
        sides.append((0, size - 1) if member is None else (member, member))
    return (*sides[: family.axis], (start, stop - 1), *sides[family.axis :])


def row_of(workload: Workload, family: CategoryFamily, one: Listed) -> int:
    """The index of a listed query in the whole workload, whose constant row is left out."""
    return row_of_sides(workload, one.part, _sides(family, one))


def row_of_sides(workload: Workload, part: int, sides: Sequence[Side]) -> int:
    """The index of the query of a part with these members of each attribute in the whole workload."""
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
