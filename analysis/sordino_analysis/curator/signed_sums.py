"""JL-Release: a curator measures sums of the queries with random signs, and answers of the nearest histogram.

(Nikolov 2022, Algorithms 1 and 2.) The signs T (ℓ, Q) are public and chosen without the data: they follow from a seed.
"""

from __future__ import annotations

import hashlib

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.noise import Integers
from sordino_analysis.curator.projections import Projection
from sordino_analysis.curator.rounding import as_integers
from sordino_analysis.curator.strategy import EXACT
from sordino_analysis.documents.curator_part import SignedSums
from sordino_shared.errors import InvalidValue

_LABEL = "sordino signed sums "


def signs(seed: int, sums: int, queries: int) -> Integers:
    """T (sums, queries) of ±1: the bits of SHAKE-256 of `sordino signed sums SEED`, each byte's lowest first, 1 for +1.

    Row by row, without padding between rows.
    """
    count = sums * queries
    drawn = hashlib.shake_256(f"{_LABEL}{seed}".encode()).digest(-(-count // 8))
    bits = np.unpackbits(np.frombuffer(drawn, dtype=np.uint8), count=count, bitorder="little")
    return 2 * bits.reshape(sums, queries).astype(np.int64) - 1


def projection_of(published: SignedSums, matrix: Floats) -> Projection:
    """The measurement of signed sums of the queries `matrix` (Q, k), and its answers.

    With noise of Nikolov's Lemma 4.3 and ℓ = nε sums the error is O(w(K)/√(Q n ε)) (Theorem 5.1); Lemma 3.1 takes any
    noise. Raises InvalidValue for entries that are no multiples of 2⁻²⁰, or whose sums are beyond whole numbers of 52
    bits.
    """
    answered = moved(matrix, published.separation) if published.separation else matrix
    whole, _ = as_integers(answered)
    if np.abs(whole).sum(axis=0).max() >= EXACT:
        raise InvalidValue("sums of the queries pass 2^52: the entries of the workload are too large", matrix)
    return Projection(answered, signs(published.seed, published.sums, len(matrix)) @ whole.astype(np.int64))


def moved(matrix: Floats, separation: float) -> Floats:
    """The answers (Q, k) with each type's moved to the nearest of some types, α√Q/2 apart: Algorithm 2, Lemma 8.1.

    The answers of everybody move by at most α/2, root mean squared.
    """
    apart = separation**2 * len(matrix) / 4
    chosen: list[int] = []
    least = np.full(matrix.shape[1], np.inf)
    nearest = np.zeros(matrix.shape[1], dtype=np.intp)
    for cell in range(matrix.shape[1]):
        if least[cell] <= apart:
            continue
        squares = ((matrix - matrix[:, [cell]]) ** 2).sum(axis=0)
        closer = squares < least
        nearest[closer], least[closer] = cell, squares[closer]
        chosen.append(cell)
    return np.asarray(matrix[:, nearest])
