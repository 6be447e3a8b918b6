"""MWEM under zCDP: measure the query that is answered worst, reweigh the histogram, repeat.

(Hardt, Ligett and McSherry 2012, Theorem 2.2, with a noisy maximum in place of the exponential mechanism.) Of the two
halves of ρ one selects and one measures.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.noise import CuratorNoise, Integers
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import NANO

# Passes over all measurements so far after each.
_PASSES = 20


def multiplicative_weights(
    matrix: Floats, counts: Integers, rounds: int, guarantee: Zcdp, noise: CuratorNoise
) -> Floats:
    """(Q,) answers as shares, of integer queries `matrix` (Q, k) about the people counted (k,).

    A round spends at most ρ/rounds: half of it to measure, and half as ε = √(ρ/rounds) to select, since ρ = ε²/2
    follows from ε. Raises InvalidValue where ρ is too small for so many rounds.
    """
    queries, users = matrix.astype(np.int64), int(counts.sum())
    if not np.array_equal(queries, matrix):
        raise InvalidValue("noise on the lattice is for queries of whole numbers: multiply the rows")
    nano_epsilon, nano_rho = isqrt(guarantee.nano_rho * NANO // rounds), guarantee.nano_rho // (2 * rounds)
    if rounds < 1 or nano_epsilon == 0 or nano_rho == 0:
        raise InvalidValue(f"{guarantee} is too little for {rounds} rounds", rounds)
    exact, spread = queries @ counts, int((queries.max(axis=1) - queries.min(axis=1)).max())
    select = Fraction(2 * spread * NANO, nano_epsilon)
    measure = Fraction(spread * spread) / (2 * Zcdp(nano_rho).exact)
    histogram = np.full(matrix.shape[1], 1 / matrix.shape[1])
    chosen: list[int] = []
    found: list[float] = []
    for _ in range(rounds):
        scores = np.abs(exact - np.rint(users * (matrix @ histogram)).astype(np.int64))
        # A tie goes to the first query: for given noise of the others a score wins from a threshold on.
        query = int((scores + noise.laplace(select, len(scores))).argmax())
        chosen.append(query)
        found.append((int(exact[query]) + int(noise.gaussian(measure, 1)[0])) / users)
        histogram = _reweighed(matrix[chosen], np.array(found), histogram)
    return np.asarray(matrix @ histogram)


def _reweighed(rows: Floats, measured: Floats, histogram: Floats) -> Floats:
    for _ in range(_PASSES):
        for row, wanted in zip(rows, measured, strict=True):
            histogram = histogram * np.exp(row * (wanted - row @ histogram) / 2)
            histogram /= histogram.sum()
    return histogram
