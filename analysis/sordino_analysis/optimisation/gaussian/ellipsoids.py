"""The recursion of Nikolov, Talwar and Zhang (2013, Theorem 1): noise on the short half of a minimum ellipsoid's axes.

The long half is answered in the same way. Its noise is one covariance, so that it is measured in whole numbers as any
other is, and the best covariance is never worse.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.gaussian.covariance import GaussianOptimum, reduced_rows
from sordino_analysis.request_terms import Neighbours

# Steps at most: hundreds are enough for a thousand types.
_MOST_STEPS = 2000
# The ellipsoid is within so much of the least: it is one way to choose axes, and its noise is exact whatever they are.
_TOLERANCE = 1e-2


def minimum_ellipsoid(points: Floats) -> Floats:
    """(r, r) E of least determinant, within 1 % a side, with xᵀE⁻¹x ≤ 1 for all columns x of `points` (r, k)."""
    rank, count = points.shape
    weights = np.full(count, 1 / count)
    for _ in range(_MOST_STEPS):
        shape = (points * weights) @ points.T
        reached = np.einsum("ij,ij->j", points, np.linalg.solve(shape, points))
        if reached.max() <= rank * (1 + _TOLERANCE):
            break
        weights = weights * reached / rank
    return np.asarray(shape * reached.max())


def recursive_covariance(
    matrix: Floats, neighbours: Neighbours = "add-remove", budgets: Literal["equal", "best"] = "best"
) -> GaussianOptimum:
    """The noise Σ r_i²/b_i U_iU_iᵀ of blocks U_i of axes with radius r_i and shares b_i of the budget; `matrix` (Q, k).

    Shares are equal as in the paper, or in proportion to r_i√dim U_i, which is best. `lower` is 0: it proves nothing.
    """
    basis, reduced = reduced_rows(matrix, neighbours)
    blocks = halved_axes(reduced)
    radii = [_radius(block.T @ reduced, neighbours) for block in blocks]
    traces = np.array([radius * np.sqrt(block.shape[1]) for radius, block in zip(radii, blocks, strict=True)])
    shares = traces / traces.sum() if budgets == "best" else np.full(len(blocks), 1 / len(blocks))
    covariance = sum(
        radius**2 / share * block @ block.T for radius, share, block in zip(radii, shares, blocks, strict=True)
    )
    return GaussianOptimum(
        neighbours=neighbours,
        basis=basis,
        covariance=np.asarray(covariance),
        weights=np.zeros(0),
        lower=0.0,
        upper=float(np.sqrt(np.trace(np.asarray(covariance)) / len(matrix))),
        iterations=len(blocks),
    )


def halved_axes(reduced: Floats) -> list[Floats]:
    """Orthonormal bases, (r, m) each, of the subspaces that are answered one after the other; `reduced` (r, k).

    Half of the axes of the minimum ellipsoid, the short ones, then half of the rest: logarithmically many.
    """
    found, left = [], np.eye(len(reduced))
    while left.shape[1] > 1:
        axes = np.linalg.eigh(minimum_ellipsoid(left.T @ reduced))[1]
        half = (left.shape[1] + 1) // 2
        found.append(left @ axes[:, :half])
        left = left @ axes[:, half:]
    return [*found, left] if left.shape[1] else found


def _radius(points: Floats, neighbours: Neighbours) -> float:
    squares = (points**2).sum(axis=0)
    if neighbours == "add-remove":
        return float(np.sqrt(squares.max()))
    return float(np.sqrt((squares[:, None] + squares - 2 * points.T @ points).max()))
