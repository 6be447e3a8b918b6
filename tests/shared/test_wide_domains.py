"""Numbers and strings: members are those of the page, worked out again here, and every value has one."""

from __future__ import annotations

import hashlib
import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino_shared.domains import Categorical, Domain, Number, Text, TextCode, TextPrefix
from sordino_shared.errors import InvalidValue, OutsideDomain
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import RandomizedResponse
from tests.vectors.strings import NUMBERS, STRINGS, TEXT, TOKENS, lengths_of

STEPS = 2**32
LOAD = Number("load", 0.0, 10.0)
MISSED = Number("load", 0.0, 10.0, missing=True)

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.decimals() | st.fractions(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=4,
)


@given(anything)
def test_every_value_has_an_index_and_strict_agrees(value: object) -> None:
    for domain in (NUMBERS, STRINGS, Domain((LOAD,)), Domain((MISSED,))):
        codes = list(domain.codes(value))
        assert all(0 <= code < size for code, size in zip(codes, domain.shape, strict=True))
        try:
            strict = list(domain.codes(value, strict=True))
        except InvalidValue:
            continue
        assert strict == codes


@given(st.floats(allow_nan=False), st.floats(-1e300, 1e300), st.floats(-1e300, 1e300))
def test_a_number_is_the_floor_of_three_operations_of_doubles(value: float, one: float, two: float) -> None:
    low, high = sorted((one, two))
    if low == high:
        return
    member = Number("x", low, high).encode(value, strict=False)
    if value <= low:
        assert member == 0
    elif value >= high:
        assert member == STEPS
    else:
        assert member == math.floor(math.ldexp((value - low) / (high - low), 32))
        exact = (Fraction(value) - Fraction(low)) / (Fraction(high) - Fraction(low)) * STEPS
        assert abs(member - exact) <= 1 + exact / 2**50


@pytest.mark.parametrize(
    ("value", "member"),
    [
        (5, STEPS // 2),
        (Decimal("2.5"), STEPS // 4),
        (Fraction(1, 3), math.floor(1 / 3 / 10 * STEPS)),
        (10**400, STEPS),
        (-(10**400), 0),
        (Fraction(10**400), STEPS),
        (2**53 + 1, STEPS),
        (float("inf"), STEPS),
        (float("-inf"), 0),
        (" 5\n", STEPS // 2),
        ("1e999", STEPS),
        (5e-324, 0),
        (10 - 1e-9, STEPS - 1),
    ],
)
def test_numbers_of_every_form(value: Any, member: int) -> None:
    assert LOAD.encode(value, strict=False) == member


@pytest.mark.parametrize("value", [None, float("nan"), Decimal("NaN"), "x", True, b"5", [5]])
def test_what_is_no_number_is_missing_or_member_0(value: object) -> None:
    assert LOAD.encode(value, strict=False) == 0
    assert MISSED.encode(value, strict=False) == STEPS + 1
    with pytest.raises(OutsideDomain):
        LOAD.encode(value, strict=True)


def test_strict_refuses_what_is_clipped_and_an_app_is_told() -> None:
    for value in (-0.001, 10.001, float("inf")):
        with pytest.raises(OutsideDomain, match=r"from 0\.0 to 10\.0"):
            LOAD.encode(value, strict=True)
        assert Domain((LOAD,)).coerced(value) == {"load": "float counts as the nearest number in range"}
    assert [LOAD.encode(value, strict=True) for value in (0, 10)] == [0, STEPS]
    assert [MISSED.label(member) for member in (0, STEPS // 4, STEPS, STEPS + 1)] == ["0", "2.5", "10", "missing"]


def _words(tokens: tuple[bytes, ...], lengths: bytes) -> dict[Any, str]:
    """The words as text of bits by byte, token, END and NONE: a canonical code, by its definition."""
    things = [*(bytes([byte]) for byte in range(256)), *tokens, "END", "NONE"]
    order = sorted(range(len(things)), key=lambda place: (lengths[place], place))
    words, before = {}, ""
    for place in order:
        number = 0 if not before else int(before, 2) + 1
        word = f"{number:0{len(before)}b}" if before else ""
        word = word.ljust(lengths[place], "0")
        words[things[place]] = before = word
    return words


WORDS = _words(TOKENS, lengths_of(len(TOKENS)))


def _code(text: str | None, depth: int) -> str:
    """By the page: the longest token or the first byte, then the rest."""
    if text is None:
        return WORDS["NONE"].ljust(depth, "0")[:depth]
    left, code = text.encode(), ""
    while left:
        found = max((token for token in TOKENS if left.startswith(token)), key=len, default=left[:1])
        code, left = code + WORDS[found], left[len(found) :]
    return (code + WORDS["END"]).ljust(depth, "0")[:depth]


def test_the_words_are_a_whole_prefix_free_code() -> None:
    words = sorted(WORDS.values())
    assert not any(after.startswith(before) for before, after in pairwise(words))
    assert sum(Fraction(1, 2 ** len(word)) for word in words) == 1


@given(st.none() | st.text(st.characters(codec="utf-8")) | st.text("abcthe p/u\u00fc", max_size=12))
def test_members_of_a_string_are_those_of_the_page(value: str | None) -> None:
    from unicodedata import normalize

    code = _code(None if value is None else normalize("NFC", value), 24)
    packed = {
        end: int(code[:end].ljust(8 * -(-end // 8), "0") or "0", 2).to_bytes(-(-end // 8), "big") for end in (0, 13, 24)
    }
    salt, d = TEXT.salt, (24).to_bytes(2, "big")
    whole = hashlib.sha256(b"sordino text v1\0" + salt + d + packed[24]).digest()
    expected = [int.from_bytes(whole[:8], "big")]
    for first, last in ((0, 13), (13, 24)):
        ends = first.to_bytes(2, "big") + last.to_bytes(2, "big")
        hashed = hashlib.sha256(b"sordino prefix v1\0" + salt + ends + packed[first]).digest()
        bits = last - first
        expected.append((int.from_bytes(hashed[:8], "big") >> bits) * 2**bits + int(code[first:last], 2))
    assert list(STRINGS.codes(value)) == expected
    assert list(STRINGS.codes({"page": value})) == expected


def test_what_is_no_text_is_one_value_and_strict_refuses_it() -> None:
    none = list(STRINGS.codes(None))
    for value in (5, True, b"a", ["a"], "\ud800", {"a": "x"}, {}):
        assert list(STRINGS.codes(value)) == none
    assert list(STRINGS.codes("")) != none
    with pytest.raises(OutsideDomain):
        STRINGS.codes(5, strict=True)
    with pytest.raises(InvalidValue, match="names an attribute"):
        STRINGS.codes({"a": "x"}, strict=True)
    assert list(STRINGS.codes("\u00fc")) == list(STRINGS.codes("u\u0308"))
    plain = Domain((Text(**{**vars_of(TEXT), "normal": "none"}), *STRINGS.attributes[1:]))
    assert list(plain.codes("\u00fc")) != list(plain.codes("u\u0308"))
    assert STRINGS.coerced(5) == {"page": "int counts as the first member"}


def vars_of(text: Text) -> dict[str, Any]:
    return {name: getattr(text, name) for name in ("name", "normal", "depth", "salt", "tokens", "lengths")}


def test_strings_go_with_coarsened_alone() -> None:
    response = RandomizedResponse.for_guarantee(4, PureEpsilon.of(1))
    with pytest.raises(InvalidValue):
        DevicePart(STRINGS, PureEpsilon.of(1), response)
    with pytest.raises(InvalidValue, match="found by its domain"):
        TextPrefix("a", 0, 5).encode("x", strict=False)
    with pytest.raises(InvalidValue, match="nothing else"):
        Domain((TEXT, TextPrefix("a", 0, 24 - 4), Categorical("c", ("x", "y"))))


def test_a_code_of_one_length_is_the_numbers_of_the_words() -> None:
    """254 words of nine bits would leave room: 252 of eight and eight of nine fill 258 and two tokens exactly."""
    lengths = bytes([8] * 252 + [9] * 8)
    code = TextCode((b"aa", b"bb"), lengths)
    assert code.first_bits(b"\x07", 8) == 7
    assert code.first_bits(b"\xff", 9) == 2 * 252 + (255 - 252)
    with pytest.raises(InvalidValue, match="sum to 1"):
        TextCode((b"aa", b"bb"), bytes([8] * 253 + [9] * 7))
