"""Chances of levels whose information adds up: the least trace of a Gram matrix over a sum of Toeplitz matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from sordino_analysis.arrays import Floats

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Component:
    """tr(G T⁻¹) for T = `ones`·11ᵀ + Σ_ℓ p_ℓ R_ℓ, a block of an information matrix, and the `gram` G (k, k) of queries.

    `kernels` R (L, k) are first columns of Toeplitz matrices, one for each level.
    """

    kernels: Floats
    gram: Floats
    ones: float


def best_chances(kernels: Floats, gram: Floats, start: Floats, steps: int, places: Indices | None = None) -> Floats:
    """p (L,) after `steps` steps towards the least tr(PGP M⁻¹), M = 11ᵀ + Σ_ℓ p_ℓ R_ℓ, P = 1 − 11ᵀ/k.

    `kernels` R (L, k) are first columns of Toeplitz matrices, `gram` G is (k, k). `places` (k, k) says which entry of a
    kernel each pair of types has; |x − x'| unless it is given.
    """
    return best_shares([Component(kernels, centred(gram), 1.0)], start, steps, places)


def best_shares(components: Sequence[Component], start: Floats, steps: int, places: Indices | None = None) -> Floats:
    """p (L,) after `steps` multiplicative steps p ← p·√∂ towards the least sum of the traces of all components.

    The objective is convex in p, and no step raises it (Silvey, Titterington, Torsney 1978). A chance of 0 stays 0.
    """
    if places is None:
        size = components[0].kernels.shape[1]
        places = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    chances = start / start.sum()
    for _ in range(steps):
        slopes = np.zeros(len(chances))
        for one in components:
            inverse = _inverse((one.ones + chances @ one.kernels)[places])
            slopes += one.kernels @ _diagonal_sums(inverse @ one.gram @ inverse, places)
        chances = chances * np.sqrt(np.maximum(slopes, 0.0))
        chances /= chances.sum()
    return np.asarray(chances)


def centred(gram: Floats) -> Floats:
    """PGP (k, k)."""
    return np.asarray(gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean())


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
