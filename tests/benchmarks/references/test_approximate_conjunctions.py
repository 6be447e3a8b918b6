"""The least norm of conjunctions up to a bias: exact at no bias, right on all cells, the best of its kind."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from benchmarks.references.approximate_conjunctions import approximate_conjunctions, best_bias
from sordino_shared.errors import InvalidValue


def test_without_bias_it_is_the_closed_form():
    """f_0 = 2^(1−w) − 1 and f_j = 2^(1−w), whose norm gives the 807.7 of conjunctions of up to 3 of 16 at w = 3."""
    found = approximate_conjunctions(16, 3, 0.0)
    assert found.coefficients == pytest.approx([-0.75, 0.25, 0.25, 0.25])
    assert found.norm == pytest.approx(math.fsum([0.75, math.sqrt(3), math.sqrt(22.5), math.sqrt(35)]))
    assert found.norm**2 == pytest.approx(172.7, abs=0.05)


@pytest.mark.parametrize("bias", [0.0, 0.1, 0.4])
def test_it_is_within_the_bias_at_every_cell_of_the_rule(bias):
    found = approximate_conjunctions(9, 4, bias)
    for cell in product((1, -1), repeat=4):
        value = sum(
            found.coefficients[len(chosen)] * math.prod(cell[place] for place in chosen) for chosen in _subsets(4)
        )
        assert abs(value - (1 if min(cell) > 0 else -1)) <= bias + 1e-9


def _subsets(size):
    return [tuple(place for place in range(size) if number >> place & 1) for number in range(2**size)]


def test_no_factorization_of_a_nearby_matrix_has_a_smaller_norm():
    """γ₂ of the best matrix within .3, as a semidefinite program over all conjunctions of 2 of 3."""

    import cvxpy as cp

    cells = np.array(list(product((1, -1), repeat=3)))
    rules = [
        np.where((cells[:, [a, b]] == signs).all(axis=1), 1.0, -1.0)
        for a in range(3)
        for b in range(a + 1, 3)
        for signs in product((1, -1), repeat=2)
    ]
    matrix = np.array(rules)
    queries, size = matrix.shape
    whole, near = cp.Variable((queries + size, queries + size), PSD=True), cp.Variable((queries, size))
    norm = cp.Variable()
    constraints = [whole[:queries, queries:] == near, cp.diag(whole) <= norm, cp.abs(near - matrix) <= 0.3]
    cp.Problem(cp.Minimize(norm), constraints).solve(solver=cp.CLARABEL)
    assert approximate_conjunctions(3, 2, 0.3).norm == pytest.approx(norm.value, rel=1e-5)


@pytest.mark.parametrize(
    ("indicators", "width", "users", "unbiased", "biased"),
    [
        (16, 5, 10**5, 0.063, 0.0574),
        (32, 5, 10**5, 0.2552, 0.1279),
        (32, 5, 10**7, 0.0255, 0.0244),
        (32, 8, 10**6, 0.1623, 0.0747),
    ],
)
def test_the_best_bias_at_a_number_of_users(indicators, width, users, unbiased, biased):
    assert approximate_conjunctions(indicators, width, 0.0).loss_error(1.0, users) == pytest.approx(unbiased, abs=1e-4)
    found = best_bias(indicators, width, 1.0, users)
    assert found.loss_error(1.0, users) == pytest.approx(biased, abs=2e-4)
    nearby = [approximate_conjunctions(indicators, width, found.bias + step) for step in (-0.01, 0.01)]
    assert found.loss_error(1.0, users) <= min(each.loss_error(1.0, users) for each in nearby) + 1e-6


def test_widths_and_biases_that_cannot_be_are_refused():
    for width, bias in ((0, 0.1), (5, 0.1), (2, 1.1)):
        with pytest.raises(InvalidValue, match="the width is 1 to 4"):
            approximate_conjunctions(4, width, bias)
