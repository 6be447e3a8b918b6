"""Attributes that need no list: exact edges, integers and salted hashes; every value has an index in production."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.domains import MAX_MEMBERS, Attribute, Categorical, Domain, EvenEdges, Hashed, Integers, Ordinal
from sordino_shared.errors import InvalidValue, OutsideDomain
from sordino_shared.protocol.schema import from_plain, to_plain
from sordino_shared.randomness import SystemRandomness

SALT = bytes(range(16))
DELAYS = Integers("ms", -4, 65_531, unit="ms")
OPEN_DELAYS = Integers("ms", -4, 65_531, unit="ms", missing=True, other=True)
URLS = Hashed("url", 20, SALT)
ATTRIBUTES: list[Attribute] = [
    DELAYS,
    OPEN_DELAYS,
    URLS,
    Hashed("url", 64, SALT),
    Hashed("url", 63, SALT, missing=True, other=True),
    Ordinal("x", EvenEdges(-3.5, 0.7, 11)),
]
doubles = st.floats(-1e6, 1e6).filter(lambda x: abs(x) > 1e-200 or x == 0)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.decimals() | st.fractions(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=4,
)


@given(doubles, st.floats(1e-3, 1e3), st.integers(1, 50), st.data())
def test_even_edges_are_the_listed_exact_ones(start: float, step: float, count: int, data: Any) -> None:
    edges = EvenEdges(start, step, count)
    exact = [Fraction(start) + i * Fraction(step) for i in range(count)]
    near = data.draw(st.integers(-1, count))
    for value in (
        start + near * step,
        np.nextafter(start + near * step, np.inf),
        Fraction(start) + near * Fraction(step),
    ):
        assert edges.below(value) == bisect_left(exact, value)
    assert [edges.below(edge) for edge in exact] == list(range(count))
    assert list(edges) == list(map(float, exact))
    assert (edges.below(float("inf")), edges.below(-float("inf"))) == (count, 0)


def test_whole_steps_are_the_same_as_a_list() -> None:
    listed, even = Ordinal("x", (-1.0, 1.0, 3.0), missing=True), Ordinal("x", EvenEdges(-1, 2, 3), missing=True)
    assert [even.label(i) for i in range(even.size)] == [listed.label(i) for i in range(listed.size)]
    for value in (-2, -1, 0, 1.5, 3, 3.5, None, "x", "2", 10**400, Decimal("2.5")):
        assert even.encode(value, strict=False) == listed.encode(value, strict=False)


@given(anything)
def test_every_value_has_an_index_and_strict_agrees(value: object) -> None:
    for attribute in ATTRIBUTES:
        index = attribute.encode(value, strict=False)
        assert 0 <= index < attribute.size
        assert isinstance(attribute.label(index), str)
        domain, held = Domain((attribute,)), {attribute.name: value}
        assert domain.codes(held)[0] == index
        try:
            assert domain.codes(held, strict=True)[0] == index
            assert domain.coerced(held) == {}
        except OutsideDomain:
            assert domain.coerced(held)


@pytest.mark.parametrize(
    ("value", "closed", "open_"),
    [
        (-4, 0, 0),
        (-3.5, 1, 1),
        (65_531, 65_535, 65_535),
        (65_530.5, 65_535, 65_535),
        (65_531.5, 65_535, 65_537),
        (10**400, 65_535, 65_537),
        (float("-inf"), 0, 65_537),
        (-5, 0, 65_537),
        ("7", 11, 11),
        ("7.5", 12, 12),
        (Fraction(15, 2), 12, 12),
        (np.int64(7), 11, 11),
        (None, 0, 65_536),
        ("soon", 0, 65_536),
        (True, 0, 65_536),
    ],
)
def test_integers_round_up_and_end_at_the_nearest(value: object, closed: int, open_: int) -> None:
    assert DELAYS.encode(value, strict=False) == closed
    assert OPEN_DELAYS.encode(value, strict=False) == open_


@pytest.mark.parametrize("value", [-5, 65_532, 0.5, "7", None, True, float("inf")])
def test_strict_takes_whole_numbers_in_range_only(value: object) -> None:
    with pytest.raises(OutsideDomain, match="'ms'"):
        DELAYS.encode(value, strict=True)
    assert DELAYS.encode(7.0, strict=True) == 11


def test_large_integers_are_exact() -> None:
    numbers = Integers("id", 1, 2**62)
    for value in (2**62, 2**53 + 1, str(2**53 + 1)):
        assert numbers.encode(value, strict=False) == int(value) - 1
    assert numbers.label(2**53) == str(2**53 + 1)


def test_a_hash_is_the_first_bits_of_the_salted_digest() -> None:
    for text in ("", "https://example.org/ü", "a" * 10_000):
        digest = int.from_bytes(hashlib.sha256(SALT + text.encode()).digest(), "big")
        for bits in (1, 7, 20, 64):
            assert Hashed("url", bits, SALT).encode(text, strict=True) == digest >> (256 - bits)
    assert URLS.label(5) == "hash 00005"


@pytest.mark.parametrize("value", ["\ud800", "a\udfff", b"a", 5, ["a"]])
def test_what_has_no_utf8_is_not_listed(value: object) -> None:
    with pytest.raises(OutsideDomain, match="other: true"):
        URLS.encode(value, strict=True)
    assert URLS.encode(value, strict=False) == 0
    assert Hashed("url", 20, SALT, missing=True, other=True).encode(value, strict=False) == 2**20 + 1


def test_each_plan_draws_a_salt_of_its_own() -> None:
    domain = Domain((Hashed("url", 64), DELAYS, Hashed("city", 8)))
    assert domain.unsalted == ("url", "city")
    with pytest.raises(InvalidValue, match="url, city"):
        domain.check_salted()
    with pytest.raises(InvalidValue, match="drawn when a plan is made"):
        domain.codes(("a", 1, "b"))
    first, second = domain.salted(SystemRandomness()), domain.salted(SystemRandomness())
    first.check_salted()
    salts = {a.salt for d in (first, second) for a in d.attributes if isinstance(a, Hashed)}
    assert len(salts) == 4
    assert first.salted(SeededRandomness(1)) == first


def test_documents_are_small_whatever_the_size() -> None:
    domain = Domain((Integers("id", 1, 2**62), Ordinal("x", EvenEdges(0, 1, 2**48)), Hashed("url", 64, SALT)))
    assert domain.size > 2**170
    assert from_plain(Domain, to_plain(domain)) == domain


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Domain((Integers("k", 1, 0),)), "no members"),
        (lambda: Domain((Integers("k", 1, 1),)), "at least two"),
        (lambda: Integers("k", 0, 2**64 - 1), "9223372036854775807"),
        (lambda: Integers("k", -(2**63), 2**63 - 1), "`hashed`"),
        (lambda: Integers("k", 0.0, 5), "must be an integer"),  # type: ignore[arg-type]
        (lambda: EvenEdges(0, 0, 5), "above 0"),
        (lambda: EvenEdges(0, -1, 5), "above 0"),
        (lambda: EvenEdges(0, 1, 0), "count of edges"),
        (lambda: EvenEdges(1e16, 0.5, 3), "larger step"),
        (lambda: EvenEdges(0, 1e308, 3), "beyond every double"),
        (lambda: EvenEdges(0, float("nan"), 3), "finite"),
        (lambda: Hashed("h", 0), "from 1 to 64"),
        (lambda: Hashed("h", 65), "from 1 to 64"),
        (lambda: Hashed("h", 64, missing=True), "63 bits"),
        (lambda: Hashed("h", 8, b"salt"), "16 bytes"),
        (lambda: Categorical("c", ("a",) * 10**7), "use `hashed`"),
        (lambda: Ordinal("c", (0.0,) * 10**6), "{start, step, count}"),
        (lambda: Domain((Ordinal("c", tuple(range(MAX_MEMBERS))),)), "{start, step, count}"),
    ],
)
def test_what_cannot_be_is_refused_with_advice(build: Any, message: str) -> None:
    with pytest.raises(InvalidValue) as raised:
        build()
    assert message in str(raised.value)
