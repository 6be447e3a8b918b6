"""Which queries about categories are listed: all, or for each combination of members some that are spread over all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from sordino_analysis.evaluation.grids.beside_listing import only_listed, row_of_sides, sides_beside
from sordino_analysis.evaluation.grids.category_families import CategoryFamily
from sordino_analysis.evaluation.grids.families import Query
from sordino_analysis.questions.linear.boxes import Side
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
    """The listed queries, one part after the other, and in a part one combination of members after the other."""
    for number, part in enumerate(family.parts):
        named = [size for size, apart in zip(family.sizes, part.apart, strict=True) if apart]
        combinations = part.categories(family.sizes)
        queries = part.all() if family.count <= _ALL_LISTED else part.samples(max(_FEWEST, _LISTED // combinations))
        for members, query in product(product(*map(range, named)), queries):
            yield Listed(number, members, query)


def listed_categories(workload: Workload, family: CategoryFamily) -> Workload:
    """The workload with the listed queries only; others are asked one by one."""
    return only_listed(workload, [(one.part, _sides(family, one)) for one in listed_of(family)])


def _sides(family: CategoryFamily, one: Listed) -> tuple[Side, ...]:
    return sides_beside(family.sizes, family.parts[one.part].apart, one.members, (family.axis,), (one.query,))


def row_of(workload: Workload, family: CategoryFamily, one: Listed) -> int:
    """The index of a listed query in the whole workload."""
    return row_of_sides(workload, one.part, _sides(family, one))
