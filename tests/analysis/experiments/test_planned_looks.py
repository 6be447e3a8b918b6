"""Boundaries of planned looks: published tables, brute force, and what an honest experiment does with them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import multivariate_normal

from benchmarks.experiments.looks import FLOWS, Flow, any_time, naive, one_look, planned, planned_by_counts, stopped
from sordino_analysis.experiments import planned_looks
from sordino_analysis.experiments.any_time import any_time_quantile
from sordino_analysis.experiments.planned_looks import boundaries, crossing_chances, spent
from sordino_shared.errors import InvalidValue

FIRST = FLOWS["ε = 1, 2,000 a day"]


def test_the_boundaries_of_a_published_table(monkeypatch):
    """Five even looks at .05, O'Brien and Fleming's rule on either side: the program of Reboussin et al. (2000)."""
    one_side = -ndtri(0.0125)
    monkeypatch.setattr(planned_looks, "spent", lambda share, level: 4 * ndtr(-one_side / math.sqrt(min(share, 1))))
    found = boundaries([0.2, 0.4, 0.6, 0.8, 1.0], 0.95, ended=True)
    assert found == pytest.approx([4.8769, 3.3569, 2.6803, 2.2898, 2.0310], abs=1.5e-4)


def test_each_look_spends_its_share_by_the_joint_normal_law():
    """Three uneven looks against the multivariate normal distribution, computed by other means."""
    shares = [0.4, 0.55, 0.9]
    bounds = boundaries(shares, 0.95, ended=False)
    correlation = np.sqrt(np.minimum.outer(shares, shares) / np.maximum.outer(shares, shares))
    for looks in (1, 2, 3):
        law = multivariate_normal(cov=correlation[:looks, :looks], abseps=1e-7, maxpts=400_000, seed=1)
        inside = law.cdf(bounds[:looks], lower_limit=-bounds[:looks])
        assert 1 - inside == pytest.approx(spent(shares[looks - 1], 0.95), abs=2e-6)


@pytest.mark.parametrize("shares", [[0.1, 0.3, 0.5], [0.02] * 3 + [0.4], [0.5, 0.5], [0.9, 0.2], [1 / 3, 2 / 3, 1.0]])
def test_the_look_at_the_pinned_end_spends_all_that_is_left(shares):
    bounds = boundaries(shares, 0.95, ended=True)
    below, above = crossing_chances(shares, bounds.tolist(), 0.0)
    assert below.sum() + above.sum() == pytest.approx(0.05, abs=1e-6)
    if shares[-1] < 1:
        assert not boundaries(shares, 0.95, ended=False)[-1] <= bounds[-1]


def test_looks_end_where_all_information_is_there():
    assert np.isinf(boundaries([0.5, 1.1, 1.2, 1.3], 0.95, ended=False)).tolist() == [False, False, True, True]
    below, above = crossing_chances([0.5, 1.1], boundaries([0.5, 1.1], 0.95, ended=False).tolist(), 0.0)
    assert below.sum() + above.sum() == pytest.approx(0.05, abs=1e-9)


def test_a_look_without_new_information_has_no_boundary():
    assert np.isinf(boundaries([0.0, 0.2, 0.2, 0.4], 0.95, ended=False)).tolist() == [True, False, True, False]
    assert np.isinf(boundaries([0.0, 0.0], 0.95, ended=True)).all()


def test_earlier_boundaries_do_not_depend_on_later_looks():
    bounds = boundaries([0.1, 0.2, 0.35], 0.95, ended=False)
    assert boundaries([0.1, 0.2, 0.35, 0.8], 0.95, ended=True)[:3] == pytest.approx(bounds, abs=1e-7)


@pytest.mark.parametrize("level", [0.0, 1.0, 95])
def test_a_level_is_a_probability(level):
    with pytest.raises(InvalidValue, match="between 0 and 1"):
        boundaries([0.5], level, ended=True)
    with pytest.raises(InvalidValue, match="between 0 and 1"):
        any_time_quantile(0.5, level)


def _false_alarms(rule, flow=FIRST, experiments=10_000, seed=1):
    nulls = flow.draw(experiments, 0.0, seed)
    return stopped(rule(flow, *nulls), nulls[0], 0.0).found


# 10,000 experiments without a difference: .05 has a standard error of .0022, and one seed in 90 exceeds this.
MOST_ALARMS = 0.055


@pytest.mark.parametrize("name", FLOWS)
def test_daily_planned_looks_at_10_000_null_experiments(name):
    assert _false_alarms(planned_by_counts, FLOWS[name]) <= MOST_ALARMS


def test_the_naive_rule_fails_that_test():
    assert _false_alarms(naive) > 5 * MOST_ALARMS


def test_planned_looks_find_what_one_look_finds():
    drawn = FIRST.draw(10_000, FIRST.detectable, 2)
    found = {rule: stopped(rule(FIRST, *drawn), drawn[0], FIRST.detectable) for rule in (one_look, planned_by_counts)}
    # The standard error of .8 is .004.
    assert found[one_look].found == pytest.approx(0.80, abs=0.012)
    assert found[planned_by_counts].found >= 0.75
    assert found[planned_by_counts].day < 23


def test_where_half_of_the_reports_come_the_end_finds_what_one_look_finds():
    flow = FLOWS["half arrives"]
    drawn = flow.draw(10_000, flow.detectable, 2)
    found = [stopped(rule(flow, *drawn), drawn[0], flow.detectable).found for rule in (one_look, planned_by_counts)]
    assert found[1] == pytest.approx(found[0], abs=0.005)


def test_a_few_experiments_with_boundaries_of_their_own_information():
    """200 of them, whose false alarms exceed .1 with chance .001."""
    flow = Flow(epsilon=1, daily=2000, days=10)
    assert _false_alarms(planned, flow, 200, 5) <= 0.1


@pytest.mark.slow
@pytest.mark.parametrize("name", FLOWS)
def test_10_000_null_experiments_with_boundaries_of_their_own_information(name):
    flow = FLOWS[name]
    assert _false_alarms(planned, flow) <= MOST_ALARMS
    assert _false_alarms(any_time, flow) <= 0.02


def test_a_mixture_holds_at_any_time():
    assert any_time_quantile(1.0, 0.95) == pytest.approx(3.04, abs=0.005)
    assert any_time_quantile(0.0, 0.95) == math.inf
    assert _false_alarms(any_time, experiments=500, seed=9) <= 0.03
