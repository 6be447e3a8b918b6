"""Intervals of quadratic forms of normal variables: coverage over drawn errors, and the limits that are known."""

from dataclasses import fields, replace

import numpy as np
import pytest
from scipy.stats import chi2, norm

from sordino_analysis.pairwise.error_moments import ErrorMoments
from sordino_analysis.pairwise.quadratic_error import QuadraticError, standard_quantile

RUNS = 400


def moments(**given):
    """Those given; the others are 0."""
    return ErrorMoments(**{field.name: np.asarray(given.get(field.name, 0.0)) for field in fields(ErrorMoments)})


def drawn_moments(scales, point):
    """Of Σ_r λ_r (x_r² − 1) at the point x = μ + z for the `scales` λ: the slope there is 2λ_r x_r."""
    slope, powers = scales * point, [float((scales**power).sum()) for power in range(5)]
    turned = 4 * float(slope**2 @ scales)
    return moments(
        slope=4 * float(slope @ slope),
        slope_noise=4 * powers[2],
        first=4 * float(slope @ slope),
        first_noise=4 * powers[2],
        slope_turned=turned,
        turned=turned,
        twice_turned=4 * float(slope**2 @ scales**2),
        quadratic=2 * powers[2],
        cubic=8 * powers[3],
        crossed=8 * powers[3],
        quartic=48 * powers[4],
        wavering=64 * float(slope**2 @ scales**2),
        wavering_noise=32 * powers[4],
    )


def test_without_a_quadratic_part_the_error_is_normal():
    error = QuadraticError(moments(slope=4.0, first=4.0))
    reach = 2 * norm.ppf(0.975)
    assert error.interval(7.0, 0.95) == pytest.approx((7 - reach, 7 + reach), rel=1e-3)
    assert error.standard_error == 2


def test_quantiles_are_those_of_chi_squared_whichever_way_it_leans():
    for degrees in (1, 3, 30):
        skewness, excess = np.sqrt(8 / degrees), 12 / degrees
        for chance in (0.025, 0.5, 0.975):
            exact = (chi2.ppf(chance, degrees) - degrees) / np.sqrt(2 * degrees)
            assert standard_quantile(chance, skewness, excess) == pytest.approx(exact, abs=1e-9)
            assert standard_quantile(1 - chance, -skewness, excess) == pytest.approx(-exact, abs=1e-9)


def test_of_one_direction_the_interval_is_that_of_a_noncentral_chi_squared():
    # (g + z)² − 1 = 0 for |g + z| = 1: g may be 0 and up to about 2.85, where P(χ²₁(g²) ≤ 1) = .025.
    low, high = QuadraticError(drawn_moments(np.ones(1), np.ones(1))).interval(0.0, 0.95)
    assert low < 0
    reach = np.sqrt(high)
    assert norm.cdf(1 - reach) - norm.cdf(-1 - reach) == pytest.approx(0.025, abs=0.015)


@pytest.mark.parametrize("lean", [0.0, 0.7, 1.5, 4.0])
@pytest.mark.parametrize("scales", [np.ones(1), np.array([3.0, 1.0, -0.5, -0.2]), 1 / np.arange(1.0, 31) ** 2])
def test_intervals_cover_whatever_the_slope(scales, lean):
    generator = np.random.default_rng(5)
    means, covered = lean * np.ones(len(scales)), 0
    for point in means + generator.standard_normal((RUNS, len(scales))):
        low, high = QuadraticError(drawn_moments(scales, point)).interval(float(scales @ (point**2 - 1)), 0.95)
        covered += low <= scales @ means**2 <= high
    # Three standard errors of 400 runs below 94 %; draws that lean one way covered 91 % at the worst.
    assert covered > 0.905 * RUNS


def test_an_uncertain_variance_stretches_the_interval_as_students_t_does():
    known = moments(slope=1.0, first=1.0)
    low, high = QuadraticError(known).interval(0.0, 0.95)
    # A coefficient of variation of √(2/20) is that of twenty degrees of freedom, whose quantile is 2.086.
    unsure = QuadraticError(replace(known, wavering=np.asarray(0.1))).interval(0.0, 0.95)
    assert unsure == pytest.approx((1.064 * low, 1.064 * high), rel=0.01)


def test_a_second_round_that_says_the_first_was_too_high_takes_its_slope_back():
    found = drawn_moments(np.ones(1), np.array([3.0]))
    # Where the first round was 5 too high, its slope's variance was 4·5 too high.
    gap = QuadraticError(found, 5.0)
    assert gap.variance == pytest.approx(QuadraticError(found).variance - 20.0)


def test_tiny_and_vanishing_errors_have_finite_intervals():
    tiny = replace(drawn_moments(np.full(2, 1e-90), np.ones(2)))
    low, high = QuadraticError(tiny).interval(1.0, 0.95)
    assert low <= 1.0 <= high
    assert QuadraticError(moments()).interval(3.0, 0.95) == (3.0, 3.0)


def test_noise_in_proportion_to_the_slope_counts_as_estimated_like_it():
    """Nine tenths of the variance are a second round's, whose query is the slope: c is that of the slope itself."""
    known = moments(slope=0.1, first=0.1, independent=0.9, answered=0.9, wavering=0.1**2 * 0.1)
    found = QuadraticError(known).interval(0.0, 0.95)
    apart = QuadraticError(replace(known, answered=np.asarray(0.0))).interval(0.0, 0.95)
    assert found == pytest.approx((-2.086, 2.086), rel=0.01)
    assert apart == pytest.approx((-1.96, 1.96), rel=0.01)


def test_the_noise_of_a_second_round_does_not_depend_on_the_first_rounds_error():
    """The query is known, so its noise is: it took 75 % off where the first round's value was thought too high."""
    found = replace(drawn_moments(np.ones(1), np.array([3.0])), answered=np.asarray(50.0), independent=np.asarray(50.0))
    assert QuadraticError(found, 8.0).variance >= 50.0
