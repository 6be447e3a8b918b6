"""A number on a few knots: rounded up or down at random, so that its mean stays, then randomized as one of few types.

The law of a report is a mixture of the inner randomizer's columns: whatever knots there are, no ratio of likelihoods is
above the inner one. Every query that is linear between knots has the same mean as without rounding (non-subtractive
dither: Wannamaker, Lipshitz, Vanderkooy and Wright 2000).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

from sordino_shared._checks import check_range
from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers.base import Randomizer, check_codes
from sordino_shared.randomizers.finite_kernel import FiniteKernel
from sordino_shared.randomizers.orbit_kernel import MAX_ATTRIBUTES, OrbitKernel
from sordino_shared.randomizers.pair import Pair
from sordino_shared.randomizers.randomized_response import RandomizedResponse
from sordino_shared.randomizers.seeded_direction import SeededDirection
from sordino_shared.randomizers.subset_mixture import SubsetMixture
from sordino_shared.randomizers.subset_selection import SubsetSelection
from sordino_shared.randomness import Randomness

MAX_KNOTS = 1025
MAX_KNOT = (1 << 62) - 1
# Types of an attribute that follow its knots: `missing`, `other`.
_MOST_TRAILING = 2

InnerRandomizer = (
    RandomizedResponse | SubsetSelection | SubsetMixture | FiniteKernel | SeededDirection | OrbitKernel | Pair
)


@dataclass(frozen=True)
class Dithered(Randomizer):
    """A member U between two knots becomes the upper one with chance (U − lower)/(upper − lower); `inner` answers.

    `knots` are one array for each attribute: empty where the attribute is taken as it is, else members from 0 to the
    last ordered one. A knot that is written twice is a jump: what is below it goes to the first of both, the knot
    itself and what is above to the second. A dithered attribute has one type for each knot, then one for `missing` and
    one for `other` where it has these members; the inner randomizer is for the types of all attributes.

    Payloads, alphabet and statistic are the inner randomizer's. Its fields do not tell how many values an attribute
    has, so that cells have numbers here where there is one attribute only; `DevicePart.randomize` takes codes.
    """

    kind: ClassVar[str] = "dithered"
    knots: tuple[tuple[int, ...], ...]
    inner: InnerRandomizer

    def __post_init__(self) -> None:
        check_range(len(self.knots), 1, MAX_ATTRIBUTES, "number of attributes")
        for knots in self.knots:
            if knots:
                _check_knots(knots)
        if len(self.knots) == 1:
            self.check_domain((self.size,))

    @property
    def accumulator(self) -> str:  # type: ignore[override]
        return self.inner.accumulator

    @property
    def size(self) -> int:
        """Number of cells; raises `InvalidValue` for several attributes, whose sizes the domain alone has."""
        if len(self.knots) > 1:
            raise InvalidValue("cells of several dithered attributes have no numbers here: give codes", len(self.knots))
        [knots] = self.knots
        return self.inner.size - len(knots) + knots[-1] + 1 if knots else self.inner.size

    @property
    def payload_bytes(self) -> int:
        return self.inner.payload_bytes

    @property
    def accumulator_size(self) -> int:
        return self.inner.accumulator_size

    @property
    def verified_entries(self) -> int:
        return self.inner.verified_entries + sum(map(len, self.knots))

    def likelihood_ratio(self) -> tuple[int, int] | None:
        # Of mixtures of columns no ratio is above the largest of the columns.
        return self.inner.likelihood_ratio()

    def type_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The inner randomizer's types of each attribute of a domain of this shape; raises `InvalidValue`."""
        if len(shape) != len(self.knots):
            raise InvalidValue(
                f"the randomizer has knots for {len(self.knots)} attributes, the domain has {len(shape)}", len(shape)
            )
        return tuple(map(_types_of, self.knots, shape))

    def check_domain(self, shape: tuple[int, ...]) -> None:
        """The last knots are the attributes' last ordered members, and the inner randomizer is for their types."""
        self.inner.check_domain(self.type_shape(shape))

    def check_ordered(self, ordered: Sequence[int]) -> None:
        """Raise `InvalidValue` unless the knots end at the last of so many ordered members, 0 for no order."""
        for place, (knots, members) in enumerate(zip(self.knots, ordered, strict=True)):
            if knots and knots[-1] != members - 1:
                has = f"its last ordered member is {members - 1}" if members else "it has no ordered members"
                raise InvalidValue(f"the knots of attribute {place} end at {knots[-1]}: {has}", knots[-1])

    @property
    def has_coin(self) -> bool:
        return self.inner.has_coin

    def randomize(self, cell: int, randomness: Randomness, coin: Randomness | None = None) -> bytes:
        """As every randomizer does, for one attribute."""
        self._check_cell(cell)
        return self.randomize_codes((cell,), (self.size,), randomness, coin)

    def agrees(self, payload: bytes, coin: Randomness) -> bool:
        return self.inner.agrees(payload, coin)

    def randomize_codes(
        self, codes: Sequence[int], shape: tuple[int, ...], randomness: Randomness, coin: Randomness | None = None
    ) -> bytes:
        """One payload: a type of each attribute, in their order, then what the inner randomizer draws for these."""
        types = self.type_shape(shape)
        check_codes(codes, shape)
        drawn = [
            _dithered(knots, code, randomness) if knots else code for knots, code in zip(self.knots, codes, strict=True)
        ]
        return self.inner.randomize_codes(drawn, types, randomness, coin)


def _dithered(knots: Sequence[int], member: int, randomness: Randomness) -> int:
    """The type of a member: the place of the knot below it or above it, or that of a member without order.

    A number is drawn on a knot too, and where the next one is the neighbour: only the last knot needs none.
    """
    if member > knots[-1]:
        return len(knots) + member - knots[-1] - 1
    place = bisect_right(knots, member) - 1
    if place == len(knots) - 1:
        return place
    drawn = randomness.below(knots[place + 1] - knots[place])
    return place + (drawn < member - knots[place])


def _types_of(knots: Sequence[int], size: int) -> int:
    """Types of an attribute with so many members."""
    if not knots:
        return size
    trailing = size - 1 - knots[-1]
    if not 0 <= trailing <= _MOST_TRAILING:
        raise InvalidValue(
            f"knots end at {knots[-1]}, the last ordered member; at most `missing` and `other` follow it, not the rest "
            f"of {size} members",
            size,
        )
    return len(knots) + trailing


def _check_knots(knots: tuple[int, ...]) -> None:
    check_range(len(knots), 2, MAX_KNOTS, "number of knots")
    for knot in knots:
        check_range(knot, 0, MAX_KNOT, "knot")
    if knots[0] != 0:
        raise InvalidValue(f"the first knot is 0, not {knots[0]}", knots)
    if any(low > high for low, high in pairwise(knots)):
        raise InvalidValue("knots do not fall", knots)
    if any(first == third for first, third in zip(knots, knots[2:], strict=False)):
        raise InvalidValue("a knot is written once, or twice for a jump", knots)
