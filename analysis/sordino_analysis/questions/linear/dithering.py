"""Numbers of a domain as a few types: devices round each number at random to one of two neighbouring knots.

Queries that are linear between knots have the same mean as without rounding, whatever the numbers are: a plan is made
for the types alone, however many numbers there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_shared.domains import Attribute, Domain, Number, Ordered, Ordinal
from sordino_shared.randomizers import Dithered
from sordino_shared.randomizers.dithered import InnerRandomizer


@dataclass(frozen=True, eq=False)
class Dithering:
    """`domain` is what devices hold, `knots` has the knots of each attribute, empty where it is taken as it is."""

    domain: Domain
    knots: tuple[tuple[int, ...], ...]

    @cached_property
    def types(self) -> Domain:
        """The product of the types: of an attribute with knots one for each of them, then `missing` and `other`."""
        return Domain(tuple(map(_types_of, self.domain.attributes, self.knots)))

    def randomizer(self, inner: InnerRandomizer) -> Dithered:
        """What a device does: it rounds, then randomizes the type with `inner`."""
        return Dithered(self.knots, inner)

    def shares_of_types(self, codes: NDArray[np.uint64]) -> Floats:
        """(types,) the expected share of each type for users with these members, (n, attributes); exact."""
        places = [_rounded(codes[:, axis].astype(np.int64), knots) for axis, knots in enumerate(self.knots)]
        cells = [(np.zeros(len(codes), dtype=np.int64), np.ones(len(codes)))]
        for size, (low, share) in zip(self.types.shape, places, strict=True):
            upper = ((np.minimum(low + 1, size - 1), share),) if share.any() else ()
            both = ((low, 1 - share), *upper)
            cells = [(cell * size + place, chance * part) for cell, chance in cells for place, part in both]
        total = np.zeros(self.types.size)
        for cell, chance in cells:
            total += np.bincount(cell, weights=chance, minlength=self.types.size)
        return total / len(codes)


def even_knots(last: int, levels: int, jumps: Sequence[int] = ()) -> tuple[int, ...]:
    """`levels` whole numbers from 0 to `last`, as evenly spaced as there are, and each jump twice.

    At a jump k the members below k and those from k on are apart.
    """
    even = {last * level // (levels - 1) for level in range(levels)}
    return tuple(sorted([*even.difference(jumps), *jumps, *jumps]))


def _types_of(attribute: Attribute, knots: Sequence[int]) -> Attribute:
    if not knots or not isinstance(attribute, (Ordered, Number)):
        return attribute
    edges = tuple(float(edge) for edge in range(1, len(knots)))
    missing, other = attribute.missing, attribute.other
    return Ordinal(attribute.name, edges, unit=attribute.unit, missing=missing, other=other)


def _rounded(members: NDArray[np.int64], knots: Sequence[int]) -> tuple[NDArray[np.int64], Floats]:
    """The lower type (n,) of each member, and the chance of the next one."""
    if not knots:
        return members, np.zeros(len(members))
    ends = np.array(knots, dtype=np.int64)
    last = len(ends) - 1
    low = np.searchsorted(ends, np.minimum(members, ends[-1]), side="right") - 1
    inside = low < last
    span = np.where(inside, ends[np.minimum(low + 1, last)] - ends[low], 1)
    share = np.where(inside, (members - ends[low]) / span, 0.0)
    # Members without order follow the last knot, one type each.
    beyond = members > ends[-1]
    return np.where(beyond, last + members - ends[-1], low), np.where(beyond, 0.0, share)
