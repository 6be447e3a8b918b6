"""Domains: every value has a cell in production, and the tests of an app hear of what is not listed."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino_analysis.vectorized.domains import codes_many, encode_many
from sordino_shared.domains import Attribute, Categorical, Domain, Ordinal
from sordino_shared.errors import InvalidValue, OutsideDomain

EXHAUSTIVE = Domain((Ordinal("delay", (0.0, 10.0)), Categorical("carrier", ("AA", "UA"))))
OPEN = Domain(
    (Ordinal("delay", (0.0, 10.0), missing=True, other=True), Categorical("carrier", ("AA", "UA"), other=True))
)
ORDINAL = Domain((Ordinal("delay", (0.0, 10.0), missing=True),))


def labels(attribute: Attribute) -> tuple[str, ...]:
    return tuple(map(attribute.label, range(attribute.size)))


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.decimals() | st.fractions(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=6,
)


@given(anything)
def test_silence_does_not_speak(value: object) -> None:
    for domain in (EXHAUSTIVE, OPEN, ORDINAL):
        assert 0 <= domain.encode(value) < domain.size
        assert 0 <= domain.encode({"delay": value, "carrier": value}) < domain.size


@given(anything)
def test_strict_raises_or_agrees_with_production(value: object) -> None:
    for domain in (EXHAUSTIVE, OPEN, ORDINAL):
        try:
            cell = domain.encode(value, strict=True)
        except InvalidValue:
            continue
        assert cell == domain.encode(value)


@pytest.mark.parametrize(
    ("value", "bin_"),
    [
        (-1e308, 0),
        (-float("inf"), 0),
        (-(10**400), 0),
        (0, 0),
        (-0.0, 0),
        (5e-324, 1),
        (10, 1),
        (np.int64(10), 1),
        (np.float32(10), 1),
        (Decimal("10"), 1),
        (Fraction(21, 2), 2),
        (Fraction(10**30 + 1, 10**29), 2),
        (Decimal("10.5"), 2),
        (10**400, 2),
        (np.uint8(11), 2),
        (np.float64("inf"), 2),
        (np.longdouble(11), 2),
        (None, 3),
        (float("nan"), 3),
        (np.float32("nan"), 3),
        (Decimal("NaN"), 3),
        (Decimal("sNaN"), 3),
    ],
)
def test_numbers_fall_into_bins(value: Any, bin_: int) -> None:
    assert ORDINAL.encode(value, strict=True) == bin_


def test_large_integers_are_compared_exactly() -> None:
    domain = Domain((Ordinal("x", (2.0**53,)),))
    assert [domain.encode(2**53 + d) for d in (-1, 0, 1)] == [0, 0, 1]


@pytest.mark.parametrize("value", [True, np.True_, "5", b"5", [5], 5j, object()])
def test_what_is_no_number_is_not_taken_for_one(value: object) -> None:
    with pytest.raises(OutsideDomain) as raised:
        ORDINAL.encode(value, strict=True)
    assert raised.value.attribute == "delay"
    assert raised.value.value is value
    if value != "5":
        assert ORDINAL.encode(value) == 3
        assert Domain((Ordinal("delay", (0.0,), other=True),)).encode(value) == 2
        assert Domain((Ordinal("delay", (0.0,)),)).encode(value) == 0


@pytest.mark.parametrize(
    ("text", "bin_"),
    [("5", 1), (" 10.5\t\n", 2), ("-0", 0), ("+1e1", 1), (".5", 1), ("5.", 1), ("1e999", 2), ("-1e999", 0)],
)
def test_a_number_written_as_text_is_read_in_production(text: str, bin_: int) -> None:
    assert ORDINAL.encode(text) == bin_
    with pytest.raises(OutsideDomain, match="a str"):
        ORDINAL.encode(text, strict=True)


@pytest.mark.parametrize("text", ["", " ", "nan", "inf", "1_0", "\uff15", "0x5", "5 min", "1,5", "\u00a05", "e5", "."])
def test_other_text_is_missing(text: str) -> None:
    assert ORDINAL.encode(text) == 3


LISTED = Domain((Categorical("os", ("linux", "2.0", "3"), missing=True, other=True),))


@pytest.mark.parametrize("value", ["Linux", 2.0, 3, True, "other", "missing", b"linux", "", "linux ", ["linux"]])
def test_strict_fails_on_every_value_that_production_counts_as_other(value: object) -> None:
    with pytest.raises(OutsideDomain, match="it counts as `other`"):
        LISTED.encode(value, strict=True)
    assert LISTED.encode(value) == 4


def test_what_was_coerced_is_told_without_the_value() -> None:
    domain = Domain(
        (
            Ordinal("delay", (0.0, 10.0), missing=True),
            Ordinal("score", (1.0,)),
            Categorical("os", ("linux",), missing=True, other=True),
            Categorical("answer", ("no", "yes")),
        )
    )
    assert domain.coerced((5, 0.5, None, "yes")) == {}
    assert domain.coerced(("5", "high", "Linux", 1)) == {
        "delay": "str is read as a number",
        "score": "str counts as the first member",
        "os": "str counts as other",
        "answer": "int counts as the first member",
    }
    assert domain.coerced((True, 1, 2.0, "no")) == {"delay": "bool counts as missing", "os": "float counts as other"}


def test_missing_and_other_are_told_apart() -> None:
    both = Domain((Categorical("c", ("a",), missing=True, other=True),))
    assert [both.encode(v) for v in ("a", None, float("nan"), "b", "missing", 3)] == [0, 1, 1, 2, 2, 2]
    assert [both.encode(v, strict=True) for v in ("a", None, float("nan"))] == [0, 1, 1]
    only_other = Domain((Categorical("c", ("a",), other=True),))
    assert only_other.encode(None) == 1
    only_missing = Domain((Categorical("c", ("a",), missing=True),))
    with pytest.raises(OutsideDomain, match="other: true"):
        only_missing.encode("b", strict=True)


def test_product_cells_are_numbered_with_the_last_attribute_fastest() -> None:
    sizes = (3, 2, 4)
    domain = Domain(tuple(Categorical(f"a{i}", tuple("abcd"[:size])) for i, size in enumerate(sizes)))
    cells = [domain.encode(values, strict=True) for values in product(*("abcd"[:size] for size in sizes))]
    assert cells == list(range(24))
    assert [domain.label(cell) for cell in (0, 1, 23)] == ["a · a · a", "a · a · b", "c · b · d"]
    assert domain.shape == sizes


def test_values_come_as_mapping_sequence_or_scalar() -> None:
    cell = EXHAUSTIVE.encode({"delay": 5, "carrier": "UA"}, strict=True)
    assert EXHAUSTIVE.encode((5, "UA"), strict=True) == EXHAUSTIVE.encode([5, "UA"], strict=True) == cell == 3
    assert ORDINAL.encode({"delay": 5}, strict=True) == ORDINAL.encode(5, strict=True) == 1
    assert encode_many(ORDINAL, [5, None, -3]).tolist() == [1, 3, 0]


@given(anything)
def test_a_right_shape_passes_whatever_is_in_it(value: object) -> None:
    for domain in (EXHAUSTIVE, OPEN):
        for shaped in ((value, value), [value, value], {"delay": value}, {"delay": value, "carrier": value}, {}, None):
            domain.check_shape(shaped)
    for shaped in ({"delay": value}, {}, *(() if isinstance(value, dict) else (value,))):
        ORDINAL.check_shape(shaped)


WRONG_SHAPES: tuple[object, ...] = (4711, "secret", ("secret",), (4711, "secret", 1), [], b"se", {"secret"})
NAMES, SHAPE = "does not have; it has .*'delay'", "mapping by name, or a list or tuple .*'delay', 'carrier'"


@pytest.mark.parametrize(
    ("domain", "value", "message"),
    [
        *((OPEN, wrong, SHAPE) for wrong in WRONG_SHAPES),
        (OPEN, np.array([4711, 4711]), SHAPE),
        *((OPEN, {name: "secret"}, NAMES) for name in ("Delay", "secret", 4711, None)),
        (OPEN, {"delay": 4711, "carrier": "secret", "secret": 4711}, NAMES),
        (ORDINAL, {"secret": 4711}, NAMES),
    ],
)
def test_a_wrong_shape_is_refused_and_nothing_of_the_value_told(domain: Domain, value: object, message: str) -> None:
    with pytest.raises(InvalidValue, match=message) as raised:
        domain.check_shape(value)
    assert raised.value.value is None
    assert not {"secret", "4711"} & set(re.findall(r"\w+", str(raised.value)))
    with pytest.raises(InvalidValue, match=message):
        domain.encode(value, strict=True)


def test_labels_are_distinct_and_readable() -> None:
    delays = Ordinal("x", (-0.5, 0.1, 15), missing=True)
    assert labels(delays) == ("≤ -0.5", "(-0.5, 0.1]", "(0.1, 15]", "> 15", "missing")
    assert labels(Ordinal("x", (1000000.5, 1000001.0))) == ("≤ 1000000.5", "(1000000.5, 1000001.0]", "> 1000001.0")
    assert labels(Ordinal("x", (), missing=True)) == ("any", "missing")


@pytest.mark.parametrize(
    "build",
    [
        lambda: Categorical("", ("a",)),
        lambda: Categorical("c", ()),
        lambda: Categorical("c", ("a", "a")),
        lambda: Categorical("c", ("a", "other"), other=True),
        lambda: Categorical("c", ("a", " b")),
        lambda: Categorical("c", ("a", "b\n")),
        lambda: Categorical("c", (1, 2)),  # type: ignore[arg-type]
        lambda: Ordinal("x", (1.0, 1.0)),
        lambda: Ordinal("x", (2.0, 1.0)),
        lambda: Ordinal("x", (2**53, 2**53 + 1)),
        lambda: Ordinal("x", (float("nan"),)),
        lambda: Ordinal("x", (float("inf"),)),
        lambda: Ordinal("x", ("1",)),  # type: ignore[arg-type]
        lambda: Ordinal("x", (0.0,), unit=" "),
        lambda: Domain(()),
        lambda: Domain((Categorical("c", ("a",)),)),
        lambda: Domain((Categorical("c", ("a", "b")), Ordinal("c", (0.0,)))),
        lambda: Domain(tuple(Categorical(f"c{i}", ("a", "b")) for i in range(256))),
    ],
)
def test_constructors_refuse_the_impossible(build: Any) -> None:
    with pytest.raises(InvalidValue):
        build()


def test_very_large_products_have_cells_and_labels() -> None:
    domain = Domain(tuple(Categorical(f"c{i}", ("a", "b")) for i in range(62)))
    assert domain.size == 2**62
    assert domain.encode(["b"] * 62, strict=True) == 2**62 - 1
    assert domain.label(1) == " · ".join("a" * 61 + "b")
    with pytest.raises(InvalidValue, match="cell"):
        domain.label(2**62)
    with pytest.raises(InvalidValue, match="cell"):
        domain.label(-1)
    wide = Domain(tuple(Categorical(f"c{i}", ("a", "b")) for i in range(255)))
    assert wide.size == 2**255
    assert wide.codes(["b"] * 255, strict=True) == [1] * 255
    assert wide.describe([0] * 254 + [1]) == " · ".join("a" * 254 + "b")
    for refused in (lambda: wide.encode(["b"] * 255), lambda: wide.label(0)):
        with pytest.raises(InvalidValue, match="use codes"):
            refused()


@given(anything)
def test_codes_are_the_digits_of_the_cell(value: object) -> None:
    for domain in (EXHAUSTIVE, OPEN, ORDINAL):
        codes = domain.codes(value)
        cell = np.ravel_multi_index(tuple(codes), domain.shape)
        assert cell == domain.encode(value)
    assert codes_many(OPEN, [value, (5, "UA")]).tolist() == [OPEN.codes(value), [1, 1]]


def test_strict_codes_raise_what_strict_cells_do() -> None:
    with pytest.raises(OutsideDomain, match="it counts as `other`"):
        OPEN.codes((5, "B6"), strict=True)
    with pytest.raises(InvalidValue, match="list or tuple"):
        codes_many(OPEN, [5], strict=True)
