"""A certificate is accepted when it is true and refused when any part of it is touched."""

from dataclasses import replace

import numpy as np
import pytest

from sordino_analysis.optimisation.factorization import FactorizationError, check_certificate, dual_value, factorize


@pytest.fixture
def matrix(prefix):
    return np.vstack([prefix(7), np.ones((1, 7))])


@pytest.fixture
def found(matrix):
    return factorize(matrix, "max", 0.01)


def test_the_true_one_is_accepted(matrix, found):
    check_certificate(matrix, found)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda f: {"left": f.left * (1 + 1e-6)}, "differs from W"),
        (lambda f: {"right": f.right * (1 - 1e-6)}, "differs from W"),
        (lambda f: {"centre": f.centre + 1e-6}, "differs from W"),
        (lambda f: {"lower": f.lower * (1 + 1e-6)}, "less than the lower bound"),
        (lambda f: {"upper": f.upper * (1 - 1e-6), "lower": f.lower * 0.9}, "more than the upper bound"),
        (lambda f: {"row_weights": np.roll(f.row_weights, 1)}, "less than the lower bound"),
        (lambda f: {"column_weights": np.roll(f.column_weights, 1)}, "less than the lower bound"),
        (lambda f: {"row_weights": 1.1 * f.row_weights}, "sum 1"),
        (lambda f: {"column_weights": f.column_weights - np.eye(7)[0] + np.eye(7)[1]}, "non-negative"),
        (lambda f: {"objective": "mean"}, "uniform"),
        (lambda f: {"centred": False}, "no centre"),
    ],
)
def test_a_touched_one_is_refused(matrix, found, change, complaint):
    with pytest.raises(FactorizationError, match=complaint):
        check_certificate(matrix, replace(found, **change(found)))


def test_it_is_refused_for_another_workload(matrix, found):
    with pytest.raises(FactorizationError, match="another workload"):
        check_certificate(matrix[:-1], found)
    with pytest.raises(FactorizationError, match="differs"):
        check_certificate(matrix[::-1], found)


@pytest.mark.parametrize(
    "change",
    [
        lambda f: {"left": f.left[1:]},
        lambda f: {"centre": f.centre[1:]},
        lambda f: {"column_weights": f.column_weights[1:]},
        lambda f: {"lower": 0.0},
        lambda f: {"lower": float("nan")},
        lambda f: {"lower": (1 + 1e-6) * f.upper},
    ],
)
def test_impossible_ones_cannot_be_made(found, change):
    with pytest.raises(FactorizationError):
        replace(found, **change(found))


def test_any_weights_give_a_lower_bound(matrix, found):
    rng = np.random.default_rng(2)
    for _ in range(200):
        u, v = rng.dirichlet(np.full(7, 0.5)), rng.dirichlet(np.full(7, 0.5))
        assert dual_value(matrix, u, v, centred=True) <= found.upper
