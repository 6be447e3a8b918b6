"""The nearest histogram: against a cone solver, and for what a projection promises."""

import time

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino_server.design.workloads import builtin, parse_specification
from sordino_server.design.workloads.operators import Dense
from sordino_server.estimation import consistency
from sordino_server.estimation.consistency import nearest_histogram, project_onto_simplex


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=30))
def test_the_projection_onto_the_simplex_meets_its_optimality_conditions(entries):
    point = np.array(entries)
    found = project_onto_simplex(point)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1.0)
    # Where an entry is kept, point − found is one number; elsewhere it is no larger.
    shift = point - found
    assert shift.max() - shift[found > 0].min() <= 1e-9 * (1 + np.abs(point).max())


@pytest.mark.parametrize("kind", ["histogram", "prefix", "ranges", "matrix"])
@pytest.mark.parametrize("noise", [0.01, 1.0])
def test_it_is_the_least_squares_solution_of_a_cone_solver(kind, noise):
    rng = np.random.default_rng(11)
    size = 9
    operator = Dense(rng.normal(size=(4, size))) if kind == "matrix" else builtin(kind, size).operator
    answers = operator.matvec(rng.dirichlet(np.ones(size))) + noise * rng.normal(size=operator.shape[0])
    histogram = cp.Variable(size, nonneg=True)
    matrix = operator.dense()
    problem = cp.Problem(cp.Minimize(cp.sum_squares(matrix @ histogram - answers)), [cp.sum(histogram) == 1])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    found = nearest_histogram(operator, answers, 1e-10)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1.0)
    assert ((operator.matvec(found) - answers) ** 2).sum() <= problem.value + 2e-10
    np.testing.assert_allclose(operator.matvec(found), matrix @ histogram.value, atol=2e-5)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 20), st.floats(0.001, 10), st.sampled_from(["prefix", "ranges"]))
def test_it_is_never_farther_from_the_truth_than_the_answers_were(seed, size, noise, kind):
    rng = np.random.default_rng(seed)
    operator = builtin(kind, size).operator
    truth = operator.matvec(rng.dirichlet(np.ones(size)))
    answers = truth + noise * rng.normal(size=len(truth))
    tolerance = consistency.RELATIVE_GAP * noise**2 * len(truth)
    projected = operator.matvec(nearest_histogram(operator, answers, tolerance))
    # A point within δ of the least squared error is within √δ of the projection.
    assert np.linalg.norm(projected - truth) <= np.linalg.norm(answers - truth) + np.sqrt(tolerance)


def test_a_cdf_comes_out_monotone_between_zero_and_one():
    operator = builtin("prefix", 200).operator
    answers = np.linspace(0, 1, 199) + np.random.default_rng(2).normal(size=199)
    found = operator.matvec(nearest_histogram(operator, answers, 1e-4))
    assert (np.diff(found) >= 0).all()
    assert found[0] >= 0
    assert found[-1] <= 1 + 1e-12


def test_answers_that_a_histogram_has_are_left_alone():
    operator, histogram = builtin("prefix", 40).operator, np.random.default_rng(3).dirichlet(np.ones(40))
    answers = operator.matvec(histogram)
    np.testing.assert_allclose(operator.matvec(nearest_histogram(operator, answers, 1e-12)), answers, atol=2e-6)


@pytest.mark.parametrize(("name", "value"), [("_DENSE_GRAM_TYPES", 10), ("_MOST_ACTIVE_SETS", 0)])
def test_gradients_find_the_same_point(monkeypatch, name, value):
    operator = builtin("prefix", 60).operator
    answers = np.random.default_rng(4).normal(size=59)
    by_sets = nearest_histogram(operator, answers, 1e-8)
    monkeypatch.setattr(consistency, name, value)
    by_gradients = nearest_histogram(operator, answers, 1e-8)
    assert not np.array_equal(by_gradients, by_sets)
    np.testing.assert_allclose(operator.matvec(by_gradients), operator.matvec(by_sets), atol=2e-4)


def test_a_thousand_bins_take_a_few_supports(monkeypatch):
    monkeypatch.setattr(consistency, "_MAX_ITERATIONS", 0)
    operator = builtin("prefix", 1000).operator
    answers = np.linspace(0, 1, 999) + 0.05 * np.random.default_rng(5).normal(size=999)
    found = nearest_histogram(operator, answers, 1e-6)
    gradient = operator.rmatvec(operator.matvec(found) - answers)
    assert 2 * (gradient @ found - gradient.min()) <= 1e-6


@pytest.mark.parametrize("seed", [1, 2, 7, 8])
def test_types_that_were_dropped_too_early_come_back(monkeypatch, seed):
    """Queries of any sign, where the first guess of the support leaves out types that the solution holds."""
    monkeypatch.setattr(consistency, "_MAX_ITERATIONS", 0)
    operator = Dense(np.random.default_rng(20).normal(size=(40, 20)) * np.linspace(0.1, 1, 20))
    rng = np.random.default_rng(seed)
    noise = 0.1 * rng.normal(size=40)
    answers = noise + operator.matvec(rng.dirichlet(np.ones(20)))
    found = nearest_histogram(operator, answers, 1e-6)
    gradient = operator.rmatvec(operator.matvec(found) - answers)
    assert 2 * (gradient @ found - gradient.min()) <= 1e-6


@pytest.mark.parametrize("noise", [0.02, 0.5])
@pytest.mark.parametrize(("kind", "size"), [("prefix", 60), ("ranges", 20), ("histogram", 40)])
def test_taking_types_in_a_few_at_a_time_finds_the_same_answers(monkeypatch, kind, size, noise):
    operator = builtin(kind, size).operator
    rng = np.random.default_rng(3)
    answers = operator.matvec(rng.dirichlet(np.full(size, 0.3))) + noise * rng.standard_normal(operator.shape[0])
    expected = operator.matvec(nearest_histogram(operator, answers, 1e-9))
    monkeypatch.setattr(consistency, "_DENSE_GRAM_TYPES", 1)
    monkeypatch.setattr(consistency, "_by_gradients", None)
    found = nearest_histogram(operator, answers, 1e-9)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    assert operator.matvec(found) == pytest.approx(expected, abs=1e-4)


def test_a_hundred_thousand_types_take_a_second_where_answers_have_few_dimensions():
    domain = [{"name": f"a{i}", "kind": "categorical", "labels": ["no", "yes"]} for i in range(17)]
    queries = {"kind": "marginals", "width": 1}
    asked = parse_specification({"name": "asked", "domain": domain, "queries": queries}).build()
    answers = 0.5 + 0.7 * np.random.default_rng(1).standard_normal(34)
    start = time.monotonic()
    found = nearest_histogram(asked.operator, answers, 1e-6)
    assert time.monotonic() - start < 20
    # Marginals of one attribute are independent: each is projected onto its own simplex.
    pairs = [project_onto_simplex(pair) for pair in answers.reshape(17, 2)]
    assert asked.operator.matvec(found) == pytest.approx(np.concatenate(pairs), abs=2e-3)
