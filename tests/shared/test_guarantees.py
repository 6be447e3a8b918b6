"""Proofs of ε in integers against decimals of many digits."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import (
    MAX_NANO,
    MAX_ROUND_NANO,
    MIN_ROUND_NANO,
    NANO,
    PureEpsilon,
    check_round_guarantee,
    epsilon_of_ratio,
    exp_lower_bound,
    ratio_within,
)

# e^1000 has 435 digits; 600 leave 100 for what follows the point of 2^192 times it.
DIGITS = 600
nanos = st.integers(0, MAX_NANO) | st.integers(0, 10**6) | st.integers(MIN_ROUND_NANO, MAX_ROUND_NANO)


def scaled_exponential(nano: int, bits: int) -> Fraction:
    with localcontext(prec=DIGITS):
        return Fraction((Decimal(nano) / 10**9).exp()) * 2**bits


@given(nanos, st.integers(0, 192))
def test_exp_lower_bound_is_the_floor_or_one_less(nano: int, bits: int) -> None:
    exact = math.floor(scaled_exponential(nano, bits))
    assert exact - 1 <= exp_lower_bound(nano, bits) <= exact


def test_exp_lower_bound_at_every_tenth_of_epsilon_up_to_the_maximum() -> None:
    for nano in range(0, MAX_NANO + 1, 10**10):
        assert exp_lower_bound(nano, 60) in (math.floor(scaled_exponential(nano, 60)) - d for d in (0, 1))


@pytest.mark.parametrize("nano", [-1, MAX_NANO + 1])
def test_exp_lower_bound_refuses_what_it_was_not_proved_for(nano: int) -> None:
    with pytest.raises(InvalidValue):
        exp_lower_bound(nano)


@given(st.integers(1, 2**124), st.integers(1, 2**124))
def test_epsilon_of_ratio_is_the_least_nano_that_covers(a: int, b: int) -> None:
    numerator, denominator = max(a, b), min(a, b)
    proved = epsilon_of_ratio(numerator, denominator)
    assert proved is not None
    assert numerator * 2**192 <= denominator * scaled_exponential(proved.nano, 192)
    if proved.nano:
        assert numerator * 2**192 > denominator * scaled_exponential(proved.nano - 1, 192)


@given(st.integers(MIN_ROUND_NANO, MAX_ROUND_NANO))
def test_a_ratio_just_within_or_just_above_a_nano_is_told_apart(nano: int) -> None:
    bound = exp_lower_bound(nano, 100)
    within, above = epsilon_of_ratio(bound, 2**100), epsilon_of_ratio(bound + 2, 2**100)
    assert (within, above) == (PureEpsilon(nano), PureEpsilon(nano + 1))


def test_ratios_that_no_epsilon_covers() -> None:
    assert epsilon_of_ratio(1, 0) is None
    assert epsilon_of_ratio(0, 0) is None
    assert epsilon_of_ratio(10**435, 1) is None
    top = exp_lower_bound(MAX_NANO, 0)
    assert epsilon_of_ratio(top, 1) == PureEpsilon(MAX_NANO)
    assert epsilon_of_ratio(top + 1, 1) is None
    assert epsilon_of_ratio(1, 1) == epsilon_of_ratio(3, 5) == PureEpsilon(0)
    assert not ratio_within(2**60, 0, MAX_NANO)


@pytest.mark.parametrize(
    ("given_", "nano"),
    [
        (1, 10**9),
        (0.1, 10**8),
        ("0.1", 10**8),
        (Decimal("0.1"), 10**8),
        (Fraction(1, 3), 333_333_334),
        (math.log(2), 693_147_181),
        ("1e-9", 1),
        ("1.0000000001", 10**9 + 1),
        (5e-324, 1),
        ("1e-999999", 1),
        (1000, MAX_NANO),
        (np.float64(0.5), 5 * 10**8),
        (np.int64(2), 2 * 10**9),
        ("  2  ", 2 * 10**9),
    ],
)
def test_epsilon_as_people_write_it_is_rounded_up(given_: Any, nano: int) -> None:
    assert PureEpsilon.of(given_).nano == nano


@pytest.mark.parametrize(
    "given_",
    [
        *(0, -1, "0", "-0.5", 1000.0001, 10**400, "1e999999999", Fraction(0)),
        *(float("nan"), float("inf"), -float("inf"), "nan", "sNaN", "x", "", None, True, [1]),
        *("1_000", "1e1_0", "٣", "１", "1٫5", "1,5", ".", "1e", "0x1", "1/3", "1 0", "1e99999999999999999999", "+-1"),
    ],
)
@pytest.mark.parametrize("read", [PureEpsilon.of, PureEpsilon.at_most])
def test_what_is_no_epsilon_is_refused_at_once(read: Callable[[Any], PureEpsilon], given_: Any) -> None:
    started = time.process_time()
    with pytest.raises(InvalidValue, match="ε"):
        read(given_)
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    ("given_", "nano"),
    [
        *((1, 10**9), (0.1, 10**8), ("0.1", 10**8), ("1e-9", 1), (1000, MAX_NANO), ("  2.  ", 2 * 10**9)),
        *((Fraction(1, 3), 333_333_333), (math.log(2), 693_147_180), ("1.9999999999", 2 * 10**9 - 1), ("1.99e-9", 1)),
    ],
)
def test_a_cap_is_rounded_down(given_: Any, nano: int) -> None:
    assert PureEpsilon.at_most(given_).nano == nano


@given(st.fractions(Fraction(1, 10**9), 1000))
def test_a_cap_is_the_most_that_is_not_above(cap: Fraction) -> None:
    nano = PureEpsilon.at_most(cap).nano
    assert Fraction(nano, 10**9) <= cap < Fraction(nano + 1, 10**9)


@pytest.mark.parametrize("given_", ["1e-400", "9.9e-10", 1e-10, 5e-324, Fraction(1, 10**9 + 1), "1e-999999999"])
def test_a_cap_below_a_nano_epsilon_is_refused(given_: Any) -> None:
    with pytest.raises(InvalidValue, match="at least 1e-9"):
        PureEpsilon.at_most(given_)


def test_tiny_exponents_cost_nothing() -> None:
    started = time.process_time()
    assert PureEpsilon.of("1e-999999999") == PureEpsilon(1)
    assert time.process_time() - started < 1


@pytest.mark.parametrize("nano", [-1, MAX_NANO + 1, 1.0, True, "1", None])
def test_nano_epsilon_is_an_integer_in_range(nano: Any) -> None:
    with pytest.raises(InvalidValue):
        PureEpsilon(nano)


def test_composition_adds() -> None:
    assert PureEpsilon(3) + PureEpsilon(4) == PureEpsilon(7)
    assert PureEpsilon(3) < PureEpsilon(4)
    with pytest.raises(InvalidValue):
        PureEpsilon(MAX_NANO) + PureEpsilon(1)


@pytest.mark.parametrize(
    ("nano", "text"),
    [(0, "0"), (1, "0.000000001"), (10**8, "0.1"), (10**9, "1"), (10**9 + 1, "1.000000001"), (MAX_NANO, "1000")],
)
def test_epsilon_reads_as_its_exact_decimal(nano: int, text: str) -> None:
    assert str(PureEpsilon(nano)) == f"ε = {text}"


@given(nanos)
def test_what_is_read_is_what_is_spent(nano: int) -> None:
    assert Decimal(str(PureEpsilon(nano)).removeprefix("ε = ")) * NANO == nano


def test_a_round_refused_for_a_nano_too_much_reads_like_it() -> None:
    with pytest.raises(InvalidValue, match=r"16, got 16\.000000001"):
        check_round_guarantee(PureEpsilon(MAX_ROUND_NANO + 1))
