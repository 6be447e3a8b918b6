"""The check of counts: the closed form, how often it alarms, and what it finds."""

from __future__ import annotations

import math

import pytest
from scipy.special import betaln

from benchmarks.experiments.looks import ratio_alarms
from sordino_analysis.experiments.sample_ratio import sample_ratio
from sordino_shared.errors import InvalidValue


def test_two_arms_are_the_beta_mixture():
    factor = sample_ratio((700, 300), (3, 1), ended=False).factor
    log = betaln(750 + 700, 250 + 300) - betaln(750, 250) - 700 * math.log(0.75) - 300 * math.log(0.25)
    assert math.log(factor) == pytest.approx(log, rel=1e-9)


def test_the_factor_has_mean_one_where_the_weights_are_true():
    """Exactly, over all counts of 40 reports: what Ville's inequality needs."""
    mean = sum(
        math.comb(40, k) * 0.25**k * 0.75 ** (40 - k) * sample_ratio((k, 40 - k), (1, 3), ended=False).factor
        for k in range(41)
    )
    assert mean == pytest.approx(1, rel=1e-9)


def test_true_ratios_pass_and_52_to_48_is_found():
    """200 campaigns of 30 days: more than two alarm with chance .001; a check at .001 every day would alarm in 1 %."""
    assert ratio_alarms(0.5, 200)[0] <= 0.01
    assert ratio_alarms(0.52, 50)[0] == 1.0
    assert 0.6 < ratio_alarms(0.51, 100)[0] < 0.92


@pytest.mark.slow
def test_ten_thousand_campaigns():
    assert ratio_alarms(0.5, 10_000)[0] <= 0.001
    assert ratio_alarms(0.51, 10_000)[0] == pytest.approx(0.78, abs=0.02)


def test_the_end_has_a_chance_and_three_arms_too():
    assert sample_ratio((51_000, 49_000), (1, 1), ended=True).alarm
    assert not sample_ratio((50_100, 49_900), (1, 1), ended=True).alarm
    assert sample_ratio((0, 0), (1, 1), ended=True).chance == 1.0
    three = sample_ratio((1000, 1010, 2005), (1, 1, 2), ended=True)
    assert not three.alarm
    assert three.chance == pytest.approx(0.974, abs=0.005)


def test_counts_and_weights_go_together():
    with pytest.raises(InvalidValue, match="two or more arms"):
        sample_ratio((1, 2), (1, 1, 1), ended=False)
