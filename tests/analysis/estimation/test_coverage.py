"""Predicted coverage against exact laws: sums of exponential variables, with the variance known and estimated."""

import numpy as np
import pytest
from scipy.stats import gamma, norm, t

from sordino_analysis.estimation.normality import ALLOWED_SHORTFALL, enough_reports, predicted_coverage

Z = norm.ppf(0.975)


def test_a_normal_error_has_the_level():
    assert predicted_coverage(Z, 0.0, 0.0) == pytest.approx(0.95, abs=1e-12)


@pytest.mark.parametrize("z", [1.0, Z, 2.9])
@pytest.mark.parametrize("terms", [30, 200])
def test_skewed_sums_of_a_known_variance_are_covered_as_predicted(z, terms):
    """A gamma variable of shape n is a sum of n exponentials: skewness 2/√n, excess kurtosis 6/n."""
    width = z * np.sqrt(terms)
    exact = gamma.cdf(terms + width, terms) - gamma.cdf(terms - width, terms)
    assert predicted_coverage(z, 2 / np.sqrt(terms), 6 / terms) == pytest.approx(exact, abs=0.5 / terms**1.5)


@pytest.mark.parametrize("terms", [50, 200])
def test_a_variance_that_moves_with_the_error_is_counted(terms):
    """Taking X itself for its variance n: D = (X − n)/n has Cov(S, D) = 1/√n and Var(D) = 1/n."""
    # X holds n where |X − n| ≤ z √X.
    root = np.array([-Z, Z]) / 2 + np.sqrt(Z**2 / 4 + terms)
    exact = np.diff(gamma.cdf(root**2, terms))[0]
    slope, spread = 1 / np.sqrt(terms), 1 / terms
    # E S²D = E (X − n)³/n² = 2/n is what a variance linear in the sum itself adds, and is within the tolerance.
    found = predicted_coverage(Z, 2 / np.sqrt(terms), 6 / terms, variance_slope=slope, variance_spread=spread)
    assert found == pytest.approx(exact, abs=0.4 / terms)


def test_a_variance_from_few_degrees_of_freedom_is_students():
    """An independent D of variance 2/ν: Student's law with ν degrees of freedom."""
    for freedom in (30, 100):
        exact = 2 * t.cdf(Z, freedom) - 1
        assert predicted_coverage(Z, 0, 0, variance_spread=2 / freedom) == pytest.approx(exact, abs=2 / freedom**2)


def test_a_few_rare_events_are_doubted_and_many_are_not():
    """The variance of rare events that an estimate takes from those it saw moves with them, as a count's own does."""
    events = np.array([4.0, 400.0])
    found = predicted_coverage(
        Z, 1 / np.sqrt(events), 1 / events, variance_slope=1 / np.sqrt(events), variance_spread=1 / events
    )
    assert (found < 0.95 - ALLOWED_SHORTFALL).tolist() == [True, False]


def test_twice_the_shortfall_needs_twice_the_reports():
    np.testing.assert_allclose(enough_reports(100, np.array([0.05, 0.025, -0.01]), allowed=0.0125), [400, 200, 0])
