"""The matrix of second moments of bounded integer vectors, and its projection onto those of unit vectors.

(Nikolov 2022, Lemma 6.1 and Theorem 1.3. In place of its K-norm noise there is Gaussian noise under ρ, and a ball of
ℓ∞ on the entries under ε.)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import assert_never

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.laws import BlockLaw, ball_blocks
from sordino_analysis.curator.noise import CuratorNoise, Integers
from sordino_analysis.estimation.consistency import project_onto_simplex
from sordino_analysis.guarantees import Guarantee
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.guarantees.releases import check_epsilon
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon

# Entries off the diagonal count √2 times in the Frobenius norm; rounded down, they never count more.
_DIAGONAL = 2**12
_OFF_DIAGONAL = isqrt(2 * _DIAGONAL**2)


@dataclass(frozen=True, eq=False)
class SecondMoments:
    """Unbiased (d, d) mean of xxᵀ, symmetric, and the nearest matrix that is positive with trace at most 1."""

    unbiased: Floats
    projected: Floats


def release_second_moments(points: Integers, radius: int, guarantee: Guarantee, noise: CuratorNoise) -> SecondMoments:
    """Mean of xxᵀ/radius² over the rows x of `points` (n, d), integers with ‖x‖ ≤ radius.

    ‖xxᵀ − yyᵀ‖² ≤ 2 radius⁴ in the Frobenius norm, for any two such vectors, and no entry differs by more than radius²:
    x_i² lies in [0, radius²], and |x_i x_j| ≤ radius²/2. Raises InvalidValue for longer vectors.
    """
    squares = (points.astype(object) ** 2).sum(axis=1)
    if max(squares) > radius * radius:
        raise InvalidValue(f"a vector is longer than {radius}: clip the vectors first")
    users, dimension = points.shape
    rows, columns = np.triu_indices(dimension)
    sums = (points.T @ points)[rows, columns]
    match guarantee:
        case Zcdp():
            scales = np.where(rows == columns, _DIAGONAL, _OFF_DIAGONAL)
            variance = 2 * _DIAGONAL**2 * radius**4 / (2 * guarantee.exact)
            measured = scales * sums + noise.gaussian(variance, len(sums))
        case PureEpsilon():
            check_epsilon(guarantee)
            scales = np.ones(len(sums), dtype=np.int64)
            blocks = tuple(ball_blocks(len(sums), radius * radius, guarantee))
            measured = sums + BlockLaw(guarantee=guarantee, blocks=blocks).drawn(noise)
        case _:
            assert_never(guarantee)
    found = np.zeros((dimension, dimension))
    found[rows, columns] = found[columns, rows] = measured / (scales * float(users) * radius**2)
    return SecondMoments(found, nearest_of_unit_vectors(found))


def nearest_of_unit_vectors(symmetric: Floats) -> Floats:
    """The nearest positive matrix of trace at most 1, by its eigenvalues; (d, d)."""
    values, vectors = np.linalg.eigh(symmetric)
    positive = values.clip(0)
    kept = positive if positive.sum() <= 1 else project_onto_simplex(values)
    return np.asarray((vectors * kept) @ vectors.T)
