"""The kernel of one query against linear programs over all extreme rows, closed forms and its own promises."""

import numpy as np
import pytest
from scipy.optimize import linprog

from sordino_analysis.evaluation.integer_kernels import KernelError, probabilities
from sordino_analysis.mechanisms.single_query import query_kernel
from sordino_analysis.vectorized.arrays import ndarray
from sordino_shared.audit import prove_epsilon
from sordino_shared.guarantees import PureEpsilon


def least_variance(values, weights, epsilon, outputs):
    """min Σ π_x Var(x) over mixtures of all rows {1, e^ε}^k with an output value each, by enumeration."""
    size = len(values)
    members = (np.arange(2**size)[:, None] >> np.arange(size)) & 1
    rows = np.tile(np.where(members == 1, np.exp(epsilon), 1.0), (len(outputs), 1))
    sent = np.repeat(outputs, 2**size)
    found = linprog(
        sent**2 * (rows @ weights),
        A_eq=np.vstack([rows.T, (sent[:, None] * rows).T]),
        b_eq=np.append(np.ones(size), values),
        method="highs",
    )
    return found.fun - weights @ values**2


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_it_is_as_good_as_all_extreme_rows(epsilon):
    values, weights = np.array([-1.0, -0.7, 0.1, 1.0]), np.array([0.4, 0.1, 0.3, 0.2])
    reach = 1.75 / np.tanh(epsilon / 2)
    least = least_variance(values, weights, epsilon, np.linspace(-reach, reach, 121))
    found = float(weights @ query_kernel(values, weights, PureEpsilon.of(epsilon)).variances)
    # The grids of values and of outputs cost something; at 1 % it must be seen where they are coarse.
    assert least * (1 - 1e-3) < found < least * 1.05


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_two_values_are_randomised_response(epsilon):
    found = query_kernel(np.array([0.0, 1.0]), np.array([0.3, 0.7]), PureEpsilon.of(epsilon))
    least = np.exp(epsilon) / np.expm1(epsilon) ** 2
    assert found.variances == pytest.approx([least, least], rel=1e-4)


def test_at_a_small_epsilon_it_is_the_two_point_law():
    values = np.linspace(2.0, 5.0, 40)
    found = query_kernel(values, np.full(40, 1 / 40), PureEpsilon.of(0.02))
    two_points = (1.5 / np.tanh(0.01)) ** 2 - (values - 3.5) ** 2
    assert found.variances == pytest.approx(two_points, rel=1e-3)


@pytest.mark.parametrize("epsilon", [0.001, 0.5, 3.0, 10.0])
def test_it_is_unbiased_and_keeps_epsilon(epsilon):
    generator = np.random.default_rng(3)
    values, weights = 1e3 * generator.standard_normal(100), generator.dirichlet(np.ones(100))
    found = query_kernel(values, weights, PureEpsilon.of(epsilon))
    means = ndarray(found.decoder.offset) + ndarray(found.decoder.matrix) @ probabilities(found.kernel)
    assert np.abs(means - values).max() < 1e-9 * np.ptp(values) * max(1.0, 1 / epsilon)
    proved = prove_epsilon(found.kernel)
    assert proved is not None
    assert proved <= PureEpsilon.of(epsilon)
    assert found.kernel.rows.shape[0] < 80


def test_weights_move_the_variance_to_where_they_are_small():
    values = np.linspace(-1, 1, 30)
    at_one_end = np.where(values < -0.6, 1.0, 1e-3)
    guarantee = PureEpsilon.of(2)
    there = at_one_end / at_one_end.sum()
    for_it, even = (query_kernel(values, weights, guarantee) for weights in (there, np.full(30, 1 / 30)))
    assert there @ for_it.variances < 0.9 * (there @ even.variances)


def test_it_is_the_same_for_the_same_values():
    values, weights = np.sin(np.arange(50.0)), np.full(50, 0.02)
    first, second = (query_kernel(values, weights, PureEpsilon.of(1)) for _ in range(2))
    assert first.kernel == second.kernel
    assert first.decoder == second.decoder


def test_a_query_that_is_the_same_for_everybody_is_refused():
    with pytest.raises(KernelError, match="same answer"):
        query_kernel(np.full(5, 2.0), np.full(5, 0.2), PureEpsilon.of(1))


def test_values_next_to_each_other_are_one_point_of_a_grid_that_is_otherwise_exact():
    """On an even grid of 33 points the mean variance was 18 % higher."""
    values = np.array([-1.0, -0.2, -0.2 + 1e-9, 0.55, 1.0])
    guarantee, weights = PureEpsilon.of(6.0), np.full(5, 0.2)
    apart = query_kernel(values[[0, 1, 3, 4]], weights[:4] * [1, 2, 1, 1], guarantee).variances
    assert query_kernel(values, weights, guarantee).variances == pytest.approx(apart[[0, 1, 1, 2, 3]], rel=1e-4)
