"""The ground truth is itself right: known optima, and no kernel that can be drawn is below it."""

import numpy as np
import pytest


@pytest.mark.parametrize(("objective", "expected"), [("max", 3.659), ("mean", 3.293)])
def test_prefix_over_eight_types(solve, small_matrix, objective, expected):
    assert solve(small_matrix("prefix", 8), 1.0, objective) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_one_bit_is_best_sent_by_randomized_response(solve, epsilon):
    flip = 1 / (np.exp(epsilon) + 1)
    expected = flip * (1 - flip) / (1 - 2 * flip) ** 2
    for objective in ("max", "mean"):
        assert solve(np.array([[0.0, 1.0]]), epsilon, objective) == pytest.approx(expected, rel=1e-5)


def test_subset_selection_is_best_for_the_mean_of_a_histogram(solve):
    """At e^ε = k/d − 1 subsets of size d attain the trace bound: k = 6, d = 2 here."""
    epsilon = np.log(2.0)
    expected = (5 / 6) ** 2 / np.sinh(epsilon / 2) ** 2 - 5 / 36
    assert solve(np.eye(6), epsilon, "mean") == pytest.approx(expected, rel=1e-5)


def test_the_mean_of_many_queries_counts_each(solve, small_matrix):
    """The same queries thrice have the same mean; it goes through WᵀW there."""
    matrix = small_matrix("prefix", 5)
    value = solve(matrix, 1.0, "mean")
    assert solve(np.vstack([matrix] * 3), 1.0, "mean") == pytest.approx(value, rel=1e-5)


def test_more_privacy_and_more_queries_cost_more(solve, small_matrix):
    prefix = small_matrix("prefix", 5)
    values = [solve(prefix, epsilon, "max") for epsilon in (0.5, 1.0, 2.0)]
    assert values == sorted(values, reverse=True)
    assert solve(prefix[:2], 1.0, "max") < solve(prefix, 1.0, "max")


def test_the_maximum_is_not_below_the_mean(solve, small_matrix):
    for kind in ("prefix", "ranges", "histogram"):
        matrix = small_matrix(kind, 5)
        assert solve(matrix, 2.0, "max") > solve(matrix, 2.0, "mean")


@pytest.mark.parametrize(
    ("kind", "epsilon", "objective"), [("prefix", 1.0, "max"), ("parities", 2.0, "mean"), ("ranges", 4.0, "mean")]
)
def test_what_is_recorded_is_what_is_found(exact_optimum, solve, small_matrix, kind, epsilon, objective):
    matrix = small_matrix(kind, 8)
    recorded = exact_optimum(matrix, epsilon, objective)
    assert solve(matrix, epsilon, objective) == pytest.approx(recorded, rel=1e-5)
    assert solve(matrix, 1.001 * epsilon, objective) != pytest.approx(recorded, rel=1e-5)


def test_another_matrix_epsilon_or_objective_is_another_record(optimum_key, small_matrix):
    matrix = small_matrix("prefix", 4)
    asked = [(each, 1.0, "max") for each in (matrix, matrix[:2], 2 * matrix)]
    asked += [(matrix, 2.0, "max"), (matrix, 1.0, "mean")]
    assert len({optimum_key(*each) for each in asked}) == len(asked)
    assert optimum_key(matrix + 1e-15, 1.0, "max") == optimum_key(matrix, 1.0, "max")
