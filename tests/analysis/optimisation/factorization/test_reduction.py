"""The random projection: its stated bias is exact, and it is right on average."""

import numpy as np
import pytest

from sordino_analysis.optimisation.factorization import FactorizationError, factorize, reduce_dimension


@pytest.fixture
def found(prefix):
    return factorize(prefix(32))


def test_the_bias_is_the_largest_error_of_each_query(prefix, found):
    reduced = reduce_dimension(found, 16, seed=4)
    assert (reduced.dimension, reduced.left.shape, reduced.right.shape) == (16, (16, 31), (16, 32))
    np.testing.assert_allclose(reduced.left, reduced.projection @ found.left, atol=1e-12)
    np.testing.assert_allclose(reduced.right, reduced.projection @ found.right, atol=1e-12)
    answers = reduced.left.T @ reduced.right + reduced.centre[:, None]
    np.testing.assert_allclose(reduced.bias, np.abs(answers - prefix(32)).max(axis=1), atol=1e-9)
    assert reduced.bias.max() > 0.1


def test_full_dimension_changes_nothing(found):
    assert reduce_dimension(found, found.rank, seed=0).bias.max() < 1e-12


def test_more_dimensions_distort_less(found):
    def typical(dimension):
        return np.mean([reduce_dimension(found, dimension, seed).bias.max() for seed in range(20)])

    assert typical(28) < 0.6 * typical(14) < 0.6 * 0.8 * typical(5)


def test_the_projection_is_unbiased(found):
    """Mean of 4000 seeds within 6 standard errors at each of 992 entries: a false alarm has odds below 2e-6."""
    exact = found.left.T @ found.right
    errors = np.array([(r := reduce_dimension(found, 12, seed)).left.T @ r.right - exact for seed in range(4000)])
    standard_errors = errors.std(axis=0) / np.sqrt(len(errors))
    assert (np.abs(errors.mean(axis=0)) <= 6 * standard_errors).all()
    # A scale that is off by 10 % would be seen.
    off = errors + 0.1 * exact
    assert (np.abs(off.mean(axis=0)) > 6 * standard_errors).any()


def test_a_seed_gives_the_same_projection_and_another_seed_another(found):
    first, again, other = (reduce_dimension(found, 8, seed).projection for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)


@pytest.mark.parametrize(("dimension", "seed"), [(0, 1), (-1, 1), (32, 1), (8, -1)])
def test_impossible_reductions_are_refused(found, dimension, seed):
    with pytest.raises(FactorizationError):
        reduce_dimension(found, dimension, seed)
