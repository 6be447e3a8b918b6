"""The simulations of series agree with what is exact: who answers, what estimates hold, what else costs."""

from __future__ import annotations

import math

import pytest

from benchmarks.series import alternatives, coverage, smoothing, tables, who_answers


def test_one_phase_for_life_samples_the_active_devices_and_other_laws_do_not():
    """About 40,000 answers: 1/T of the devices and their share of young ones within .01, six standard errors."""
    phase, left_over, next_cycle = (who_answers.shares(law, 60, 20) for law in who_answers.LAWS)
    exact = 1 - (1 - 1 / who_answers.MEAN_LIFE) ** who_answers.YOUNG
    assert phase.true == pytest.approx(exact, abs=0.01)
    assert phase.answers == pytest.approx(phase.true, abs=0.01)
    assert left_over.answers > 2 * phase.true
    assert next_cycle.answers < phase.true / 4
    assert phase.rates == pytest.approx((1, 1), abs=0.05)
    assert left_over.rates[1] == pytest.approx(1.84, abs=0.1)


def test_devices_that_catch_up_hide_who_is_active():
    found = who_answers.heavy_shares(10_000, 20)
    assert found["device-days"] == pytest.approx(0.9 / 1.05, abs=0.005)
    assert found["phase"] == pytest.approx(0.9 / 1.05, abs=0.01)
    # A cycle takes 30 days and the wait for an active one: .1/.9 or .85/.15.
    assert found["catching up"] == pytest.approx((30 + 0.85 / 0.15) / (60 + 0.1 / 0.9 + 0.85 / 0.15), abs=0.01)


def test_a_simulated_series_has_the_variance_of_weights_and_no_bias():
    """Ten series of 6,000 devices; windows that share 4 of 7 days have 6/14 of the independent variance."""
    found = coverage.coverage(6000, 10)
    assert found.ratio == pytest.approx(6 / 14, abs=0.02)
    assert abs(found.bias[0]) < 6 * 0.065 / math.sqrt(10)
    assert found.reporters >= 0.5


def test_the_smoother_gains_where_the_truth_is_still_and_its_band_fails_at_a_step():
    still, step = smoothing.errors("flat", 5), smoothing.errors("step .05", 20)
    assert still.smoother < still.day / 4
    assert step.held_near < 0.75 < step.held


def test_the_closed_forms_are_those_of_the_page():
    assert [round(alternatives.panel(slots), 1) for slots in alternatives.SLOTS] == [25.8, 110.5, 331.4, 1344.2]
    assert [round(alternatives.changes_only(t)) for t in alternatives.TREE] == [253, 468, 751, 917, 1300]
    assert alternatives.composed(90) / alternatives.panel(90) == pytest.approx(31.0, abs=0.1)
    printed = tables.closed_forms()
    for figure in ("0.0157", "0.0416", "3.68, 1.45, 0.30", "21.04, 7.08, 2.33"):
        assert figure in printed
