"""A fixed kernel's decoder for the worst query: unbiased, near the exact optimum, and told which bound proves it."""

import numpy as np
import pytest

from sordino_analysis.optimisation.search.balanced_rows import balanced_weights
from sordino_analysis.optimisation.search.minimax_weights import minimax_weights
from sordino_analysis.optimisation.search.objectives import gls_decoder, variances

EPSILON, UNIFORM = 1.5, np.full(7, 1 / 7)


@pytest.fixture
def kernel():
    generator = np.random.default_rng(7)
    levels = np.where(generator.random((40, 7)) < 0.3, np.exp(EPSILON), 1.0)
    weights = np.ones(40) / (levels.sum(axis=0).mean())
    return balanced_weights(levels, weights)[:, None] * levels


@pytest.fixture
def prefixes():
    return np.tril(np.ones((7, 7)))[:-1]


def exact_worst_variance(kernel, matrix):
    """min over unbiased decoders of the largest variance, query by query, as a cone program."""

    import cvxpy

    worst = []
    for row in matrix:
        decoder = cvxpy.Variable(len(kernel))
        seconds = [cvxpy.sum_squares(cvxpy.multiply(np.sqrt(column), decoder)) for column in kernel.T]
        largest = cvxpy.max(cvxpy.hstack([s - w for s, w in zip(seconds, row**2, strict=True)]))
        problem = cvxpy.Problem(cvxpy.Minimize(largest), [kernel.T @ decoder == row])
        worst.append(problem.solve(solver="CLARABEL"))
    return max(worst)


def reached(kernel, matrix, found):
    return variances(kernel, found.decoder(kernel, matrix), matrix).max(axis=1)


def test_near_the_exact_optimum_and_unbiased(kernel, prefixes):
    found = minimax_weights(kernel, prefixes, UNIFORM)
    assert np.abs(found.decoder(kernel, prefixes) @ kernel - prefixes).max() < 1e-8
    np.testing.assert_allclose(reached(kernel, prefixes, found), found.worst, rtol=1e-6)
    exact = exact_worst_variance(kernel, prefixes)
    assert found.least <= exact * (1 + 1e-6)
    assert exact * (1 - 1e-6) <= found.worst.max() <= exact * 1.002
    # Least squares alone is not within that, so the weights are what this test sees.
    assert variances(kernel, gls_decoder(kernel, prefixes, UNIFORM), prefixes).max() > exact * 1.02


def test_least_squares_for_all_when_time_is_up(kernel, prefixes):
    found = minimax_weights(kernel, prefixes, UNIFORM, lambda: True)
    np.testing.assert_allclose(found.decoder(kernel, prefixes), gls_decoder(kernel, prefixes, UNIFORM))


def test_ends_where_it_is_good_enough(kernel, prefixes):
    exact, common = exact_worst_variance(kernel, prefixes), minimax_weights(kernel, prefixes, UNIFORM, lambda: True)
    enough = (exact + common.worst.max()) / 2
    found = minimax_weights(kernel, prefixes, UNIFORM, enough=enough)
    assert exact * 1.002 < found.worst.max() <= enough
    assert len(found.type_weights) < len(minimax_weights(kernel, prefixes, UNIFORM).type_weights)


def test_the_worst_of_many_queries_is_within_the_gap_of_what_is_proved(kernel):
    """Whichever queries are worst after the first have weights of their own are taken in, until none is worse."""
    matrix = np.random.default_rng(3).standard_normal((300, 7))
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    plain = variances(kernel, gls_decoder(kernel, matrix, UNIFORM), matrix).max(axis=1)
    found = minimax_weights(kernel, matrix, UNIFORM)
    assert reached(kernel, matrix, found).max() <= 1.002 * found.least < plain.max()
    assert found.least <= exact_worst_variance(kernel, matrix[np.argsort(-plain)[:40]]) * (1 + 1e-6)
    assert len(found.type_weights) < 40
