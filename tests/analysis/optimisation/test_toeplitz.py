"""Toeplitz systems without matrices, against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.level_chances import best_chances
from sordino_analysis.optimisation.toeplitz import IntervalForms, SymmetricToeplitz, ToeplitzInverse
from sordino_shared.errors import InvalidValue

SIZE = 300


def _matrix(size: int = SIZE) -> SymmetricToeplitz:
    distances = np.arange(size)
    triangles = sum(np.maximum(0, 1 - distances / width) for width in (1, 3, 11, 50, 170))
    return SymmetricToeplitz(1 + np.asarray(triangles, dtype=float) / 5)


def _dense(matrix: SymmetricToeplitz) -> Floats:
    places = np.arange(matrix.size)
    return matrix.column[np.abs(places[:, None] - places)]


def test_products_and_solutions_are_the_dense_ones() -> None:
    matrix, vectors = _matrix(), np.random.default_rng(0).standard_normal((4, SIZE))
    dense = _dense(matrix)
    solved = np.linalg.solve(dense, vectors.T).T
    np.testing.assert_allclose(matrix.product(vectors), vectors @ dense, atol=1e-11)
    np.testing.assert_allclose(matrix.solve(vectors), solved, atol=1e-10)
    np.testing.assert_allclose(ToeplitzInverse(matrix).product(vectors), solved, atol=1e-10)


def test_a_matrix_that_is_not_positive_is_refused() -> None:
    with pytest.raises(InvalidValue, match="not positive"):
        SymmetricToeplitz(np.array([0.1, 1.0, -1.0, 1.0])).solve(np.ones(4))


@pytest.mark.parametrize(("width", "lag"), [(1, 0), (17, 0), (250, 0), (40, 40), (25, 90), (3, 299)])
def test_forms_of_intervals_are_sums_of_entries(width: int, lag: int) -> None:
    inverse = ToeplitzInverse(_matrix())
    gram = np.subtract.outer(np.full(SIZE, SIZE), np.zeros(SIZE)) - np.maximum.outer(np.arange(SIZE), np.arange(SIZE))
    forms = IntervalForms.of(lambda vectors: inverse.product(inverse.product(vectors) @ gram), SIZE)
    dense = np.linalg.inv(_dense(inverse.matrix))
    whole = dense @ gram @ dense

    def form(start: int) -> float:
        rows = slice(max(start, 0), max(start + width, 0))
        return float(whole[rows, max(start + lag, 0) : max(start + lag + width, 0)].sum())

    expected = [form(start) for start in range(1 - width, SIZE - width - lag + 1)]
    scale = np.abs(whole).sum(axis=1).max()
    np.testing.assert_allclose(forms.windows(width, lag), expected, atol=1e-9 * scale)
    if lag == 0:
        prefixes = [whole[:stop, :stop].sum() for stop in range(SIZE + 1)]
        np.testing.assert_allclose(forms.prefixes(), prefixes, atol=1e-9 * scale)


def test_a_matrix_of_large_displacement_rank_is_refused() -> None:
    random = np.random.default_rng(3).standard_normal((40, 40))
    with pytest.raises(InvalidValue, match="displacement"):
        IntervalForms.of(lambda vectors: vectors @ (random + random.T), 40)


def test_what_rounding_leaves_of_nothing_is_no_matrix_of_large_rank() -> None:
    """Weights that add up to 0 but for rounding, as those of a member's share over all members."""
    rounding = 1e-17 * np.random.default_rng(3).standard_normal((40, 40))
    forms = IntervalForms.of(lambda vectors: vectors @ (rounding @ rounding.T), 40)
    assert not forms.windows(7).any()
    assert not forms.prefixes().any()


def test_chances_reach_the_least_trace() -> None:
    size = 24
    distances = np.arange(size)
    kernels = np.array([np.maximum(0, 1 - distances / width) for width in (1, 4, 12)])
    gram = size - np.maximum.outer(distances, distances).astype(float)
    centred = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()

    def trace(chances: Floats) -> float:
        matrix = (1 + chances @ kernels)[np.abs(np.subtract.outer(distances, distances))]
        return float(np.trace(centred @ np.linalg.inv(matrix)))

    found = best_chances(kernels, gram, np.ones(3), 400)
    assert found.sum() == pytest.approx(1.0)
    random = np.random.default_rng(4)
    others = [found + 0.02 * (random.dirichlet(np.ones(3)) - found) for _ in range(200)]
    assert trace(found) <= min(map(trace, others)) + 1e-9
