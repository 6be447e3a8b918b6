"""Chances of levels whose information adds up: the least trace of a Gram matrix over a sum of Toeplitz matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from sordino_analysis.arrays import Floats

Indices = NDArray[np.intp]


def best_chances(kernels: Floats, gram: Floats, start: Floats, steps: int, places: Indices | None = None) -> Floats:
    """p (L,) after `steps` multiplicative steps p ← p·√∂ towards the least tr(PGP M⁻¹), M = 11ᵀ + Σ_ℓ p_ℓ R_ℓ.

    The objective is convex in p, and no step raises it (Silvey, Titterington, Torsney 1978). A chance of 0 stays 0.
    `kernels` R (L, k) are first columns of Toeplitz matrices, `gram` G (k, k), P = 1 − 11ᵀ/k. `places` (k, k) says
    which entry of a kernel each pair of types has; |x − x'| unless it is given.
    """
    size = kernels.shape[1]
    if places is None:
        places = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    centred = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
    chances = start / start.sum()
    for _ in range(steps):
        inverse = _inverse((1 + chances @ kernels)[places])
        slopes = kernels @ _diagonal_sums(inverse @ centred @ inverse, places)
        chances = chances * np.sqrt(np.maximum(slopes, 0.0))
        chances /= chances.sum()
    return np.asarray(chances)


def _inverse(matrix: Floats) -> Floats:
    """Of a positive matrix, in half the time of a general one."""
    factor, failed = lapack.dpotrf(matrix, lower=1)
    if failed:
        return np.asarray(np.linalg.inv(matrix))
    half = np.tril(lapack.dpotri(factor, lower=1)[0])
    return np.asarray(half + np.tril(half, -1).T)


def _diagonal_sums(matrix: Floats, places: np.ndarray) -> Floats:
    """(k,) Σ of the entries with |x − x'| = d."""
    return np.bincount(places.ravel(), matrix.ravel(), len(matrix)).astype(float)
