"""The lower bound: true for every kernel tried, attained where theory says, and as high as is known."""

import numpy as np
import pytest
from scipy.optimize import linprog

from sordino_analysis.optimisation.bounds import recheck, trace_bound
from sordino_analysis.optimisation.factorization import FactorizationError, factorize
from sordino_shared.errors import InvalidValue


def prefix(size):
    return np.tril(np.ones((size, size)))[:-1]


def random_kernel(rng, size, epsilon):
    """A mixture of vertices of the polytope of ε-LDP kernels on rays {1, e^ε}^k, each for a random cost."""
    members = (np.arange(2**size)[:, None] >> np.arange(size)) & 1
    rays = 1 + (np.exp(epsilon) - 1) * members
    weights = np.zeros(len(rays))
    for share in rng.dirichlet(np.ones(4)):
        vertex = linprog(rng.exponential(size=len(rays)), A_eq=rays.T, b_eq=np.ones(size), method="highs")
        weights += share * vertex.x
    return (rays * weights[:, None])[weights > 1e-12]


def variances(matrix, kernel, types):
    """Var_q(x) of the decoder with the least variance under these type weights, and whether it is unbiased."""
    inverse = 1 / (kernel @ types)
    information = kernel.T @ (inverse[:, None] * kernel)
    decoder = matrix @ np.linalg.pinv(information) @ (kernel.T * inverse)
    unbiased = np.allclose(decoder @ kernel, matrix, atol=1e-8)
    return decoder**2 @ kernel - matrix**2, unbiased


@pytest.mark.parametrize(
    "epsilon", [pytest.param(0.3, marks=pytest.mark.slow), 1.0, pytest.param(2.0, marks=pytest.mark.slow), 3.5]
)
def test_no_unbiased_kernel_is_below_the_bound(epsilon):
    rng = np.random.default_rng(int(10 * epsilon))
    tried = 0
    for _ in range(60):
        size = int(rng.integers(2, 6))
        matrix = prefix(size) if rng.random() < 0.5 else rng.normal(size=(int(rng.integers(1, 7)), size))
        types, queries = rng.dirichlet(np.full(size, 2.0)), rng.dirichlet(np.ones(len(matrix)))
        kernel = random_kernel(rng, size, epsilon)
        assert (kernel.max(axis=1) <= np.exp(epsilon) * kernel.min(axis=1) * (1 + 1e-9)).all()
        found, unbiased = variances(matrix, kernel, types)
        if not unbiased:
            continue
        tried += 1
        bound = recheck(matrix, epsilon, queries, types)
        assert queries @ found @ types >= bound * (1 - 1e-9)
    assert tried >= 30


@pytest.mark.parametrize(("size", "chosen"), [(4, 1), (6, 2), (9, 3)])
def test_subset_selection_attains_the_mean_bound_for_histograms(size, chosen):
    """With e^ε = k/d − 1 the best subset size is exactly d, and the bound is attained to the last digit."""
    epsilon = np.log(size / chosen - 1)
    members = np.array([[(s >> x) & 1 for x in range(size)] for s in range(2**size) if bin(s).count("1") == chosen])
    rays = 1 + (np.exp(epsilon) - 1) * members
    kernel, uniform = rays / rays.sum(axis=0), np.full(size, 1 / size)
    found, unbiased = variances(np.eye(size), kernel, uniform)
    assert unbiased
    bound = trace_bound(np.eye(size), epsilon, "mean")
    assert bound.value == pytest.approx(uniform @ found @ uniform, rel=1e-6)


@pytest.mark.parametrize(
    ("size", "epsilon", "objective", "expected"),
    [
        (8, 1.0, "max", 3.254),
        (8, 1.0, "mean", 3.249),
        (128, 0.5, "max", 52.51),
        (128, 0.5, "mean", 52.37),
        (128, 1.0, "max", 12.196),
        (128, 1.0, "mean", 12.165),
    ],
)
def test_prefix_bounds_are_as_high_as_known(size, epsilon, objective, expected):
    found = trace_bound(prefix(size), epsilon, objective)
    assert found.value == pytest.approx(expected, rel=1e-3)
    weights = found.query_weights, found.type_weights
    assert recheck(prefix(size), epsilon, *weights) == pytest.approx(found.value, rel=1e-9)
    # A claim that is higher than the weights prove does not pass the same check.
    assert recheck(prefix(size), epsilon, *weights) != pytest.approx(1.001 * found.value, rel=1e-4)


def test_the_ascent_improves_on_the_duals_of_the_factorization():
    matrix = np.array([[float(i <= x <= j) for x in range(24)] for i in range(24) for j in range(i, 24)])
    start = factorize(matrix, "max", 0.05)
    begun = recheck(matrix, 1.0, start.row_weights, start.column_weights)
    values = [trace_bound(matrix, 1.0, "max", start, n).value for n in (1, 5, 20, 100)]
    assert values[0] == pytest.approx(begun, rel=1e-9)
    assert values == sorted(values)
    assert values[-1] > 1.02 * begun


def test_mean_weights_are_uniform_over_the_queries_that_vary():
    matrix = np.vstack([prefix(5), np.full((2, 5), 0.5)])
    found = trace_bound(matrix, 1.0, "mean")
    np.testing.assert_allclose(found.query_weights, [0.25] * 4 + [0, 0])
    assert found.value == pytest.approx(trace_bound(prefix(5), 1.0, "mean").value, rel=1e-9)


@pytest.mark.parametrize("objective", ["max", "mean"])
def test_scaling_a_workload_scales_the_bound_by_the_square(objective):
    matrix = 30 * prefix(6) + np.arange(5.0)[:, None]
    expected = 900 * trace_bound(prefix(6), 0.7, objective).value
    assert trace_bound(matrix, 0.7, objective).value == pytest.approx(expected, rel=1e-6)


def test_large_epsilon_leaves_what_two_types_of_the_worst_query_have():
    assert trace_bound(prefix(4), 8.0).value == pytest.approx(0.25 / np.sinh(4) ** 2, rel=1e-6)
    matrix = np.random.default_rng(0).normal(size=(3, 3))
    worst = np.ptp(matrix, axis=1).max() ** 2 / 4
    assert trace_bound(matrix, 100.0).value == pytest.approx(worst / np.sinh(50) ** 2, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan"), float("inf"), 1000.0])
def test_epsilon_without_meaning_is_refused(epsilon):
    with pytest.raises(InvalidValue, match="ε"):
        trace_bound(prefix(4), epsilon)


def test_a_start_or_weights_that_do_not_fit_are_refused():
    with pytest.raises(InvalidValue, match="same matrix"):
        trace_bound(prefix(4), 1.0, "max", factorize(prefix(5)))
    with pytest.raises(InvalidValue, match="same matrix"):
        trace_bound(prefix(4), 1.0, "max", factorize(prefix(4), "mean"))
    with pytest.raises(InvalidValue, match="sum to 1"):
        recheck(prefix(4), 1.0, np.full(3, 0.5), np.full(4, 0.25))
    with pytest.raises(FactorizationError):
        trace_bound(np.ones((2, 2)), 1.0)
