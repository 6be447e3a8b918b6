"""Dithered randomizers: device parts, which type each number draws, and what is one past the ranges of knots."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from sordino_shared.domains import Categorical, Domain, EvenEdges, Integers, Number, Ordinal
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol.schema import to_plain
from sordino_shared.randomizers import Coarsened, Dithered, GridPartition, Level, LinearLabel, RandomizedResponse
from sordino_shared.randomness import Randomness

ONE, THREE = PureEpsilon.of(1), PureEpsilon.of(3)
STEP = 1 << 28
LEVELS = tuple(STEP * place for place in range(17))
LOAD = Number("load", 0.0, 60_000.0, unit="ms", missing=True)
COUNTRY = Categorical("country", ("DE", "FR"), other=True)
ERRORS = Integers("errors", -(2**63), 40 - 2**63, missing=True, other=True)
# Member 8 is the first of its part, so that the share from there on is exact.
JUMP = (0, 8, 8, 40)


def numbers() -> tuple[Domain, PureEpsilon, Dithered]:
    """A number on 17 even levels, and `missing`."""
    return Domain((LOAD,)), ONE, Dithered((LEVELS,), RandomizedResponse.for_guarantee(18, ONE))


def attributes() -> tuple[Domain, PureEpsilon, Dithered]:
    """Two dithered attributes and one that is taken as it is."""
    inner = RandomizedResponse.for_guarantee(3 * 3 * 6, ONE)
    return Domain((LOAD, COUNTRY, ERRORS)), ONE, Dithered(((0, 1 << 32), (), JUMP), inner)


def limits() -> tuple[Domain, PureEpsilon, Dithered]:
    """The most knots, the last one of the largest number, the least span, and jumps at both ends."""
    wide = Integers("wide", -(2**63), -(2**62) - 1)
    inside = [place << 50 for place in range(1, 511) for _ in range(2)]
    knots = (0, 0, *inside, 2**62 - 2, 2**62 - 1, 2**62 - 1)
    bins = Ordinal("bins", EvenEdges(0.0, 1.0, 1))
    inner = RandomizedResponse.for_guarantee(len(knots) * 2, ONE)
    return Domain((wide, bins)), ONE, Dithered((knots, (0, 1)), inner)


def dithered_parts() -> dict[str, tuple[Domain, PureEpsilon, Dithered]]:
    """Examples of device parts, by name; those of one attribute are among the randomizers, too."""
    return {"dithered": numbers(), "dithered_attributes": attributes(), "dithered_at_limits": limits()}


def sampled_part() -> tuple[Domain, Dithered]:
    """40 members to a span, which is no divisor of a byte, a jump, and a member that has no order."""
    domain = Domain((Integers("delay", 0, 60, missing=True),))
    return domain, Dithered(((0, 40, 40, 60),), RandomizedResponse.for_guarantee(5, THREE))


class Number64(Randomness):
    """Words of 64 bits in order, as little-endian bytes; how many were taken."""

    def __init__(self, *words: int) -> None:
        self._left = list(words)
        self.taken = 0

    def bytes(self, count: int) -> bytes:
        assert count == 8
        self.taken += 1
        return self._left.pop(0).to_bytes(8, "little")


def type_of(knots: tuple[int, ...], member: int, drawn: int | None) -> int:
    """By the page, knot by knot."""
    if member > knots[-1]:
        return len(knots) + member - knots[-1] - 1
    [*_, place] = (place for place, knot in enumerate(knots) if knot <= member)
    if place == len(knots) - 1:
        return place
    assert drawn is not None
    return place + 1 if drawn < member - knots[place] else place


def spans(knots: tuple[int, ...]) -> list[tuple[int, int]]:
    """The knots that have members above them, and the next ones."""
    return [(low, high) for low, high in pairwise(knots) if high > low]


def draws(knots: tuple[int, ...], size: int) -> list[dict[str, Any]]:
    """Members at both ends of every span and in it, each with the numbers around the one that decides."""
    found: list[tuple[int, int | None]] = []
    for low, high in spans(knots):
        span = high - low
        for above in sorted({0, min(1, span - 1), span // 3, span - 1}):
            deciding = {0, max(above - 1, 0), above, span - 1}
            found += [(low + above, drawn) for drawn in sorted(deciding)]
    found += [(member, None) for member in range(knots[-1], size)]
    return [
        {"member": str(member), "drawn": None if drawn is None else str(drawn), "type": type_of(knots, member, drawn)}
        for member, drawn in found
    ]


def dithered() -> dict[str, Any]:
    """`good/dithered.json`: the type that each number draws, by knots."""
    cases = [("levels", LEVELS, (1 << 32) + 2), ("one bit", (0, 1 << 32), (1 << 32) + 1)]
    cases += [("jump", JUMP, 43), ("jumps at the ends", (0, 0, 7, 7), 8), ("every member", (0, 1, 2, 3), 5)]
    cases += [("largest", (0, 1 << 61, (1 << 62) - 1), 1 << 62), ("one member", (0, 0), 2)]
    vectors = [
        {"name": name, "knots": list(map(str, knots)), "members": str(size), "draws": draws(knots, size)}
        for name, knots, size in cases
    ]
    return {"good/dithered.json": {"vectors": vectors}}


Change = tuple[str, tuple[str | int, ...], list[Any], str]


def changes_of_dithered() -> list[Change]:
    """(example, place, wrong values, why): one past each range of knots, and inner randomizers for other types."""
    knots, inner, one = ("randomizer", "knots"), ("randomizer", "inner"), ("dithered", "dithered_attributes")
    last, other = 1 << 32, to_plain(attributes()[2])
    fields = to_plain(numbers()[2])
    level = Level(1 << 32, GridPartition((1,)), LinearLabel(1), b"\x01")
    grids = to_plain(Coarsened.for_guarantee((18,), (level,), ONE))
    many = [0, *range(1, 1025), last]
    return [
        (one[0], knots, [[], [[*LEVELS]] * 2, [[]] * 256], "an array for each attribute, 1 to 255 of them"),
        (one[0], (*knots, 0), [[0], [last], many], "2 to 1,025 knots"),
        (one[0], (*knots, 0), [[1, *LEVELS[1:]], [-1, *LEVELS[1:]], [0.0, *LEVELS[1:]]], "the first knot is 0"),
        (one[0], (*knots, 0), [[*LEVELS[:-1], last - 1], [*LEVELS[:-1], last + 1]], "the last ordered member"),
        (one[0], (*knots, 0), [[*LEVELS[:-1], 2**62], [*LEVELS[:-1], last, last + 1]], "0 to 2^62 − 1, to the last"),
        (one[0], (*knots, 0), [[0, *LEVELS[2:0:-1], *LEVELS[3:]]], "knots do not fall"),
        (one[0], (*knots, 0), [[0, 0, 0, *LEVELS[3:]], [*LEVELS[:7], *[LEVELS[7]] * 3, *LEVELS[10:]]], "at most twice"),
        (one[1], (*knots, 1), [[0, 1], [0, 2]], "an attribute without an order has no knots"),
        (one[1], (*knots, 2), [[0, 8, 8, 41], [0, 8, 8, 42], []], "`missing` and `other` are no ordered members"),
        (one[0], inner, [fields, grids], "no dithered and no coarsened randomizer inside"),
        (one[0], (*inner, "size"), [17, 19], "a type for each knot, one for `missing`"),
        (one[1], (*inner, "size"), [53, 55, 2 * 3 * 6], "the product of the types"),
        (
            one[1],
            ("randomizer",),
            [fields, other | {"knots": other["knots"][::-1]}],
            "knots for the domain's attributes",
        ),
    ]
