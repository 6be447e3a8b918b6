"""How often intervals of a series behind a shuffler hold: from the law of the sum of devices' and random reports."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from benchmarks.series.levels import CELLS, SHARES, levels, panels
from sordino_analysis.estimation.inversion import coverage_of_sum
from sordino_analysis.panel.exact_ends import Term, coverage_of_terms, error_of_sum, truths_not_ruled_out
from sordino_analysis.panel.means import PooledMean
from tests.analysis.panel.test_levels import OTHER, OWN, law_of, ones

USERS, RANDOM = 60, 40


def random_law():
    """Of a random report: a holder or none with even chance, its mean moved to 0."""
    law = law_of(0.5)
    return type(law)(law.values - 0.5, law.chances, law.shares, law.truth - 0.5)


def terms(holding):
    return [
        Term(1.0, USERS, law_of(holding / USERS)),
        Term(RANDOM / USERS, RANDOM, random_law(), fixed=True),
    ]


def errors_of(holding):
    """(outcomes,) errors of the answer, and their exact chances."""
    own = ones(holding, USERS)
    random = binom.pmf(np.arange(RANDOM + 1), RANDOM, (OWN + OTHER) / 2)
    seen = np.add.outer(np.arange(USERS + 1), np.arange(RANDOM + 1))
    decoded = (seen - (USERS + RANDOM) * OTHER) / (OWN - OTHER)
    return (decoded - RANDOM / 2) / USERS - holding / USERS, np.outer(own, random)


@pytest.mark.parametrize("holding", [0, 3, 30])
def test_the_law_of_the_sum_is_that_of_all_outcomes(holding):
    errors, chances = errors_of(holding)
    known = error_of_sum(terms(holding), sampled=False)
    mean, variance = (chances * errors).sum(), (chances * errors**2).sum()
    assert mean == pytest.approx(0, abs=1e-12)
    assert known.variance == pytest.approx(variance, rel=1e-9)
    assert known.skewness == pytest.approx((chances * errors**3).sum() / variance**1.5, abs=1e-9)
    for ends in ((-0.1, 0.1), (-0.25, 0.15)):
        exact = chances[(errors >= ends[0]) & (errors <= ends[1])].sum()
        found = coverage_of_terms(terms(holding), np.array(ends), sampled=False)
        # A step of the answer, of which half is inside where an end falls on it, and the blur of .1 standard errors.
        assert found == pytest.approx(exact, abs=0.035)
    # Without the random reports the interval would be said to hold more often than it does.
    alone = coverage_of_sum([(1.0, USERS, law_of(holding / USERS))], np.array([-0.1, 0.1]), sampled=False)
    assert alone > coverage_of_terms(terms(holding), np.array([-0.1, 0.1]), sampled=False) + 0.05


@pytest.mark.parametrize("tail", [0.025, 0.001])
def test_a_truth_that_is_ruled_out_makes_the_answer_rarer_than_the_tail(tail):
    """Against all outcomes: the random reports are drawn, and no truth moves them."""
    for seen in (20, 45):
        answer = ((seen - (USERS + RANDOM) * OTHER) / (OWN - OTHER) - RANDOM / 2) / USERS
        share = min(max(answer, 0.0), 1.0)
        parts = [Term(1.0, USERS, law_of(share)), Term(RANDOM / USERS, RANDOM, random_law(), fixed=True)]
        low, high = truths_not_ruled_out(parts, answer, tail, sampled=False)
        assert low <= answer <= high
        for holding in range(USERS + 1):
            errors, chances = errors_of(holding)
            answers = errors + holding / USERS
            if holding / USERS < low - 1e-9:
                assert chances[answers >= answer - 1e-9].sum() <= tail
            if holding / USERS > high + 1e-9:
                assert chances[answers <= answer + 1e-9].sum() <= tail


def test_a_period_says_how_often_its_interval_holds_and_is_right():
    """600 days at ε = 4 of 90 reports, a third in each cell, and 60 random ones, against what they predict.

    Three standard errors of so many days are .027: one run of 370 is off by more.
    """
    held, predicted = [], []
    for panel in panels(4.0, 90, SHARES["uniform"], 30, 600, blanket=60):
        day = panel.series.period(3)
        held.append(day.interval[0, 0] <= panel.truth[3, 0] <= day.interval[0, 1])
        predicted.append(day.coverage[0])
    assert np.mean(held) == pytest.approx(np.mean(predicted), abs=0.027)


def test_bands_and_marks_of_a_shuffled_series_hold():
    """40 series of 14 days; bands and marks that hold in .95 hold in fewer than 33 of 40 once in 3,000 runs."""
    found = levels(4.0, 200, SHARES["one cell"], 40, blanket=100)
    assert found.band >= 33 / 40
    assert found.unmarked >= 33 / 40


def test_intervals_of_a_shuffled_window_and_change_are_judged():
    panel = next(iter(panels(4.0, 400, SHARES["uniform"], 30, 1, blanket=150)))
    window, change = panel.series.window(0, 6), panel.series.change((0, 6), (7, 13))
    for point in (panel.series.period(2), window, change):
        np.testing.assert_allclose(point.coverage, 0.95, atol=0.01)
        np.testing.assert_allclose(point.population_coverage, 0.95, atol=0.015)
        assert point.warnings == ()
    mean = window.parts[0][1]
    assert isinstance(mean, PooledMean)
    assert mean.random is not None
    assert mean.random.reports == 7 * 150
    # The error of the terms is the one that is printed, of users as they are: not smoothed towards even ones.
    found = error_of_sum(mean.terms(0, 1.0), sampled=False)
    assert math.sqrt(found.variance) == pytest.approx(window.standard_error[0], rel=0.02)
    assert len(window.coverage) == CELLS
