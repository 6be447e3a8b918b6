"""The closed-form bound of prefix sums over two attributes against the dense matrix."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sordino_analysis.optimisation.bounds import recheck
from sordino_analysis.optimisation.bounds.intervals import even_plane_bound


def _weighted(first: int, second: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    queries = np.kron(np.tril(np.ones((first, first))), np.tril(np.ones((second, second))))[:-1]
    count, types = queries.shape
    return queries, np.full(count, 1 / count), np.full(types, 1 / types)


@pytest.mark.parametrize("sizes", [(8, 8), (5, 9), (2, 3)])
def test_the_bound_is_that_of_the_dense_singular_values(sizes: tuple[int, int]) -> None:
    queries, rows, columns = _weighted(*sizes)
    count, types = queries.shape
    whole = np.vstack([queries, np.ones(types)])
    means = whole.mean(axis=1)
    nuclear = np.linalg.svd(whole, compute_uv=False).sum() - np.linalg.norm(means) * math.sqrt(types)
    squares = ((whole - means[:, None]) ** 2).sum()
    expected = (max(0.0, nuclear) ** 2 / math.sinh(0.5) ** 2 - squares) / (types * count)
    assert even_plane_bound(*sizes, 1.0) == pytest.approx(max(0.0, expected), rel=1e-10)
    assert even_plane_bound(*sizes, 1.0) <= recheck(queries, 1.0, rows, columns) * (1 + 1e-12)


def test_the_bound_of_256_by_256_types() -> None:
    assert even_plane_bound(256, 256, 1.0) == pytest.approx(122.6, abs=0.05)


def test_nothing_is_proved_of_one_type_and_little_at_a_huge_epsilon() -> None:
    assert even_plane_bound(1, 1, 1.0) == 0.0
    queries, rows, columns = _weighted(8, 8)
    for epsilon in (4.0, 30.0):
        assert 0 < even_plane_bound(8, 8, epsilon) <= recheck(queries, epsilon, rows, columns) * (1 + 1e-12)
