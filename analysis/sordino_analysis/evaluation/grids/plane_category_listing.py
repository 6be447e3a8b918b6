"""Which rectangles beside categories are listed: all, or for each combination of members some that are spread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from sordino_analysis.evaluation.grids.beside_listing import only_listed, sides_beside
from sordino_analysis.evaluation.grids.plane_families import PlaneCategoryFamily, PlanePart, Rectangle
from sordino_analysis.questions.linear.boxes import Side
from sordino_analysis.questions.linear.workload import Workload

# Up to so many queries all are listed; of more, for each combination of members as many as these many have place for.
_ALL_LISTED = 512
# Parts of an attribute's intervals in whose middles queries are listed: the most that have place.
_SPREADS = (6, 3, 2, 1)


@dataclass(frozen=True)
class ListedRectangle:
    """A query of a part by its number, about one member of each attribute that it tells apart."""

    part: int
    members: tuple[int, ...]
    rectangle: Rectangle

    @property
    def place(self) -> tuple[int, Rectangle]:
        """The query whatever its members are."""
        return self.part, self.rectangle


def has_all_listed(family: PlaneCategoryFamily) -> bool:
    """Whether every query is listed."""
    return family.count <= _ALL_LISTED


def rectangles_of(family: PlaneCategoryFamily, part: PlanePart) -> list[Rectangle]:
    """The rectangles that are evaluated for any members: all of them, or some that are spread over all."""
    return part.all() if has_all_listed(family) else part.spread(_SPREADS[0])


def ends_of(family: PlaneCategoryFamily, part: PlanePart) -> list[Rectangle]:
    """Further ones at the ends of the attributes; none where all are listed."""
    return [] if has_all_listed(family) else part.at_the_ends(_SPREADS[0])


def listed_of(family: PlaneCategoryFamily) -> Iterator[ListedRectangle]:
    """The listed queries, one part after the other, and in a part one combination of members after the other."""
    for number, part in enumerate(family.parts):
        named = [size for size, apart in zip(family.sizes, part.apart, strict=True) if apart]
        combinations = part.categories(family.sizes)
        spreads = [times for times in _SPREADS if combinations * times**2 <= _ALL_LISTED] or _SPREADS[-1:]
        asked = part.all() if has_all_listed(family) else part.spread(spreads[0])
        for members, rectangle in product(product(*map(range, named)), asked):
            yield ListedRectangle(number, members, rectangle)


def listed_rectangles(workload: Workload, family: PlaneCategoryFamily) -> Workload:
    """The workload with the listed queries only; others are asked one by one."""
    return only_listed(workload, [(one.part, _sides(family, one)) for one in listed_of(family)])


def _sides(family: PlaneCategoryFamily, one: ListedRectangle) -> tuple[Side, ...]:
    return sides_beside(family.sizes, family.parts[one.part].apart, one.members, family.axes, one.rectangle)
