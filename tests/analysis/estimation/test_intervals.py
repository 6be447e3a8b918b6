"""Quantiles of normal answers, one at a time and all at once."""

import numpy as np
import pytest
from scipy.stats import gamma, norm

from sordino_analysis.estimation import intervals
from sordino_analysis.estimation.intervals import (
    independent_quantile,
    normal_quantile,
    simultaneous_quantile,
    simultaneous_quantiles,
)
from sordino_analysis.evaluation.contribution_law import Cumulants


def test_the_quantiles_of_one_answer_are_the_tables():
    assert normal_quantile(0.95) == pytest.approx(1.959964, abs=1e-6)
    assert normal_quantile(0.5) == pytest.approx(0.674490, abs=1e-6)
    assert independent_quantile(0.95, 1) == normal_quantile(0.95)
    assert independent_quantile(0.95, 0) == 0.0


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_independent_answers_take_sidaks_quantile(level):
    """The seeded draws are within .03 of it: four standard errors of a quantile from 20,000 draws at level .99."""
    exact = norm.ppf((1 + level ** (1 / 20)) / 2)
    assert independent_quantile(level, 20) == pytest.approx(exact, abs=1e-9)
    found = simultaneous_quantile(np.diag(np.arange(1.0, 21)), level)
    assert exact - 0.03 <= found <= exact + 1e-12


@pytest.mark.parametrize("level", [0.9999, 1 - 1e-6, 1 - 1e-9])
def test_levels_that_no_draws_tell_take_sidaks_quantile(level):
    """The largest of 20,000 draws is that of a level of 1 − 5e-5."""
    root = np.diag(np.arange(1.0, 21))
    assert simultaneous_quantile(root, level) == independent_quantile(level, 20)
    # An exponential variable has skewness 2 and excess kurtosis 6.
    skewed = simultaneous_quantile(root, level, [Cumulants(1.0, 2.0, 6.0)] * 20, 400)
    exact = gamma.isf((1 - level) / 40, 400) / 20 - 20
    assert skewed == pytest.approx(exact, abs=0.12)
    assert skewed > independent_quantile(level, 20) + 0.25


def test_a_higher_level_has_no_smaller_quantile():
    root, levels = np.random.default_rng(4).normal(size=(30, 5)), [0.95, 0.999, 0.9995, 0.9996, 0.99999, 1 - 1e-7]
    for around in (None, [Cumulants(1.0, 1.0, 2.0)] * 30):
        found = simultaneous_quantiles(root, levels, around, 100)
        assert found == sorted(found)


def test_answers_that_move_together_are_one_answer():
    root = np.outer(np.arange(1.0, 30), [1.0, 2.0])
    assert simultaneous_quantile(root, 0.95) == pytest.approx(normal_quantile(0.95), abs=0.03)


def test_two_correlated_answers_have_the_quantile_of_the_plane():
    """max(|Z₁|, |Z₂|) with correlation .6, from 10^6 other draws."""
    root = np.array([[1.0, 0.0], [0.6, 0.8]])
    drawn = np.abs(np.random.default_rng(9).standard_normal((1_000_000, 2)) @ root.T).max(axis=1)
    assert simultaneous_quantile(root, 0.95) == pytest.approx(np.quantile(drawn, 0.95), abs=0.03)


def test_answers_without_error_need_no_band_and_change_none():
    root = np.array([[1.0, 0.0], [0.0, 0.0], [0.6, 0.8]])
    assert simultaneous_quantile(root, 0.95) == simultaneous_quantile(root[[0, 2]], 0.95)
    assert simultaneous_quantile(np.zeros((3, 2)), 0.95) == 0.0


def test_too_many_answers_for_draws_take_sidaks_quantile(monkeypatch):
    monkeypatch.setattr(intervals, "MOST_OPERATIONS", 100.0)
    root = np.outer(np.ones(30), [1.0])
    assert simultaneous_quantile(root, 0.95) == independent_quantile(0.95, 30)


def test_the_band_is_the_same_every_time():
    root = np.random.default_rng(1).normal(size=(40, 7))
    assert simultaneous_quantile(root, 0.95) == simultaneous_quantile(root.copy(), 0.95)
