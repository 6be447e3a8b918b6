"""Drawn campaigns say how often an interval holds; 2,000 of them to .49 %, so that four standard errors are 2 %."""

import numpy as np
import pytest
from scipy.stats import binom, ks_2samp

from sordino_analysis.pairwise.answers import Answers
from sordino_analysis.pairwise.decoded_report_moments import DecodedReportMoments
from sordino_analysis.pairwise.decoded_reports import DecodedReports
from sordino_analysis.pairwise.drawn_campaigns import DrawnRounds, DrawnSteps
from sordino_analysis.pairwise.error_moments import ErrorMoments, IndependentError
from sordino_analysis.pairwise.estimators import own_error
from sordino_analysis.pairwise.one_step import StepErrors
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
    assert DrawnRounds(FORM, reports).coverage(error, LEVEL) == pytest.approx(LEVEL, abs=0.02)
    half = QuadraticError(ErrorMoments.without_slope(0.0, 0.0, IndependentError(variance=error.variance / 4)))
    assert DrawnRounds(FORM, reports).coverage(half, LEVEL) < 0.75


@pytest.mark.parametrize("lies", [0.5, 1.5, 4.0])
def test_of_few_lies_it_is_the_chance_of_as_many_lies_as_the_interval_has(lies):
    law, matrix = two_types(lies / USERS)
    reports = DecodedReports(law, np.array([USERS - 1.0, 1.0]))
    # All but one are of one type, so each lie adds 2·l_1 − 2·l_0 to n times the error, up to the quadratic term.
    error = own_error(matrix, reports)
    found = DrawnRounds(matrix, reports).coverage(error, LEVEL)
    low, high = error.quantiles(np.zeros(1), (0.025, 0.975))
    slope = matrix @ reports.fitted
    step = 2 * (slope[1] - slope[0]) / (1 - 2 * lies / USERS) / USERS
    counts = np.arange(40)
    inside = (step * (counts - lies) >= low) & (step * (counts - lies) <= high)
    assert found == pytest.approx(binom.pmf(counts, USERS, lies / USERS)[inside].sum(), abs=0.03)


def test_many_types_are_left_to_the_number_of_events():
    size = 40
    law = DecodedReportMoments(np.eye(size), np.eye(size))
    reports = DecodedReports(law, np.ones(size))
    assert DrawnRounds(np.ones((size, size)), reports).coverage(own_error(np.ones((size, size)), reports), 0.95) is None


def rounds(lie, same_users):
    """Two rounds of both types in which a lie is as rare, and what was found in them."""
    law, matrix = two_types(lie)
    reports = DecodedReports(law, np.array([USERS - 120.0, 120.0]))
    answers = asked(law, matrix @ reports.histogram, np.array([USERS - 100, 100]), same_users, np.random.default_rng(1))
    return matrix, reports, answers


def asked(law, values, counts, same_users, generator):
    """The second round's answers, by the same randomized response as the first."""
    sent = values @ law.decoder
    outputs = sum(generator.multinomial(n, law.kernel[:, x]) for x, n in enumerate(counts))
    users = int(counts.sum())
    return Answers(
        mean=float(outputs @ sent / users), sent=sent, chances=law.kernel, users=users, same_users=same_users
    )


@pytest.mark.parametrize("same_users", [True, False])
@pytest.mark.parametrize("lie", [0.004, 0.25])
def test_two_rounds_are_drawn_as_they_are_played(lie, same_users):
    """Kolmogorov and Smirnov's distance of 1,500 played errors: at level .001, and errors half as wide are refused."""
    matrix, reports, answers = rounds(lie, same_users)
    generator, runs = np.random.default_rng(3), 1500
    drawn = DrawnSteps(matrix, reports, answers, 0.4)
    errors = []
    for _ in range(runs):
        held = generator.multinomial(USERS if same_users else 2 * USERS, reports.fitted)
        first = held if same_users else generator.binomial(held, 0.5)
        outputs = sum(generator.multinomial(n, reports.law.kernel[:, x]) for x, n in enumerate(first))
        played = DecodedReports(reports.law, outputs.astype(float))
        second = held if same_users else held - first
        found = asked(reports.law, matrix @ played.histogram, second, same_users, generator)
        pairs = played.form(matrix)
        answered = USERS * found.mean / (USERS - 1) if same_users else found.mean
        errors.append(pairs + 0.8 * (answered - pairs) - 2 * held[0] * held[1] / held.sum() / (held.sum() - 1))
    law = drawn.errors(np.random.default_rng(4))
    assert ks_2samp(errors, law).pvalue > 1e-3
    assert ks_2samp(np.array(errors) / 2, law).pvalue < 1e-3


@pytest.mark.parametrize("same_users", [True, False])
def test_intervals_of_two_rounds_hold_in_drawn_ones(same_users):
    matrix, reports, answers = rounds(0.25, same_users)
    error = QuadraticError(StepErrors(matrix, reports, answers, 0.4)(np.zeros((2, 2)))[0])
    assert DrawnSteps(matrix, reports, answers, 0.4).coverage(error, LEVEL) == pytest.approx(LEVEL, abs=0.02)
