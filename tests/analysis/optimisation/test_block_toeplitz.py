"""Products and solutions of block-Toeplitz matrices against the dense matrix."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.block_toeplitz import BlockToeplitz
from sordino_shared.errors import InvalidValue

SHAPE = (12, 10)


def _column() -> Floats:
    """Of 11ᵀ and a mixture of products of triangles, which is positive."""
    found = np.ones(SHAPE)
    for width, share in ((1, 0.2), (3, 0.3), (8, 0.3), (24, 0.2)):
        sides = [np.maximum(0.0, 1 - np.arange(size) / width) for size in SHAPE]
        found += share * np.multiply.outer(*sides)
    return found


def _dense(column: Floats) -> Floats:
    first, second = np.indices(SHAPE).reshape(2, -1)
    return np.asarray(column[np.abs(first[:, None] - first), np.abs(second[:, None] - second)])


def test_products_and_solutions_are_those_of_the_dense_matrix() -> None:
    column = _column()
    matrix, dense = BlockToeplitz(column), _dense(column)
    vector = np.random.default_rng(0).standard_normal(SHAPE)
    np.testing.assert_allclose(matrix.product(vector).ravel(), dense @ vector.ravel(), rtol=1e-11, atol=1e-11)
    expected = np.linalg.solve(dense, vector.ravel())
    np.testing.assert_allclose(matrix.solve(vector).ravel(), expected, rtol=1e-8, atol=1e-9)
    assert (matrix.solve(np.zeros(SHAPE)) == 0).all()


@pytest.mark.parametrize("change", [-1.0, 10.0])
def test_a_matrix_that_is_not_positive_is_refused(change: float) -> None:
    column = _column()
    column[0, 1] += change * 3
    assert np.linalg.eigvalsh(_dense(column)).min() < 0
    with pytest.raises(InvalidValue, match="not positive"):
        BlockToeplitz(column).solve(np.random.default_rng(0).standard_normal(SHAPE))


def test_many_systems_at_once_are_solved_as_one_by_one() -> None:
    matrix = BlockToeplitz(_column())
    planes = np.random.default_rng(1).standard_normal((5, *SHAPE))
    expected = [matrix.solve(plane) for plane in planes]
    np.testing.assert_allclose(matrix.solve_all(planes), expected, rtol=1e-8, atol=1e-9)
    unlike = _column()
    unlike[0, 1] += 30
    with pytest.raises(InvalidValue, match="not positive"):
        BlockToeplitz(unlike).solve_all(planes)
