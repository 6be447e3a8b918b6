"""What a query is about, in indices of members and in values, which a program reads instead of a label."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.attribute_bounds import ANY_NUMBER, AttributeBounds
from sordino_shared.domains import Attribute, Domain, Integers, Ordered, Ordinal

Side = tuple[int, int]


@dataclass(frozen=True)
class QueryScope:
    """The kind of a query and, where it is the share of a box, the first and the last member of each attribute in it.

    `sides` is None for a query that is no such share: a parity, or a row of a matrix that is not 0 and 1 on a box.
    `unit` is that of the answer where the question says so.
    """

    kind: str
    sides: tuple[Side, ...] | None
    unit: str | None = None


def bounds_of(domain: Domain, sides: Iterable[Side] | None) -> tuple[AttributeBounds, ...]:
    """The values that a box holds, of each attribute that it does not hold as a whole."""
    if sides is None:
        return ()
    pairs = zip(domain.attributes, sides, strict=True)
    return tuple(_bounds(attribute, *side) for attribute, side in pairs if side != (0, attribute.size - 1))


def joint_kind(kinds: Iterable[str]) -> str:
    """The kind of a product: the one kind of its factors, `total` apart, or their kinds with × between."""
    distinct = dict.fromkeys(kind for kind in kinds if kind != "total")
    return "×".join(distinct) or "total"


def sides_of_row(domain: Domain, row: Floats) -> tuple[Side, ...] | None:
    """The box that a row (k,) of a matrix is 1 on and 0 elsewhere; None where there is none.

    A box has an interval of the bins of an ordered attribute, and of each attribute one member or all of them.
    """
    if not np.isin(row, (0.0, 1.0)).all():
        return None
    cells = np.nonzero(row.reshape(domain.shape))
    if not len(cells[0]):
        return None
    sides = tuple((int(held.min()), int(held.max())) for held in cells)
    volume = np.prod([last - first + 1 for first, last in sides])
    boxed = all(_is_side(attribute, *side) for attribute, side in zip(domain.attributes, sides, strict=True))
    return sides if boxed and volume == len(cells[0]) else None


def whole_sides(domain: Domain) -> list[Side]:
    """All members of every attribute."""
    return [(0, size - 1) for size in domain.shape]


def sides_of_cell(domain: Domain, support: Sequence[int], members: Iterable[int]) -> tuple[Side, ...]:
    """The box of one member of each attribute of `support`, and all members of the others."""
    sides = whole_sides(domain)
    for attribute, member in zip(support, members, strict=True):
        sides[attribute] = (int(member), int(member))
    return tuple(sides)


def _is_side(attribute: Attribute, first: int, last: int) -> bool:
    if first == last or (first, last) == (0, attribute.size - 1):
        return True
    return isinstance(attribute, Ordered) and last < attribute.bins


def _bounds(attribute: Attribute, first: int, last: int) -> AttributeBounds:
    if not isinstance(attribute, Ordered) or first >= attribute.bins:
        return AttributeBounds(attribute=attribute.name, label=attribute.label(first))
    low, high = _ends(attribute, first, last)
    label = ANY_NUMBER if low is None and high is None else None
    return AttributeBounds(attribute=attribute.name, low=low, high=high, label=label, unit=attribute.unit or None)


def _ends(attribute: Ordered, first: int, last: int) -> tuple[int | float | None, int | float | None]:
    match attribute:
        case Integers():
            return attribute.low + first, attribute.low + last
        case Ordinal(edges=edges):
            return edges[first - 1] if first else None, edges[last] if last < attribute.bins - 1 else None
