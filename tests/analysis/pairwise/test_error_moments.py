"""Moments of the error of an estimated form against simulated reports, and their interpolation."""

from dataclasses import fields

import numpy as np
import pytest

from sordino_analysis.pairwise.decoded_report_moments import DecodedReportMoments
from sordino_analysis.pairwise.decoded_reports import DecodedReports
from sordino_analysis.pairwise.error_moments import ErrorMoments, ReportErrors
from tests.analysis.pairwise.test_estimators import FORM, OTHER, response

COUNTS = np.array([30, 10, 25, 15])
USERS, RUNS = int(COUNTS.sum()), 20_000


def errors(law, matrix, generator):
    """(RUNS,) errors of the estimated form about the users."""
    outputs = sum(generator.multinomial(n, law.kernel[:, x], size=RUNS) for x, n in enumerate(COUNTS))
    values = np.array([DecodedReports(law, found.astype(float)).form(matrix) for found in outputs])
    return values - (COUNTS @ matrix @ COUNTS - np.diag(matrix) @ COUNTS) / (USERS * (USERS - 1))


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_cumulants_are_those_of_simulated_campaigns(epsilon):
    law = response(epsilon)
    off = errors(law, FORM, np.random.default_rng(1))
    at = COUNTS / USERS
    found = ReportErrors.about_users(law, at, USERS).moments(FORM, at)
    # At the true histogram the slope has no noise in it.
    variance = found.slope + found.quadratic
    third = found.third + 6 * found.turned + found.cubic
    fourth = found.fourth + 48 * found.twice_turned + found.quartic
    # Standard errors of 20,000 runs: 1 % of the variance, .02 and .05 of skewness and excess; terms in 1/n are .05.
    assert off.var() == pytest.approx(variance, rel=0.06)
    assert np.mean(off**3) / off.std() ** 3 == pytest.approx(third / variance**1.5, abs=0.12)
    assert np.mean(off**4) / off.var() ** 2 - 3 == pytest.approx(fourth / variance**2, abs=0.3)


def test_moments_between_five_nodes_are_exact():
    law, at = response(2.0), COUNTS / USERS
    about = ReportErrors.about_users(law, at, USERS)

    def of(shift):
        return about.moments(FORM - shift * OTHER, at, 0.3 * FORM - shift * OTHER, -0.4 * FORM - shift * OTHER)

    nodes = 0.2 + np.linspace(-1.0, 1.0, 5)
    between = ErrorMoments.between(np.array([0.37]), nodes, [of(node) for node in nodes])
    for field in fields(ErrorMoments):
        assert getattr(between, field.name)[0] == pytest.approx(getattr(of(0.37), field.name), rel=1e-9, abs=1e-15)


def test_the_population_adds_who_was_drawn():
    law, at = response(3.0), COUNTS / USERS
    own = ReportErrors.about_users(law, at, USERS).moments(FORM, at)
    population = ReportErrors.about_population(law, at, USERS).moments(FORM, at)
    slope = FORM @ at
    drawn = 4 * (at @ slope**2 - (at @ slope) ** 2) / USERS
    assert population.slope == pytest.approx(own.slope + drawn)


def test_the_slope_varies_with_the_histogram_that_fits_and_not_with_what_the_form_cannot_see():
    """A form of rank one leaves the decoder free; what the decoder adds there must not move Σ."""
    generator = np.random.default_rng(12)
    kernel, seen = generator.dirichlet(np.ones(6), size=3).T, np.array([1.0, 0.0, -1.0])
    law = DecodedReportMoments(kernel, np.linalg.pinv(kernel))
    free = DecodedReportMoments(kernel, law.decoder + np.outer([1.0, 5.0, 1.0], generator.normal(size=6)))
    held, form = np.array([0.5, 0.3, 0.2]), np.outer(seen, seen)
    found = [ReportErrors.about_users(each, held, 100).moments(form, held) for each in (law, free)]
    assert found[1].slope_varied == pytest.approx(found[0].slope_varied)
    assert found[1].slope == pytest.approx(found[0].slope)


def test_the_histogram_that_fits_has_the_covariance_of_the_information_matrix():
    """Of 4,000 fits of 20,000 reports; five standard errors of a covariance, once in a million entries by chance."""
    generator = np.random.default_rng(13)
    kernel, held, users, runs = generator.dirichlet(np.ones(6), size=3).T, np.array([0.5, 0.3, 0.2]), 20_000, 4000
    law, vector = DecodedReportMoments(kernel, np.linalg.pinv(kernel)), np.array([1.0, -0.5, 2.0])
    counts = generator.multinomial(users, kernel @ held, size=runs).astype(float)
    fits = np.array([DecodedReports(law, each).fitted for each in counts])
    expected = law.fit_covariance(held, vector) - held * (held @ vector)
    products = users * (fits - held) * ((fits - held) @ vector)[:, None]
    assert np.all(np.abs(products.mean(axis=0) - expected) <= 5 * products.std(axis=0) / np.sqrt(runs))
