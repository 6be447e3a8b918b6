"""The ground truth is itself right: known optima, and no kernel that can be drawn is below it."""

import numpy as np
import pytest


@pytest.mark.parametrize(("objective", "expected"), [("max", 3.659), ("mean", 3.293)])
def test_prefix_over_eight_types(exact_optimum, small_matrix, objective, expected):
    assert exact_optimum(small_matrix("prefix", 8), 1.0, objective) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_one_bit_is_best_sent_by_randomized_response(exact_optimum, epsilon):
    flip = 1 / (np.exp(epsilon) + 1)
    expected = flip * (1 - flip) / (1 - 2 * flip) ** 2
    for objective in ("max", "mean"):
        assert exact_optimum(np.array([[0.0, 1.0]]), epsilon, objective) == pytest.approx(expected, rel=1e-5)


def test_subset_selection_is_best_for_the_mean_of_a_histogram(exact_optimum):
    """At e^ε = k/d − 1 subsets of size d attain the trace bound: k = 6, d = 2 here."""
    epsilon = np.log(2.0)
    expected = (5 / 6) ** 2 / np.sinh(epsilon / 2) ** 2 - 5 / 36
    assert exact_optimum(np.eye(6), epsilon, "mean") == pytest.approx(expected, rel=1e-5)


def test_the_mean_of_many_queries_counts_each(exact_optimum, small_matrix):
    """The same queries thrice have the same mean; it goes through WᵀW there."""
    matrix = small_matrix("prefix", 5)
    value = exact_optimum(matrix, 1.0, "mean")
    assert exact_optimum(np.vstack([matrix] * 3), 1.0, "mean") == pytest.approx(value, rel=1e-5)


def test_more_privacy_and_more_queries_cost_more(exact_optimum, small_matrix):
    prefix = small_matrix("prefix", 5)
    values = [exact_optimum(prefix, epsilon, "max") for epsilon in (0.5, 1.0, 2.0)]
    assert values == sorted(values, reverse=True)
    assert exact_optimum(prefix[:2], 1.0, "max") < exact_optimum(prefix, 1.0, "max")


def test_the_maximum_is_not_below_the_mean(exact_optimum, small_matrix):
    for kind in ("prefix", "ranges", "histogram"):
        matrix = small_matrix(kind, 5)
        assert exact_optimum(matrix, 2.0, "max") > exact_optimum(matrix, 2.0, "mean")
