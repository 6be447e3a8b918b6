"""Approximations are within α, enclose the value of the cone program, and are proved by a matrix alone."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.planning.semidefinite import solve_semidefinite
from sordino_analysis.optimisation.factorization import (
    FactorizationError,
    approximate,
    cheapest,
    check_certificate,
    factorize,
)
from sordino_analysis.optimisation.factorization import zeta as zeta_bounds
from sordino_analysis.optimisation.factorization.approximation import tangent

# The accuracy of the cone solver.
SOLVER = 1e-5


def reference(matrix, alpha, objective):
    """min t with [[X, C], [Cᵀ, Y]] ⪰ 0, |C + c1ᵀ − W| ≤ α, diag Y ≤ t and diag X ≤ t, or tr X ≤ Q·t for "mean"."""

    import cvxpy as cp

    queries, size = matrix.shape
    gram = cp.Variable((queries + size, queries + size), PSD=True)
    centre, bound = cp.Variable((queries, 1)), cp.Variable()
    rows, columns = cp.diag(gram)[:queries], cp.diag(gram)[queries:]
    spent = rows <= bound if objective == "max" else cp.sum(rows) <= queries * bound
    near = cp.abs(gram[:queries, queries:] + centre @ np.ones((1, size)) - matrix) <= alpha
    problem = cp.Problem(cp.Minimize(bound), [spent, columns <= bound, near])
    return float(problem.solve(solver="CLARABEL"))


@pytest.fixture
def matrices(prefix):
    rng = np.random.default_rng(5)
    return [prefix(8), rng.normal(size=(4, 7)), rng.normal(size=(9, 4)), np.diag([1.0, 3.0, 0.2])]


@pytest.mark.parametrize("objective", ["max", "mean"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_the_enclosure_holds_the_value_of_the_cone_program(matrices, objective, share):
    for matrix in matrices:
        alpha = share * np.ptp(matrix, axis=1).max() / 2
        found = approximate(matrix, alpha, objective, 0.01)
        value = reference(matrix, alpha, objective)
        assert found.lower <= value * (1 + SOLVER)
        assert found.upper >= value * (1 - SOLVER)
        assert found.gap < 0.02


@pytest.mark.parametrize("objective", ["max", "mean"])
def test_it_stays_within_alpha_and_its_factors_are_what_they_claim(awkward, objective):
    for name, matrix in awkward.items():
        half = np.ptp(matrix, axis=1).max() / 2
        found = approximate(matrix, 0.2 * half, objective, 0.05)
        product = found.factorization.product()
        assert np.abs(product - matrix).max() <= 0.2 * half + 1e-9 * np.abs(matrix).max(), name
        check_certificate(product, found.factorization)
        assert found.lower <= found.upper * (1 + 1e-9), name


@pytest.mark.parametrize("objective", ["max", "mean"])
def test_the_witness_proves_the_lower_bound_by_itself_and_others_at_every_alpha(prefix, objective):
    matrix = prefix(12)
    found = approximate(matrix, 0.1, objective)
    assert found.witness.value(matrix, 0.1) == pytest.approx(found.lower, rel=1e-9)
    for alpha in (0.0, 0.05, 0.3, 0.45):
        assert found.witness.value(matrix, alpha) <= reference(matrix, alpha, objective) * (1 + SOLVER)
    # A witness that is no dual point proves less, and one that forgets the centre nothing.
    shuffled = np.random.default_rng(0).permutation(found.witness.matrix)
    assert replace(found.witness, matrix=shuffled).value(matrix, 0.1) < 0.9 * found.lower
    with pytest.raises(FactorizationError, match="sum"):
        replace(found.witness, matrix=np.abs(found.witness.matrix)).value(matrix, 0.1)


def test_a_witness_over_weights_of_zero_is_refused(prefix):
    witness = approximate(prefix(5), 0.1).witness
    with pytest.raises(FactorizationError, match="weights"):
        replace(witness, row_weights=np.eye(4)[0]).value(prefix(5), 0.1)


@pytest.mark.parametrize("objective", ["max", "mean"])
def test_the_tangent_of_an_exact_factorization_is_the_slope_by_finite_differences(prefix, objective):
    """γ₂(W; α) is linear near zero for prefix sums: its derivative is −‖U‖₁ of the witness there."""
    matrix, step = prefix(10), 0.01
    exact = factorize(matrix, objective, 1e-4, max_iterations=5000)
    line = tangent(matrix, exact)
    assert line.value(matrix, 0.0) == pytest.approx(exact.lower, rel=1e-6)
    slope = (reference(matrix, step, objective) - solve_semidefinite(matrix, objective).value) / step
    assert -line.slope == pytest.approx(slope, rel=0.02)


def test_the_more_may_be_wrong_the_less_is_to_factorize(prefix):
    values = [approximate(prefix(32), alpha, gap=1e-3).upper for alpha in (0.0, 0.05, 0.2, 0.4)]
    assert values == sorted(values, reverse=True)
    assert values[0] == pytest.approx(factorize(prefix(32), gap=1e-3).upper, rel=2e-3)
    assert values[3] < 0.3 * values[0]


def test_rows_that_alpha_makes_constant_count_as_queries_of_the_mean():
    matrix = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.1]])
    found = approximate(matrix, 0.06, "mean")
    assert found.lower <= reference(matrix, 0.06, "mean") * (1 + SOLVER) <= found.upper * (1 + 2 * SOLVER)
    np.testing.assert_allclose(found.factorization.product()[1], 0.05)


@pytest.mark.parametrize("users", [1, 10, 100])
def test_zeta_is_enclosed_by_the_least_of_many_alphas(prefix, users):
    matrix = prefix(9)
    lower, upper = zeta_bounds(matrix, factorize(matrix), 0.5, users)
    alphas = np.linspace(0, 0.5, 11)
    tried = [reference(matrix, alpha, "max") + alpha * 0.5 * np.sqrt(users) for alpha in alphas]
    assert lower <= min(tried) * (1 + SOLVER)
    # Between two alphas that were tried it may be lower, by less than a step of either term.
    assert lower <= upper <= min(tried) * 1.03


def test_nothing_is_approximated_where_it_does_not_pay(prefix):
    matrix = prefix(16)
    found, least = cheapest(matrix, factorize(matrix), lambda gamma, alpha: gamma + 1e3 * alpha)
    assert found is None
    assert least == pytest.approx(factorize(matrix).lower, rel=1e-6)


@pytest.mark.parametrize("alpha", [-0.1, 0.5, float("nan")])
def test_an_alpha_that_leaves_nothing_to_factorize_is_refused(prefix, alpha):
    with pytest.raises(FactorizationError, match="alpha"):
        approximate(prefix(6), alpha)


def test_once_late_it_returns_what_is_proved(prefix):
    found = approximate(prefix(64), 0.1, gap=1e-6, should_stop=lambda: True)
    assert 0 < found.lower < found.upper
