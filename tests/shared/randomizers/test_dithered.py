"""Dithered randomizers: means that stay, ε that is the inner one, knots that are refused, the types of every member."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from sordino_shared.audit import check_guarantee, prove_epsilon, verification_memory
from sordino_shared.domains import Categorical, Domain, Hashed, Integers, Number, Ordinal
from sordino_shared.errors import GuaranteeNotMet, InvalidValue, MalformedDocument
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart
from sordino_shared.protocol.schema import to_plain
from sordino_shared.randomizers import Coarsened, Dithered, GridPartition, Level, LinearLabel, RandomizedResponse
from sordino_shared.randomness import Randomness, ShakeRandomness

ONE = PureEpsilon.of(1)


class Counted(Randomness):
    """Words in order, little-endian; `taken` of them so far."""

    def __init__(self, *words: int) -> None:
        self._words, self.taken = words, 0

    def bytes(self, count: int) -> bytes:
        assert count == 8
        self.taken += 1
        return self._words[self.taken - 1].to_bytes(8, "little")


def response(types: int) -> RandomizedResponse:
    return RandomizedResponse.for_guarantee(types, ONE)


def exact_types(knots: tuple[int, ...], size: int) -> list[list[Fraction]]:
    """The chance of each type for each member, by drawing every number below the span once."""
    dithered = Dithered((knots,), response(len(knots) + size - 1 - knots[-1]))
    found = []
    for member in range(size):
        [*_, place] = (at for at, knot in enumerate(knots) if knot <= member)
        span = 1 if member >= knots[-1] else knots[place + 1] - knots[place]
        counts = [Fraction(0)] * dithered.inner.size
        for drawn in range(span):
            words = (drawn, 0) if member < knots[-1] else (0,)
            # The inner draw of a word of zeros is the type itself.
            source = Counted(*words)
            counts[dithered.randomize(member, source)[0]] += Fraction(1, span)
            assert source.taken == len(words)
        found.append(counts)
    return found


@pytest.mark.parametrize("knots", [(0, 7), (0, 2, 3, 7), (0, 33, 66, 99), (0, 85, 170, 255), tuple(range(8))])
def test_the_mean_of_any_query_that_is_linear_between_knots_stays(knots: tuple[int, ...]) -> None:
    """R = 7, 99, 255: exactly, in rationals; also of a query with a bend at every knot."""
    bent = [Fraction(place**2 - 3, 2) for place in range(len(knots))]
    for values in (list(map(Fraction, knots)), bent):
        for member, chances in enumerate(exact_types(knots, knots[-1] + 1)):
            [*_, place] = (at for at, knot in enumerate(knots) if knot <= member)
            upper = min(place + 1, len(knots) - 1)
            share = Fraction(member - knots[place], max(knots[upper] - knots[place], 1))
            wanted = values[place] + share * (values[upper] - values[place])
            assert sum(p * value for p, value in zip(chances, values, strict=True)) == wanted


def test_a_jump_separates_what_is_below_it() -> None:
    """The share from member 4 on is exact: the first of two places is reached from below only."""
    for member, chances in enumerate(exact_types((0, 4, 4, 6), 8)):
        at_or_above = chances[2] + chances[3]
        assert at_or_above == (1 if 4 <= member <= 6 else 0)
        assert chances[4] == (1 if member == 7 else 0)


def test_nothing_is_drawn_at_the_last_knot_and_beyond_and_once_everywhere_else() -> None:
    knots = (0, 1, 5, 5, 9)
    dithered = Dithered((knots,), response(7))
    for member in range(11):
        source = Counted(0, 0)
        dithered.randomize(member, source)
        assert source.taken == (2 if member < 9 else 1)


def test_a_word_above_the_last_multiple_of_the_span_is_drawn_again() -> None:
    dithered = Dithered(((0, 3),), response(2))
    assert 2**64 % 3 == 1
    for words, sent in (((2**64 - 1, 0, 0), 1), ((2**64 - 1, 2**64 - 1, 2, 0), 0), ((2**64 - 2, 0), 0)):
        source = Counted(*words)
        assert dithered.randomize(1, source) == bytes([sent])
        assert source.taken == len(words)


def test_attributes_are_gone_through_in_order_and_then_the_inner_one_draws() -> None:
    dithered = Dithered(((0, 4), (), (0, 2)), response(2 * 3 * 3))
    source = Counted(1, 0, 0)
    # Types 1 (1 < 2), 2 and 1 (0 < 1): cell 1 · 9 + 2 · 3 + 1.
    assert dithered.randomize_codes((2, 2, 1), (5, 3, 4), source) == bytes([16])
    assert source.taken == 3
    # `missing` of the third attribute has its own type and draws nothing.
    assert dithered.randomize_codes((2, 0, 3), (5, 3, 4), Counted(3, 0)) == bytes([2])


def test_epsilon_is_that_of_the_inner_randomizer() -> None:
    """Mixtures of columns written out, over all members: no ratio is above the proved one, and it is reached."""
    knots, inner = (0, 3, 7), response(4)
    whole = 1 << inner.bits
    columns = [
        [Fraction(inner.own_weight if y == x else inner.other_weight, whole) for y in range(4)] for x in range(4)
    ]
    laws = [
        [sum(p * columns[x][y] for x, p in enumerate(chances)) for y in range(4)] for chances in exact_types(knots, 9)
    ]
    worst = max(one[y] / two[y] for one, two in product(laws, laws) for y in range(4))
    dithered = Dithered((knots,), inner)
    assert Fraction(*dithered.likelihood_ratio()) == worst
    part = DevicePart(Domain((Integers("a", 0, 7, missing=True),)), ONE, dithered)
    assert check_guarantee(part) == prove_epsilon(inner) == ONE
    with pytest.raises(GuaranteeNotMet):
        check_guarantee(DevicePart(part.domain, PureEpsilon(ONE.nano - 1), dithered))


DOMAINS = {
    "number": (Number("x", 0.0, 1.0), (0, 1 << 31, 1 << 32), 3),
    "number or missing": (Number("x", 0.0, 1.0, missing=True), (0, 1 << 32), 3),
    "integers": (Integers("x", -5, 5, missing=True, other=True), (0, 10), 4),
    "bins": (Ordinal("x", (1.0, 2.0, 3.0), other=True), (0, 3), 3),
}


@pytest.mark.parametrize("name", DOMAINS)
def test_what_is_ordered_may_be_dithered(name: str) -> None:
    attribute, knots, types = DOMAINS[name]
    part = DevicePart(Domain((attribute,)), ONE, Dithered((knots,), response(types)))
    assert DevicePart.read(part.content) == part
    assert part.randomizer.size == attribute.size
    assert verification_memory(part) < 1 << 21
    for code in (0, attribute.bins - 1, attribute.size - 1):
        assert len(part.randomize([code], ShakeRandomness(code))) == 1
    with pytest.raises(InvalidValue, match="last ordered member"):
        DevicePart(Domain((attribute,)), ONE, Dithered(((*knots[:-1], knots[-1] - 1),), response(types + 1)))


@pytest.mark.parametrize("attribute", [Categorical("x", tuple("abcdef")), Hashed("x", 4, bytes(16))])
def test_what_has_no_order_may_not(attribute: Categorical | Hashed) -> None:
    with pytest.raises(InvalidValue, match="no ordered members"):
        DevicePart(Domain((attribute,)), ONE, Dithered(((0, attribute.size - 1),), response(2)))


REFUSED = {
    "no attribute": ((), "from 1 to 255"),
    "too many attributes": (((),) * 256, "from 1 to 255"),
    "one knot": (((0,),), "from 2 to 1025"),
    "too many knots": ((tuple(range(1026)),), "from 2 to 1025"),
    "below 0": (((-1, 4),), "from 0 to"),
    "above 2^62 − 1": (((0, 1 << 62),), "from 0 to 4611686018427387903"),
    "no integer": (((0, 4.0),), "an integer"),
    "a boolean": (((False, 4),), "an integer"),
    "first above 0": (((1, 4),), "first knot is 0"),
    "falling": (((0, 3, 2, 4),), "do not fall"),
    "three times": (((0, 2, 2, 2, 4),), "twice for a jump"),
    "other types": (((0, 2, 4),), "the rest of"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_knots_past_a_range_are_refused(name: str) -> None:
    knots, message = REFUSED[name]
    with pytest.raises(InvalidValue, match=message):
        Dithered(knots, response(7))


def test_what_does_not_fit_the_domain_is_refused() -> None:
    both = Dithered(((0, 4), ()), response(6))
    both.check_domain((5, 3))
    for shape in ((5,), (5, 3, 1), (5, 4), (4, 3), (8, 2), (6, 3)):
        with pytest.raises(InvalidValue):
            both.check_domain(shape)
    with pytest.raises(InvalidValue, match="have no numbers here"):
        both.randomize(0, ShakeRandomness(1))
    with pytest.raises(InvalidValue, match="code"):
        both.randomize_codes((5, 0), (5, 3), ShakeRandomness(1))


def test_no_coarsened_or_dithered_randomizer_is_inside() -> None:
    grids = Coarsened.for_guarantee((2,), (Level(1 << 32, GridPartition((1,)), LinearLabel(1), b"\x01"),), ONE)
    part = DevicePart(Domain((Integers("a", 0, 4),)), ONE, Dithered(((0, 4),), response(2)))
    for inner in (grids, part.randomizer):
        wrong = part.content_with(randomizer=to_plain(part.randomizer) | {"inner": to_plain(inner)})
        with pytest.raises(MalformedDocument, match="kind must be one of"):
            DevicePart.read(wrong)
