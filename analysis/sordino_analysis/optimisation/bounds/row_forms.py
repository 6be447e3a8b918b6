"""Quadratic forms that are never positive on a row of an ε-LDP kernel, built from products of the row's bounds.

A row u with least entry a has u_x − a ≥ 0 and e^ε·a − u_x ≥ 0 for every type x. Minus a combination of products of
these with non-negative multipliers is a form R(u, a) ≤ 0. Two kinds of products matter: (u_x − a)(e^ε·a − u_x) with
multiplier levels[x], which is zero on the rows that others are mixtures of, and (u_x − a)(u_y − a) with multiplier
pairs[x, y], which is zero where a row does not single out both types. The others never had a multiplier at any
optimum met (prefix, ranges, histograms, parities and random workloads), so they are left out.
"""

from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats


@dataclass(frozen=True, eq=False)
class RowForm:
    """R(u, b) = uᵀ·types·u + 2b·mixedᵀu + level·b² with b = a·e^(ε/2), which keeps the numbers of one size."""

    types: Floats
    mixed: Floats
    level: float
    epsilon: float

    def reduced(self) -> Floats:
        """R′ (k, k) with uᵀR′u = min over b of R(u, b) ≤ 0 for every row u; it needs a positive level."""
        return np.asarray(self.types - np.outer(self.mixed, self.mixed) / self.level)

    def magnitude(self) -> float:
        """The size of the terms whose difference R′ is: its rounding is relative to this."""
        return float(np.linalg.norm(self.types) + self.mixed @ self.mixed / self.level)

    def products(self, moments: Floats) -> tuple[Floats, Floats]:
        """−∂⟨moments, R′⟩ by levels and by pairs: what the products are on average when E uuᵀ is `moments`.

        `moments` (k, k) → (k,) and (k, k).
        """
        root = np.exp(self.epsilon / 2)
        slope = -self.mixed / self.level
        by_level = moments @ slope
        level = float(slope @ by_level)
        levels = by_level * (root + 1 / root) - np.diag(moments) - level
        pairs = moments - (by_level[:, None] + by_level) / root + level / root**2
        return levels, pairs


def row_form(levels: Floats, pairs: Floats, epsilon: float) -> RowForm:
    """R(u, b) for multipliers (k,) and (k, k): minus the weighted sum of the products."""
    root = np.exp(epsilon / 2)
    halves = (pairs + pairs.T) / 2
    mixed = halves.sum(axis=1) / root - levels * (root + 1 / root) / 2
    return RowForm(np.diag(levels) - halves, mixed, float(levels.sum() - pairs.sum() / root**2), epsilon)
