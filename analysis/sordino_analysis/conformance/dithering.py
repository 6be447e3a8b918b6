"""Which types of the inner randomizer a value becomes, as docs/protocol.md has it, in fractions.

Nothing here calls the randomizer: knots are gone through one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import prod

from sordino_shared.randomizers import Dithered

Types = list[tuple[int, Fraction]]


def types_of(randomizer: Dithered, members: Sequence[int], sizes: Sequence[int]) -> Types:
    """(number of the inner cell, chance) of each cell that these members may become, the likeliest first.

    `members` are indices, one of each attribute of these `sizes`.
    """
    per_attribute = [_types_of_member(knots, member) for knots, member in zip(randomizer.knots, members, strict=True)]
    counts = type_counts(randomizer, sizes)
    found = []
    for combination in product(*per_attribute):
        number = 0
        for (place, _), count in zip(combination, counts, strict=True):
            number = number * count + place
        found.append((number, prod((chance for _, chance in combination), start=Fraction(1))))
    return sorted(found, key=lambda each: (-each[1], each[0]))


def type_counts(randomizer: Dithered, sizes: Sequence[int]) -> list[int]:
    """Types of each attribute: one for each knot, and those of `missing` and `other`; or all members."""
    pairs = zip(randomizer.knots, sizes, strict=True)
    return [len(knots) + size - knots[-1] - 1 if knots else size for knots, size in pairs]


def _types_of_member(knots: Sequence[int], member: int) -> Types:
    """(type of the attribute, chance) for a member of it."""
    if not knots:
        return [(member, Fraction(1))]
    if member > knots[-1]:
        return [(len(knots) + member - knots[-1] - 1, Fraction(1))]
    below = max(place for place, knot in enumerate(knots) if knot <= member)
    if knots[below] == member:
        return [(below, Fraction(1))]
    upper = Fraction(member - knots[below], knots[below + 1] - knots[below])
    return [(below, 1 - upper), (below + 1, upper)]
