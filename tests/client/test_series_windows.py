"""How close a device's answers come, by trying: every quarter of a second of a small clock, against the closed forms.

The ledger's time of an answer is the clock's, rounded up, so that a window of L seconds is L whole seconds of it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import pytest

from sordino_client._series_rows import first_state
from sordino_shared.protocol import Period, Rotating, ValueOf
from sordino_shared.protocol.series import most_drawn_within

QUARTER = Fraction(1, 4)
ONE = Rotating(start=0, period_s=1, slots=1, answers_max=10**6, value_of=ValueOf.CURRENT, late_s=0, replaces=None)


def small_laws(longest: int, most_slots: int) -> Iterator[Rotating]:
    for value_of, period_s, slots in product(ValueOf, range(1, longest + 1), range(1, most_slots + 1)):
        for late_s in range((slots - 1) * period_s) if slots > 1 else (0, 1, 5):
            yield dataclasses.replace(ONE, period_s=period_s, slots=slots, value_of=value_of, late_s=late_s)


def most_tried(law: Rotating, seconds: int) -> int:
    """The most answers in any `seconds` of the ledger's time, of a device that tries every quarter of a second."""
    begin = 3 * law.cycle_s
    return max(answers_within(law, at, seconds) for at in range(begin, begin + law.cycle_s))


def answers_within(law: Rotating, begin: int, seconds: int) -> int:
    """The answers whose time in the ledger, ⌈clock⌉, is one of the `seconds` that start with `begin`."""
    state, clock, answers = first_state(law, 0, None), begin - 1 + QUARTER, 0
    while math.ceil(clock) < begin + seconds:
        period = state.period_to_answer(law, math.floor(clock))
        if isinstance(period, Period):
            state, answers = state.after(law, period, math.floor(clock)), answers + 1
        clock += QUARTER
    return answers


def check(laws: Iterator[Rotating]) -> int:
    compared = 0
    for law in laws:
        for seconds in range(1, 2 * law.cycle_s + law.answering_s + 2):
            assert most_tried(law, seconds) == law.most_drawn(seconds), (law, seconds)
            compared += 1
    return compared


def test_no_window_holds_more_answers_than_the_formula_and_some_hold_as_many() -> None:
    assert check(small_laws(2, 3)) > 100


@pytest.mark.slow
def test_every_window_of_small_series_holds_what_the_formula_says() -> None:
    assert check(small_laws(4, 3)) > 500


@pytest.mark.parametrize("law", [law for law in small_laws(3, 3) if law.slots > 1])
def test_a_cap_over_the_longest_window_refuses_nothing_and_one_second_more_does(law: Rotating) -> None:
    """A cap with room for c answers refuses the one after them while c others are among its last W seconds."""
    for answers in (1, 2):
        longest = law.longest_window_s(answers)
        assert longest < 1 or law.most_drawn(longest) <= answers < law.most_drawn(longest + 1)
        assert longest < 1 or most_tried(law, longest) <= answers


def test_a_year_holds_one_turn_more_than_its_periods_do() -> None:
    day = 86_400
    for slots, most in ((365, 2), (5, 74), (30, 13), (1, 366)):
        assert dataclasses.replace(ONE, period_s=day, slots=slots).most_drawn(365 * day) == most
    late = dataclasses.replace(ONE, period_s=day, slots=30, value_of=ValueOf.PREVIOUS, late_s=day)
    assert late.longest_window_s(1) == 28 * day
    assert late.most_drawn(28 * day) == 1
    assert late.most_drawn(28 * day + 1) == 2
    assert most_drawn_within(0, 30 * day, day) == 0
    assert dataclasses.replace(late, answers_max=3).most_drawn(10**9) == 3
