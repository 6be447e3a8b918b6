"""The limits of what a report tells: no kernel exceeds them, some attain them; the least variance is the program's."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sordino_analysis.optimisation.bounds import recheck, trace_bound
from sordino_analysis.optimisation.bounds.information import information_limits, least_excesses, least_variance
from sordino_analysis.optimisation.bounds.intervals import even_plane_bound, even_prefix_bound, even_range_bound
from sordino_analysis.optimisation.bounds.odd import odd_limits


def information(kernel: np.ndarray, types: np.ndarray) -> np.ndarray:
    """X, the constant left out."""
    ratios = kernel / (kernel @ types)[:, None] - 1
    scaled = ratios * np.sqrt(types)
    return (scaled.T * (kernel @ types)) @ scaled


def random_kernel(rng: np.random.Generator, types: int, epsilon: float) -> np.ndarray:
    """An ε-LDP kernel: rows of two levels, and what a column leaves in one that is nearly constant."""
    levels = np.where(rng.random((12, types)) < rng.uniform(0.1, 0.9), math.exp(epsilon), 1.0)
    kernel = levels * rng.exponential(size=(12, 1))
    kernel *= rng.uniform(0.3, 1.0) / kernel.sum(axis=0).max()
    rest = 1 - kernel.sum(axis=0)
    return np.vstack([kernel, rest]) if rest.max() <= math.exp(epsilon) * rest.min() else kernel[:0]


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5, 5.0])
def test_no_kernel_exceeds_the_limits(epsilon: float) -> None:
    rng, limits, tried = np.random.default_rng(1), information_limits(epsilon), 0
    for _ in range(400):
        types = int(rng.integers(2, 7))
        kernel = random_kernel(rng, types, epsilon)
        if not len(kernel):
            continue
        tried += 1
        eigenvalues = np.linalg.eigvalsh(information(kernel, rng.dirichlet(np.ones(types))))
        assert eigenvalues[-1] <= limits.eigenvalue * (1 + 1e-9)
        assert eigenvalues.sum() <= limits.trace * (1 + 1e-9)
    assert tried > 50


def test_randomised_response_attains_both_limits_at_once() -> None:
    """Of two even types the one eigenvalue is tanh²(ε/2); at a sixth of one type of six the trace is sinh²(ε/2)."""
    two = np.array([[math.e, 1], [1, math.e]]) / (1 + math.e)
    found = np.linalg.eigvalsh(information(two, np.full(2, 0.5)))
    assert found[-1] == pytest.approx(information_limits(1.0).eigenvalue, rel=1e-12)
    epsilon = math.log(5)
    six = (1 + 4 * np.eye(6)) / 10
    assert np.trace(information(six, np.full(6, 1 / 6))) == pytest.approx(information_limits(epsilon).trace, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
@pytest.mark.parametrize("priced", [False, True])
def test_the_least_variance_is_that_of_the_convex_program(epsilon: float, priced: bool) -> None:
    cp = pytest.importorskip("cvxpy")
    rng, limits = np.random.default_rng(3), information_limits(epsilon)
    for size in (1, 3, 9):
        values, counts = rng.exponential(size=size) + 0.05, rng.integers(1, 5, size).astype(float)
        prices = rng.uniform(0.2, 2, size) if priced else np.ones(size)
        x = cp.Variable(size, nonneg=True)
        cost = cp.sum(cp.multiply(counts * values**2, cp.inv_pos(x) - 1))
        limited = [counts * prices @ x <= limits.trace, x <= limits.eigenvalue]
        best = cp.Problem(cp.Minimize(cost), limited).solve(solver="CLARABEL")
        assert least_variance(values, limits, counts, prices) == pytest.approx(best, rel=1e-4)


def test_a_price_of_nothing_leaves_the_largest_eigenvalue() -> None:
    limits = information_limits(1.0)
    excesses = least_excesses(np.array([1.0, 1.0, 1.0]), limits, prices=np.array([0.0, 1.0, 1.0]))
    assert excesses[0] == limits.least_excess
    assert excesses[1] == pytest.approx(2 / limits.trace - 1)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0, 8.0, 16.0, 60.0])
def test_no_bound_of_queries_that_vary_is_nothing(epsilon: float) -> None:
    """Two types of one query leave 1/(4 sinh²(ε/2)); others more on average."""
    least = 0.25 / math.sinh(epsilon / 2) ** 2
    matrix = np.tril(np.ones((8, 8)))[:-1]
    assert trace_bound(matrix, epsilon, "max").value >= least * (1 - 1e-6)
    assert trace_bound(matrix, epsilon, "mean").value > 0.3 * least
    assert even_prefix_bound(4096, epsilon) > 0.3 * least
    assert even_range_bound(600, 180299, epsilon) > 0.3 * least
    assert even_plane_bound(64, 64, epsilon) > 0.3 * least
    assert odd_limits(epsilon).least_excess == information_limits(epsilon).least_excess


def test_the_limit_of_eigenvalues_never_lowers_a_bound() -> None:
    for size, epsilon in ((8, 1.0), (8, 4.0), (32, 4.0), (64, 6.0)):
        matrix = np.tril(np.ones((size, size)))[:-1]
        rows, columns = np.full(size - 1, 1 / (size - 1)), np.full(size, 1 / size)
        scaled = np.sqrt(rows)[:, None] * (matrix - matrix.mean(axis=1)[:, None]) * np.sqrt(columns)
        values = np.linalg.svd(scaled, compute_uv=False)
        before = max(0.0, values.sum() ** 2 / math.sinh(epsilon / 2) ** 2 - values @ values)
        found = recheck(matrix, epsilon, rows, columns)
        assert found >= before * (1 - 1e-12)
        assert epsilon < 4 or found > 1.05 * before


def test_randomised_response_of_two_types_attains_the_bound() -> None:
    """So any larger limit would make a bound that is false."""
    epsilon, matrix = 4.0, np.array([[0.0, 1.0]])
    kernel = np.array([[math.exp(epsilon), 1], [1, math.exp(epsilon)]]) / (1 + math.exp(epsilon))
    decoder = matrix @ np.linalg.inv(kernel)
    least = (decoder**2 @ kernel - matrix**2).mean()
    assert recheck(matrix, epsilon, np.ones(1), np.full(2, 0.5)) == pytest.approx(least, rel=1e-9)
