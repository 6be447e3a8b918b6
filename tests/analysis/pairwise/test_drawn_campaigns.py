"""Drawn campaigns say how often an interval holds; 4,000 of them to .34 %, so that four standard errors are 1.4 %."""

import numpy as np
import pytest
from scipy.stats import binom

from sordino_analysis.pairwise.decoded_report_moments import DecodedReportMoments
from sordino_analysis.pairwise.decoded_reports import DecodedReports
from sordino_analysis.pairwise.drawn_campaigns import DrawnCampaigns
from sordino_analysis.pairwise.error_moments import ErrorMoments, IndependentError
from sordino_analysis.pairwise.estimators import own_error
from sordino_analysis.pairwise.quadratic_error import QuadraticError
from tests.analysis.pairwise.test_estimators import FORM, response

LEVEL, USERS = 0.95, 400


def two_types(lie):
    """Randomized response on two types with this chance of a lie, and the form that counts unlike pairs."""
    kernel = np.array([[1 - lie, lie], [lie, 1 - lie]])
    return DecodedReportMoments(kernel, np.linalg.inv(kernel)), np.array([[0.0, 1.0], [1.0, 0.0]])


def test_of_many_noisy_reports_intervals_hold_as_stated():
    reports = DecodedReports(response(1.0), np.array([900.0, 400.0, 500.0, 200.0, 100.0]))
    error = own_error(FORM, reports)
    assert DrawnCampaigns(FORM, reports).coverage(error, LEVEL) == pytest.approx(LEVEL, abs=0.015)
    half = QuadraticError(ErrorMoments.without_slope(0.0, 0.0, IndependentError(variance=error.variance / 4)))
    assert DrawnCampaigns(FORM, reports).coverage(half, LEVEL) < 0.75


@pytest.mark.parametrize("lies", [0.5, 1.5, 4.0])
def test_of_few_lies_it_is_the_chance_of_as_many_lies_as_the_interval_has(lies):
    law, matrix = two_types(lies / USERS)
    reports = DecodedReports(law, np.array([USERS - 1.0, 1.0]))
    # All but one are of one type, so each lie adds 2·l_1 − 2·l_0 to n times the error, up to the quadratic term.
    error = own_error(matrix, reports)
    found = DrawnCampaigns(matrix, reports).coverage(error, LEVEL)
    low, high = error.quantiles(np.zeros(1), (0.025, 0.975))
    slope = matrix @ reports.histogram
    step = 2 * (slope[1] - slope[0]) / (1 - 2 * lies / USERS) / USERS
    counts = np.arange(40)
    inside = (step * (counts - lies) >= low) & (step * (counts - lies) <= high)
    assert found == pytest.approx(binom.pmf(counts, USERS, lies / USERS)[inside].sum(), abs=0.03)


def test_many_types_are_left_to_the_number_of_events():
    size = 40
    law = DecodedReportMoments(np.eye(size), np.eye(size))
    reports = DecodedReports(law, np.ones(size))
    assert (
        DrawnCampaigns(np.ones((size, size)), reports).coverage(own_error(np.ones((size, size)), reports), 0.95) is None
    )
