"""The arithmetic of series, against the definitions of the protocol's page, second by second."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino_shared.errors import InvalidValue, MalformedDocument
from sordino_shared.protocol import CampaignId, Rotating, ValueOf
from sordino_shared.protocol.schema import from_plain, to_plain

HOURLY = Rotating(
    start=1000, period_s=3600, slots=24, answers_max=10, value_of=ValueOf.CURRENT, late_s=0, replaces=None
)


@st.composite
def laws(draw: st.DrawFn) -> Rotating:
    period_s, slots = draw(st.integers(1, 7)), draw(st.integers(1, 6))
    most_late = (slots - 1) * period_s - 1 if slots > 1 else 20
    return Rotating(
        start=draw(st.integers(0, 40)),
        period_s=period_s,
        slots=slots,
        answers_max=draw(st.integers(1, 5)),
        value_of=draw(st.sampled_from(ValueOf)),
        late_s=draw(st.integers(0, most_late)),
        replaces=draw(st.sampled_from((None, CampaignId(bytes(32))))),
    )


def window(law: Rotating, number: int) -> tuple[int, int]:
    """[start + i·period, start + (i+1)·period + late), one period later for `previous`, from the page."""
    first = number + (law.value_of is ValueOf.PREVIOUS)
    return law.start + first * law.period_s, law.start + (first + 1) * law.period_s + law.late_s


@given(laws(), st.integers(0, 200))
def test_a_report_counts_within_the_window_of_its_period(law: Rotating, now: int) -> None:
    counted = [i for i in range(250) if window(law, i)[0] <= now < window(law, i)[1]]
    assert list(law.accepted_numbers(now)) == counted
    assert [i for i in range(-5, 250) if law.accepts(i, now)] == counted


@given(laws(), st.integers(0, 200))
def test_every_second_lies_in_one_period(law: Rotating, now: int) -> None:
    period = law.period(law.number_at(now))
    assert period.start <= now < period.end
    assert (period.number < 0) is (now < law.start)


@given(laws(), st.data())
def test_a_device_is_asked_about_its_own_periods_in_their_time(law: Rotating, data: st.DataObject) -> None:
    phase = data.draw(st.integers(0, law.slots - 1))
    for now in range(150):
        own = [i for i in law.accepted_numbers(now) if i % law.slots == phase]
        if law.value_of is ValueOf.CURRENT:
            own = [i for i in own if law.period(i).start <= now < law.period(i).end]
        asked = law.asked_at(phase, now)
        assert asked == (law.period(own[-1]) if own else None)


@given(laws(), st.integers(0, 150))
def test_the_chance_of_being_asked_is_one_in_slots(law: Rotating, now: int) -> None:
    """At every second, each period that may be answered then is asked of as many phases as any other."""
    asked = [law.asked_at(phase, now) for phase in range(law.slots)]
    latest = law.number_at(now) - (law.value_of is ValueOf.PREVIOUS)
    numbers = [period.number for period in asked if period is not None]
    assert len(numbers) == len(set(numbers))
    assert (latest in numbers) is (latest >= 0)


@given(laws(), st.data())
def test_no_window_holds_more_answers_than_stated(law: Rotating, data: st.DataObject) -> None:
    """A device that answers whenever it is asked, at a second that it draws from those it may answer at."""
    phase = data.draw(st.integers(0, law.slots - 1))
    answered: dict[int, int] = {}
    for i in range(phase, 40, law.slots):
        times = [now for now in range(*window(law, i)) if law.asked_at(phase, now) == law.period(i)]
        if times and len(answered) < law.answers_max:
            answered[i] = data.draw(st.sampled_from(times))
    periods = data.draw(st.integers(1, 40))
    arrived = {i: data.draw(st.integers(at, window(law, i)[1] - 1)) for i, at in answered.items()}
    for first in range(40):
        end = first + periods
        assert sum(first <= i < end for i in answered) <= law.most_answers(periods)
        assert sum(first <= law.number_at(at) < end for at in arrived.values()) <= law.most_reports(periods)


@given(laws())
def test_the_bounds_are_reached(law: Rotating) -> None:
    plenty = replace(law, answers_max=1000)
    for periods in range(1, 30):
        asked = sum(i % law.slots == 0 for i in range(periods))
        assert asked == plenty.most_answers(periods) <= plenty.most_reports(periods)
    assert law.most_answers(10**9) == law.answers_max


@given(laws(), st.integers(0, 2**40))
def test_laws_survive_the_wire(law: Rotating, number: int) -> None:
    assert from_plain(Rotating, to_plain(law)) == law
    assert 0 <= law.epoch(number) < 2**16
    assert (number - law.epoch(number)) % 2**16 == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"period_s": 0},
        {"period_s": -3600},
        {"slots": 0},
        {"slots": 4097},
        {"answers_max": 0},
        {"start": -1},
        {"late_s": -1},
        {"late_s": 23 * 3600},
        {"slots": 2, "late_s": 3600},
    ],
)
def test_laws_refuse_the_impossible(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue):
        replace(HOURLY, **changes)


def test_reports_are_late_by_less_than_the_pause_between_two_periods() -> None:
    assert replace(HOURLY, late_s=23 * 3600 - 1).late_s == 82_799
    assert replace(HOURLY, slots=1, late_s=10**6).late_s == 10**6
    with pytest.raises(InvalidValue, match="shorten late_s, or take more slots"):
        replace(HOURLY, late_s=23 * 3600)


def test_another_kind_is_malformed() -> None:
    with pytest.raises(MalformedDocument):
        from_plain(Rotating, to_plain(HOURLY) | {"value_of": "next"})
