"""Bounds of prefix sums and ranges without matrices, against the dense recheck."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_analysis.optimisation.bounds import recheck
from sordino_analysis.optimisation.bounds.intervals import (
    best_prefix_densities,
    even_prefix_bound,
    even_range_bound,
    prefix_bound,
    spread,
)
from sordino_shared.errors import InvalidValue

SIZE = 64


@pytest.mark.parametrize("size", [2, 5, SIZE])
def test_even_prefix_bounds_are_the_dense_ones(size: int) -> None:
    matrix = np.tril(np.ones((size, size)))[:-1]
    dense = recheck(matrix, 1.0, np.full(size - 1, 1 / (size - 1)), np.full(size, 1 / size))
    assert even_prefix_bound(size, 1.0) == pytest.approx(dense, rel=1e-12)


@pytest.mark.parametrize("size", [3, 8, 21, SIZE])
@pytest.mark.parametrize("further", [0, 1])
def test_even_range_bounds_are_the_dense_ones(size: int, further: int) -> None:
    ends = [(i, j) for i in range(size) for j in range(i + 1, size + 1) if further or j - i < size]
    matrix = np.array([[i <= x < j for x in range(size)] for i, j in ends], dtype=float)
    dense = recheck(matrix, 1.0, np.full(len(ends), 1 / len(ends)), np.full(size, 1 / size))
    assert even_range_bound(size, len(ends), 1.0) == pytest.approx(dense, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_bounds_from_densities_are_the_dense_ones(epsilon: float) -> None:
    random = np.random.default_rng(0)
    queries, types = random.uniform(0.5, 2, 7), random.uniform(0.5, 2, 11)
    matrix = np.tril(np.ones((SIZE, SIZE)))[:-1]
    dense = recheck(matrix, epsilon, spread(queries, SIZE - 1), spread(types, SIZE))
    assert prefix_bound(SIZE, epsilon, queries, types) == pytest.approx(dense, rel=1e-12)


def test_densities_found_at_few_types_prove_more_at_many() -> None:
    for objective, gain in (("mean", 1.01), ("max", 1.01)):
        value, queries, types = best_prefix_densities(1024, 1.0, objective)
        assert value > gain * even_prefix_bound(1024, 1.0)
        assert prefix_bound(1024, 1.0, queries, types) == value
        assert objective == "max" or len(queries) == 1


def test_even_weights_at_65536_types_prove_what_is_published() -> None:
    value, queries, types = best_prefix_densities(1 << 16, 1.0, "max")
    assert len(queries) == len(types) == 1
    assert value == pytest.approx(52.7548, abs=1e-4)


def test_densities_that_are_not_positive_are_refused() -> None:
    with pytest.raises(InvalidValue, match="above 0"):
        spread(np.array([1.0, 0.0]), 8)
