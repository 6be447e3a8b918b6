"""Intervals of quadratic forms of normal variables: coverage over drawn errors, and the limits that are normal."""

import numpy as np
import pytest
from scipy.stats import norm

from sordino_analysis.pairwise.quadratic_error import QuadraticError

RUNS = 100


def test_without_a_quadratic_part_the_error_is_normal():
    error = QuadraticError(4.0, 0.0, np.eye(2), np.eye(2), 10)
    assert error.interval(7.0, 0.95) == pytest.approx((7 - 2 * norm.ppf(0.975), 7 + 2 * norm.ppf(0.975)))
    assert error.standard_error == 2


def test_of_one_direction_the_interval_is_that_of_a_noncentral_chi_squared():
    # (g + z)² − 1 = 0 for |g + z| = 1: g may be 0 and up to about 2.85, where P(χ²₁(g²) ≤ 1) = .025.
    form, covariance, users = np.diag([1.0, 0.0]), np.eye(2), 1
    low, high = QuadraticError(4.0 * 1.0 - 4.0, 2.0, covariance, form, users).interval(0.0, 0.95)
    assert low < 0
    reach = np.sqrt(high)
    assert norm.cdf(1 - reach) - norm.cdf(-1 - reach) == pytest.approx(0.025, abs=0.005)


@pytest.mark.parametrize(
    ("scales", "lean"),
    [
        (np.ones(1), 0.7),
        *(
            pytest.param(scales, lean, marks=pytest.mark.slow)
            for scales in (np.ones(1), np.array([3.0, 1.0, -0.5, -0.2]), 1 / np.arange(1.0, 31) ** 2)
            for lean in (0.0, 1.5, 4.0)
        ),
    ],
)
def test_intervals_cover_whatever_the_slope(scales, lean):
    generator = np.random.default_rng(5)
    means = lean * np.ones(len(scales))
    drawn = means + generator.standard_normal((RUNS, len(scales)))
    form, covariance, quadratic = np.diag(scales), np.eye(len(scales)), 2 * float(scales @ scales)
    covered = 0
    for point in drawn:
        error = QuadraticError(4 * float(scales**2 @ point**2) - 2 * quadratic, quadratic, covariance, form, 1)
        low, high = error.interval(float(scales @ (point**2 - 1)), 0.95)
        covered += low <= scales @ means**2 <= high
    # Two standard errors of 100 runs below 92 %; with the variance held fixed 51 % are covered at the worst.
    assert covered > 0.86 * RUNS


def test_turned_scales_turn_the_interval():
    form, covariance = np.eye(1), np.eye(1)
    low, high = QuadraticError(-2.0, 2.0, covariance, form, 1, stretch=0.0).interval(0.0, 0.95)
    turned = QuadraticError(-2.0, 2.0, covariance, form, 1, turn=-1.0, stretch=0.0).interval(0.0, 0.95)
    assert turned == pytest.approx((-high, -low))
    assert abs(high) < abs(low)


def test_a_covariance_without_all_directions_does():
    low, high = QuadraticError(0.1, 10.0, np.diag([1.0, 0.0, 1.0]), np.diag([1.0, 1.0, -2.0]), 1).interval(3.0, 0.95)
    assert low < 3 < high
