"""A fixed kernel's decoder for the worst query: unbiased, never worse than least squares, near the exact optimum."""

import cvxpy
import numpy as np
import pytest

from sordino_analysis.optimisation.search.balanced_rows import balanced_weights
from sordino_analysis.optimisation.search.minimax_decoder import minimax_decoder
from sordino_analysis.optimisation.search.objectives import gls_decoder, variances

EPSILON = 1.5


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
    worst = []
    for row in matrix:
        decoder = cvxpy.Variable(len(kernel))
        seconds = [cvxpy.sum_squares(cvxpy.multiply(np.sqrt(column), decoder)) for column in kernel.T]
        largest = cvxpy.max(cvxpy.hstack([s - w for s, w in zip(seconds, row**2, strict=True)]))
        problem = cvxpy.Problem(cvxpy.Minimize(largest), [kernel.T @ decoder == row])
        worst.append(problem.solve(solver="CLARABEL"))
    return max(worst)


def test_near_the_exact_optimum_and_unbiased(kernel, prefixes):
    uniform = np.full(7, 1 / 7)
    decoder = minimax_decoder(kernel, prefixes, uniform, 300, lambda: False)
    assert np.abs(decoder @ kernel - prefixes).max() < 1e-8
    reached = variances(kernel, decoder, prefixes).max()
    exact = exact_worst_variance(kernel, prefixes)
    assert exact * (1 - 1e-6) <= reached <= exact * 1.01
    # Least squares alone is not within that, so the descent is what this test sees.
    assert variances(kernel, gls_decoder(kernel, prefixes, uniform), prefixes).max() > exact * 1.02


def test_no_worse_than_least_squares_when_time_is_up(kernel, prefixes):
    uniform = np.full(7, 1 / 7)
    decoder = minimax_decoder(kernel, prefixes, uniform, 300, lambda: True)
    np.testing.assert_allclose(decoder, gls_decoder(kernel, prefixes, uniform))


def test_queries_beyond_the_first_active_ones_are_watched(kernel):
    """Many scaled copies: whichever are worst after the first descents are taken in, until none is worse."""
    generator = np.random.default_rng(3)
    matrix = generator.standard_normal((300, 7))
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    uniform = np.full(7, 1 / 7)
    plain = variances(kernel, gls_decoder(kernel, matrix, uniform), matrix).max(axis=1)
    found = variances(kernel, minimax_decoder(kernel, matrix, uniform, 150, lambda: False), matrix).max(axis=1)
    assert found.max() <= plain.max()
    assert found.max() <= 1.01 * max(exact_worst_variance(kernel, matrix[[i]]) for i in np.argsort(-plain)[:20])
