"""Closed forms carry true certificates, and agree with the solver where they are optimal."""

import numpy as np
import pytest

from benchmarks.references.closed_forms import gini, histogram, kronecker, lipschitz_tree, prefix_square_root
from sordino_analysis.optimisation.factorization import FactorizationError, check_certificate, factorize

OBJECTIVES = ["max", "mean"]


@pytest.fixture
def prefix():
    """The prefix workload over k bins, (k−1)×k."""
    return lambda size: np.tril(np.ones((size, size)))[:-1]


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("size", [2, 7])
def test_histogram_is_optimal(objective, centred, size):
    found = histogram(size, objective, centred)
    check_certificate(np.eye(size), found)
    assert found.gap == 0.0
    assert found.upper == pytest.approx(factorize(np.eye(size), objective, 1e-3, centred).upper)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("size", [2, 9])
def test_gini_is_optimal(objective, size):
    matrix = np.ones((size, size)) - np.eye(size)
    check_certificate(matrix, gini(size, objective))
    assert gini(size, objective).upper == pytest.approx(factorize(matrix, objective, 1e-3, False).upper)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("size", [2, 3, 40])
def test_prefix_square_root_is_certified(prefix, objective, size):
    found = prefix_square_root(size, objective)
    check_certificate(prefix(size), found)
    best = factorize(prefix(size), objective, 1e-3, False)
    assert best.lower <= found.upper <= 1.2 * best.upper


def test_prefix_square_root_grows_like_the_logarithm_over_pi():
    step = prefix_square_root(800).upper - prefix_square_root(200).upper
    assert step == pytest.approx(np.log(4) / np.pi, rel=1e-2)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_kronecker_products_multiply(prefix, objective):
    first, second = factorize(prefix(6), objective, 0.01, False), gini(4, objective)
    found = kronecker(first, second)
    matrix = np.kron(prefix(6), np.ones((4, 4)) - np.eye(4))
    check_certificate(matrix, found)
    assert found.gap == pytest.approx(first.gap)
    assert factorize(matrix, objective, 1e-3, False).lower <= found.upper


def test_what_does_not_multiply_is_refused():
    with pytest.raises(FactorizationError, match="without centring"):
        kronecker(histogram(3), histogram(3, centred=False))
    with pytest.raises(FactorizationError, match="do not multiply"):
        kronecker(histogram(3, "max", False), histogram(3, "mean", False))


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("size", [2, 3, 20, 31])
def test_the_lipschitz_tree_is_certified(objective, centred, size):
    points = np.arange(size) / size
    check_certificate(
        distances := np.abs(np.subtract.outer(points, points)), lipschitz_tree(distances, objective, centred)
    )


@pytest.mark.parametrize("size", [15, 63, 255])
def test_the_lipschitz_tree_keeps_the_constants_of_its_lemma(size):
    points = np.arange(size) / size
    found = lipschitz_tree(np.abs(np.subtract.outer(points, points)))
    # Σ (25/36)^d over d ≥ 1, as the root is the centre; and Σ 2^d ((6/5)^d / 2^d)² over the same d.
    assert 0.8 < (found.right**2).sum(axis=0).max() <= 25 / 11
    assert (found.left**2).sum(axis=0).max() <= 18 / 7


def test_the_lipschitz_tree_refuses_constants():
    with pytest.raises(FactorizationError, match="constant"):
        lipschitz_tree(np.ones((3, 3)))


@pytest.mark.parametrize("form", [histogram, gini, prefix_square_root])
def test_one_type_is_refused(form):
    with pytest.raises(FactorizationError, match="two types"):
        form(1)
