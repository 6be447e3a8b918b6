"""The bound of odd workloads: found whatever the order of types, below every kernel, attained where theory says."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import linprog

from sordino_analysis.optimisation.bounds import recheck, trace_bound
from sordino_analysis.optimisation.bounds.odd import largest_odd_trace, odd_bound, oddness, recheck_odd
from sordino_analysis.optimisation.factorization import factorize
from sordino_shared.errors import InvalidValue


def conjunctions(attributes, width):
    """c(x) = ±1 of every conjunction of up to `width` literals, over all x in {0, 1}^d."""
    cells = np.array(list(product((0, 1), repeat=attributes)))
    rows = []
    for used in range(width + 1):
        for support in combinations(range(attributes), used):
            rows += [2 * (cells[:, support] == signs).all(axis=1) - 1 for signs in product((0, 1), repeat=used)]
    return np.array(rows, dtype=float)


def thresholds(bins):
    return 2.0 * (np.arange(bins) >= np.arange(bins)[:, None]) - 1


def labelled(concepts):
    """The queries y·c(x) over (x, +) and then (x, −)."""
    return np.hstack([concepts, -concepts])


def least_second_moment(matrix, epsilon):
    """The least mean over queries and even types of an unbiased answer's square, over all mixtures of 2^k rays."""

    import cvxpy as cp

    types = matrix.shape[1]
    rays = 1 + math.expm1(epsilon) * ((np.arange(1, 2**types - 1)[:, None] >> np.arange(types)) & 1)
    likelihoods = rays / rays.mean(axis=1, keepdims=True)
    chances = cp.Variable(len(rays), nonneg=True)
    information = likelihoods.T @ cp.diag(chances) @ likelihoods
    values, vectors = np.linalg.eigh(matrix.T @ matrix)
    roots = (vectors * np.sqrt(np.maximum(values, 0)))[:, values > 1e-9]
    cost = sum(cp.matrix_frac(roots[:, j], information) for j in range(roots.shape[1]))
    problem = cp.Problem(cp.Minimize(cost / len(matrix)), [likelihoods.T @ chances == 1])
    return problem.solve(solver="CLARABEL")


def test_s_squared_is_the_largest_spread_of_a_pair():
    for epsilon in (0.2, 1.0, math.log(3), 1.5, 2.0, 4.0):
        low = np.linspace(0, 1, 200001)[1:]
        high = low * math.exp(epsilon)
        low, high = low[high >= 1], high[high >= 1]
        envelope = 0.5 * (high - low) * np.minimum(1 - low, high - 1)
        assert largest_odd_trace(epsilon) == pytest.approx(envelope.max(), rel=1e-4)
        assert largest_odd_trace(epsilon) < math.sinh(epsilon / 2) ** 2


def test_oddness_is_found_whatever_the_order_of_types_and_constants():
    rng = np.random.default_rng(3)
    matrix = labelled(conjunctions(3, 2)) @ np.eye(16)[:, rng.permutation(16)] * 0.5 + rng.normal(size=(19, 1))
    found = oddness(matrix)
    assert (found.partner[found.partner] == np.arange(16)).all()
    assert np.allclose(matrix + matrix[:, found.partner], 2 * found.centre[:, None])
    matrix[0, 0] += 1e-3
    assert oddness(matrix) is None
    assert oddness(np.tril(np.ones((4, 5)))[:3]) is None
    assert oddness(np.ones((2, 4))) is None


def test_types_that_look_alike_and_types_in_the_middle_have_partners():
    row = np.array([[1.0, 0.0, -1.0, 1.0, -1.0, 0.0, 0.0]])
    found = oddness(np.vstack([row, 3 * row + 2]))
    assert (found.partner[found.partner] == np.arange(7)).all()


@pytest.mark.parametrize(
    "epsilon", [pytest.param(0.5, marks=pytest.mark.slow), 1.0, pytest.param(2.0, marks=pytest.mark.slow), 3.5]
)
def test_no_unbiased_kernel_is_below_the_bound(epsilon):
    """Random kernels, odd ones among them: half of their outputs are the others under σ."""
    rng = np.random.default_rng(int(10 * epsilon))
    matrix = labelled(thresholds(3))
    for number in range(60):
        types, queries = np.tile(rng.dirichlet(np.ones(3)) / 2, 2), rng.dirichlet(np.ones(3))
        kernel = random_kernel(rng, 6, epsilon)
        if number % 2:
            kernel = np.vstack([kernel, np.roll(kernel, 3, axis=1)]) / 2
        inverse = 1 / (kernel @ types)
        information = kernel.T @ (inverse[:, None] * kernel)
        decoder = matrix @ np.linalg.pinv(information) @ (kernel.T * inverse)
        if np.allclose(decoder @ kernel, matrix, atol=1e-8):
            variances = decoder**2 @ kernel - matrix**2
            assert queries @ variances @ types >= recheck_odd(matrix, epsilon, queries, types) * (1 - 1e-9)


def random_kernel(rng, size, epsilon):
    members = (np.arange(2**size)[:, None] >> np.arange(size)) & 1
    rays = 1 + math.expm1(epsilon) * members
    weights = np.zeros(len(rays))
    for share in rng.dirichlet(np.ones(4)):
        vertex = linprog(rng.exponential(size=len(rays)), A_eq=rays.T, b_eq=np.ones(size), method="highs")
        weights += share * vertex.x
    return (rays * weights[:, None])[weights > 1e-12]


@pytest.mark.parametrize("concepts", [conjunctions(2, 1), thresholds(4)], ids=["conjunctions", "thresholds"])
@pytest.mark.parametrize(("epsilon", "loss"), [(1.0, 1e-4), (1.5, 0.02)])
def test_the_best_of_all_kernels_attains_it_up_to_ln_3(concepts, epsilon, loss):
    matrix = labelled(concepts)
    best = least_second_moment(matrix, epsilon) - 1
    even = np.full(len(matrix), 1 / len(matrix)), np.full(8, 1 / 8)
    bound = recheck_odd(matrix, epsilon, *even)
    assert bound <= best * (1 + 1e-5)
    assert bound >= best * (1 - loss)
    assert bound > 1.2 * recheck(matrix, epsilon, *even)


@pytest.mark.parametrize("objective", ["max", "mean"])
def test_the_ascent_ends_above_the_trace_bound_and_is_made_again(objective):
    matrix = labelled(conjunctions(3, 2)) / 2 + 0.5
    start = factorize(matrix, objective, 0.05)
    found = odd_bound(matrix, 1.0, objective, start)
    assert recheck_odd(matrix, 1.0, found.query_weights, found.type_weights) == found.value
    assert found.value > 1.2 * trace_bound(matrix, 1.0, objective, start).value


def test_weights_off_the_simplex_are_refused():
    with pytest.raises(InvalidValue, match="sum to 1"):
        recheck_odd(labelled(thresholds(2)), 1.0, np.array([0.7, 0.7]), np.full(4, 0.25))
