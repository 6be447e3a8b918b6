"""The trend is the best linear one of its model, by another formula; its weights are those of the closed form."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_analysis.panel.smoother import GRID, decay_of, smoothed_trend


def walk(size, noise, step, seed=3):
    rng = np.random.default_rng(seed)
    truth = np.cumsum(rng.normal(0, np.sqrt(step), size))
    return truth + rng.normal(0, np.sqrt(noise), size)


def direct(held, values, noise, step):
    """Weights of the posterior mean: (diag(1/v) + DᵀD/σ²)⁻¹ diag(1/v), for differences D over the gaps."""
    gaps = np.diff(held)
    differences = np.diff(np.eye(len(held)), axis=0) / np.sqrt(gaps * step)[:, None]
    precision = np.diag(1 / noise) + differences.T @ differences
    covariance = np.linalg.inv(precision)
    return covariance / noise, np.diag(covariance)


def test_the_trend_is_the_posterior_mean_of_the_model_over_gaps_and_unequal_noise():
    held = [0, 1, 2, 5, 6, 11, 12, 13]
    noise = np.array([1.0, 4, 1, 1, 0.25, 1, 9, 1])
    values = walk(8, noise, 0.5)
    trend = smoothed_trend(held, values[:, None], noise[:, None])
    assert trend.step_variance[0] > 0
    weights, variances = direct(held, values, noise, trend.step_variance[0])
    np.testing.assert_allclose(trend.value[:, 0], weights @ values, rtol=1e-9)
    np.testing.assert_allclose(trend.variance[:, 0], variances, rtol=1e-9)
    np.testing.assert_allclose(trend.weights(0), weights, atol=1e-9)


def test_weights_sum_to_one():
    held = [3, 4, 9, 10, 11]
    noise = np.array([[1.0, 2], [1, 3], [2, 0.5], [1, 1], [4, 2]])
    values = np.column_stack([walk(5, noise[:, 0], 2.0), np.full(5, 0.3)])
    trend = smoothed_trend(held, values, noise)
    for query in range(2):
        np.testing.assert_allclose(trend.weights(query).sum(axis=1), 1, atol=1e-12)
    # A series that never moves is its mean, weighted by 1/v.
    assert trend.step_variance[1] == 0
    np.testing.assert_allclose(trend.value[:, 1], 0.3)
    np.testing.assert_allclose(trend.weights(1)[2], (1 / noise[:, 1]) / (1 / noise[:, 1]).sum(), atol=1e-12)


def test_the_kernel_on_a_long_series_of_equal_weights_is_the_closed_form():
    size, noise = 801, np.full((801, 1), 2.0)
    trend = smoothed_trend(range(size), walk(size, 2.0, 0.3)[:, None], noise)
    ratio = trend.step_variance[0] / 2.0
    decay = decay_of(np.array([ratio]))[0]
    assert trend.decay[0] == pytest.approx(decay)
    lags = np.abs(np.arange(size) - size // 2)
    kernel = (1 - decay) / (1 + decay) * decay**lags
    np.testing.assert_allclose(trend.weights(0)[size // 2], kernel, atol=1e-9)
    assert trend.variance[size // 2, 0] == pytest.approx(2.0 / np.sqrt(1 + 4 / ratio), abs=1e-9)


def test_the_step_variance_is_found_where_the_truth_moves_and_zero_where_it_does_not():
    """Of 2,000 periods: σ² within a factor of 1.5 of the truth, which its likelihood leaves once in 10^5."""
    values = walk(2000, 1.0, 0.25)
    trend = smoothed_trend(range(2000), values[:, None], np.ones((2000, 1)))
    assert 0.25 / 1.5 < trend.step_variance[0] < 0.25 * 1.5
    still = np.random.default_rng(1).normal(0, 1, 2000)
    assert smoothed_trend(range(2000), still[:, None], np.ones((2000, 1))).step_variance[0] <= GRID[30]


def test_a_step_is_smeared_by_no_more_than_the_published_bias():
    size, jump, noise = 400, 1.0, np.full((400, 1), 0.01)
    values = np.where(np.arange(size) < 200, 0.0, jump)
    trend = smoothed_trend(range(size), values[:, None], noise)
    off = np.abs(trend.value[:, 0] - values)
    bound = trend.decay[0] * jump / (1 + trend.decay[0])
    assert off.max() <= bound * (1 + 1e-6)
    assert off.max() >= bound * 0.9


def test_answers_without_error_stay_as_they_are():
    trend = smoothed_trend(range(3), np.ones((3, 1)), np.zeros((3, 1)))
    np.testing.assert_array_equal(trend.value, np.ones((3, 1)))
