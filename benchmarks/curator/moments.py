"""Second moments of unit vectors: the error in the Frobenius norm, unbiased and projected."""

from collections.abc import Iterator

import numpy as np

from benchmarks.curator.workloads import RHO
from sordino_analysis.curator.noise import CuratorNoise
from sordino_analysis.curator.second_moments import release_second_moments

_RADIUS = 2**12
_DRAWS = 3


def table(*, quick: bool) -> Iterator[str]:
    """A line a dimension and number of people, who lie in the unit ball around a low-dimensional subspace."""
    yield "| d | people | unbiased | projected | I/d |"
    yield "|---" * 5 + "|"
    for dimension in (10,) if quick else (10, 50, 200):
        for users in (100, 1000, 10_000):
            yield _line(dimension, users)


def _line(dimension: int, users: int) -> str:
    squares = []
    for seed in range(_DRAWS):
        generator = np.random.default_rng(seed)
        vectors = generator.normal(size=(users, dimension)) / np.arange(1, dimension + 1)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        points = np.trunc(vectors * (_RADIUS - 1)).astype(np.int64)
        truth = points.T @ points / users / _RADIUS**2
        found = release_second_moments(points, _RADIUS, RHO, CuratorNoise())
        tried = (found.unbiased, found.projected, np.eye(dimension) / dimension)
        squares.append([np.linalg.norm(each - truth) ** 2 for each in tried])
    errors = np.sqrt(np.mean(squares, axis=0))
    return f"| {dimension} | {users:,} | " + " | ".join(f"{error:.3g}" for error in errors) + " |"
