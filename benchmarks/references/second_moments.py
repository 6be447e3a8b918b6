"""The matrix of second moments of bounded integer vectors, and its projection onto those of unit vectors.

(Nikolov 2022, Lemma 6.1 and Theorem 1.3, under ρ-zCDP with Gaussian noise in place of its K-norm noise.)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.noise import CuratorNoise, Integers
from sordino_analysis.estimation.consistency import project_onto_simplex
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_shared.errors import InvalidValue

# Entries off the diagonal count √2 times in the Frobenius norm; rounded down, they never count more.
_DIAGONAL = 2**12
_OFF_DIAGONAL = isqrt(2 * _DIAGONAL**2)


@dataclass(frozen=True, eq=False)
class SecondMoments:
    """Unbiased (d, d) mean of xxᵀ, symmetric, and the nearest matrix that is positive with trace at most 1."""

    unbiased: Floats
    projected: Floats


def release_second_moments(points: Integers, radius: int, guarantee: Zcdp, noise: CuratorNoise) -> SecondMoments:
    """Mean of xxᵀ/radius² over the rows x of `points` (n, d), integers with ‖x‖ ≤ radius.

    ‖xxᵀ − yyᵀ‖² ≤ 2 radius⁴ in the Frobenius norm, for any two such vectors. Raises InvalidValue for longer ones.
    """
    squares = (points.astype(object) ** 2).sum(axis=1)
    if max(squares) > radius * radius:
        raise InvalidValue(f"a vector is longer than {radius}: clip the vectors first")
    users, dimension = points.shape
    rows, columns = np.triu_indices(dimension)
    scales = np.where(rows == columns, _DIAGONAL, _OFF_DIAGONAL)
    exact = scales * (points.T @ points)[rows, columns]
    variance = 2 * _DIAGONAL**2 * radius**4 / (2 * guarantee.exact)
    measured = exact + noise.gaussian(variance, len(exact))
    found = np.zeros((dimension, dimension))
    found[rows, columns] = found[columns, rows] = measured / (scales * float(users) * radius**2)
    return SecondMoments(found, nearest_of_unit_vectors(found))


def nearest_of_unit_vectors(symmetric: Floats) -> Floats:
    """The nearest positive matrix of trace at most 1, by its eigenvalues; (d, d)."""
    values, vectors = np.linalg.eigh(symmetric)
    positive = values.clip(0)
    kept = positive if positive.sum() <= 1 else project_onto_simplex(values)
    return np.asarray((vectors * kept) @ vectors.T)
