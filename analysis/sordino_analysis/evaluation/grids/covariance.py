"""The exact covariance of the histogram that grids on a line are decoded to, without a matrix of all types.

A query v has the answer t + f Σ_x β_x (u_x − 1) of a report, β = Bᵀv for B = (1 − a1ᵀ)M⁻¹, whose mean given type x is
v_x. One report therefore adds S = B(C − N diag(h) N)Bᵀ to the covariance of n times the histogram, with N = M − 11ᵀ and
C_ij = Σ_ℓ p_ℓ f_ℓ² Σ_x h_x E[(u_i − 1)(u_j − 1) | x]: linear in the users' shares h, so that an estimate will do.
What is subtracted is the square of each type's own mean: that of the mean of all is for users who are a sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.law import GridLaw
from sordino_analysis.evaluation.grids.levels import GridLevel, WindowSums, folded, inner_sums

# Entries of a few vectors over all types that are worked on at once: 32 MiB of doubles.
_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class GridCovariance:
    """S (k, k), what a report adds to the covariance of the decoded histogram; `histogram` (k,) are the users' shares.

    Without a histogram it is S of a random report of a shuffler, whose label is even.
    """

    law: GridLaw
    histogram: Floats | None

    def product(self, vectors: Floats) -> Floats:
        """S v for each of `vectors` (b, k)."""
        found = np.empty_like(vectors, dtype=float)
        step = max(1, _AT_ONCE // self.law.size)
        for start in range(0, len(vectors), step):
            found[start : start + step] = self._product(vectors[start : start + step])
        return found

    def matrix(self) -> Floats:
        """S itself, (k, k), for as many types as such a matrix may have."""
        found = self.product(np.eye(self.law.size))
        return np.asarray((found + found.T) / 2)

    def _product(self, vectors: Floats) -> Floats:
        law = self.law
        weights = law.weights(vectors)
        sums, moved = WindowSums.of(weights), np.zeros_like(weights)
        shares = None if self.histogram is None else WindowSums.of(self.histogram)
        for level in law.levels:
            moved += level.chance * level.factor(law.size) ** 2 * _second_moments(level, sums, shares)
        if self.histogram is not None:
            moved -= self._from_means(self.histogram * self._from_means(weights))
        found = law.inverse.product(moved)
        return np.asarray(found - found.sum(axis=-1, keepdims=True) * law.centre)

    def _from_means(self, weights: Floats) -> Floats:
        """N β (b, k)."""
        return np.asarray(self.law.matrix.product(weights) - weights.sum(axis=-1, keepdims=True))


def _second_moments(level: GridLevel, sums: WindowSums, shares: WindowSums | None) -> Floats:
    """Σ_j E[(u_i − 1)(u_j − 1)] β_j for each β of the `sums` (b, k), over users with `shares` or over even labels."""
    if level.hashed:
        windows = sums.windows(level.width)
        own = 0.0 if shares is None else (level.own_spread - level.spread) * shares.windows(level.width)
        return inner_sums((level.spread + own) / level.width * windows, level.width)
    wide, period, step = level.window, level.period, level.high - level.low
    chances = 1 / period if shares is None else (level.low + step * folded(shares.windows(wide), period)) / period
    shifts = chances * ((level.low - 1) * sums.total + step * folded(sums.windows(wide), period))
    over = np.take(shifts, np.arange(sums.size + wide - 1) % period, axis=-1)
    return np.asarray((level.low - 1) * shifts.sum(axis=-1, keepdims=True) + step * inner_sums(over, wide))
