"""Slots, rates and errors of a rotation are the closed forms."""

from __future__ import annotations

import math

import pytest

import sordino_analysis as sa

DAY = 86_400
HISTOGRAM = 1 / math.sinh(0.5) ** 2


def million(**given):
    return sa.Rotation(**({"epsilon": 1, "variance": HISTOGRAM, "active": 10**6, "slots": 30, "period_s": DAY} | given))


def test_the_smallest_change_between_two_weeks_and_between_two_days():
    assert million().smallest_change(7) == pytest.approx(0.0157, abs=5e-5)
    assert million().smallest_change() == pytest.approx(0.0416, abs=5e-5)
    assert million().reports == pytest.approx(33_333, abs=1)


def test_a_month_of_thirty_slots_is_as_if_all_had_answered_once():
    assert million().standard_error(30) == pytest.approx(math.sqrt(HISTOGRAM / 10**6))
    assert million().standard_error() == pytest.approx(math.sqrt(30) * million().standard_error(30))


def test_the_most_slots_of_a_target_reach_it_and_one_more_does_not():
    arguments = {"epsilon": 1, "variance": HISTOGRAM, "active": 10**6, "period_s": DAY}
    for periods in (1, 7):
        found = sa.Rotation.of_target(0.01, periods, **arguments)
        assert found.standard_error(periods) <= 0.01 * (1 + 1e-12)
        assert million(slots=found.slots + 1).standard_error(periods) > 0.01
    assert sa.Rotation.of_target(0.01, **arguments).slots == math.floor(1e-4 * 1e6 / HISTOGRAM) == 27
    assert sa.Rotation.of_target(0.5, **arguments).slots == 4096
    with pytest.raises(sa.SordinoError, match="all answer every period"):
        sa.Rotation.of_target(0.001, **arguments)


@pytest.mark.parametrize(
    ("slots", "period_s", "seconds", "epsilon"),
    [
        (30, DAY, 365 * DAY, 13),
        (30, DAY, 29 * DAY, 1),
        (30, DAY, 29 * DAY + 1, 2),
        (30, DAY, DAY, 1),
        (1, 3600, DAY, 25),
        (365, DAY, 365 * DAY, 2),
        (5, DAY, 365 * DAY, 74),
    ],
)
def test_epsilon_within_a_time_counts_every_turn_that_it_may_hold(slots, period_s, seconds, epsilon):
    """Wherever the time begins: `tests/client/test_series_windows.py` tries every second of small series."""
    assert million(slots=slots, period_s=period_s).epsilon_within(seconds) == epsilon
    assert million().epsilon_per_year == 13


def test_late_answers_come_closer_and_a_life_has_no_more_than_all():
    late = million(late_s=2 * DAY)
    assert (late.epsilon_within(27 * DAY), late.epsilon_within(28 * DAY)) == (1, 2)
    assert million(answers_max=3, epsilon=0.5).epsilon_per_year == 1.5


@pytest.mark.parametrize(
    "wrong",
    [
        {"slots": 0},
        {"slots": 4097},
        {"active": 0},
        {"epsilon": math.nan},
        {"period_s": 0},
        {"late_s": -1},
        {"late_s": 29 * DAY},
        {"slots": 1, "late_s": 1},
        {"answers_max": 0},
    ],
)
def test_numbers_that_are_none_of_a_rotation_are_refused(wrong):
    with pytest.raises(sa.SordinoError):
        million(**wrong)


def test_a_plan_gives_the_variance_and_one_of_target_and_slots_is_given(bits):
    found = sa.rotation(bits.plan, active=10**6, slots=30, period_s=DAY)
    assert found.variance == pytest.approx(1 / (4 * math.sinh(0.5) ** 2), rel=1e-6)
    for given in ({}, {"slots": 3, "target": 0.1}):
        with pytest.raises(sa.SordinoError, match="either a target error or the slots"):
            sa.rotation(bits.plan, active=10**6, period_s=DAY, **given)
