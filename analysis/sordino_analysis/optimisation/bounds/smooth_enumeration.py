"""The smooth maximum of `smooth_paths` over few types, by going through all rows in a few products of matrices."""

from __future__ import annotations

import numpy as np

from sordino_analysis.optimisation.bounds.smooth_paths import SmoothMaximum
from sordino_analysis.optimisation.bounds.window_paths import Form, Windows


class EveryRow:
    """The rows {1, e^ε}^k (2^k, k) for windows over k types, with the mean of each."""

    def __init__(self, windows: Windows, epsilon: float) -> None:
        self.windows, self.epsilon = windows, epsilon
        high = (np.arange(1 << windows.types)[:, None] >> np.arange(windows.types)) & 1
        self.rows = np.where(high, np.exp(epsilon), 1.0)
        self.means = self.rows.mean(axis=1)
        self.transposed = np.ascontiguousarray(self.rows.T)

    def smooth_maximum(self, form: Form, temperature: float) -> SmoothMaximum:
        """τ log Σ_v exp(f(v)/τ), and its derivatives of shapes (Q, L + 2) twice, and (k,)."""
        sums = self.windows.spread(form.numerators) @ self.transposed
        # v ≥ 1, so only a query without weight, whose sums are 0, has less.
        below = self.windows.spread(form.weights) @ self.transposed
        ratios = sums / np.maximum(below, np.finfo(float).tiny)
        values = (np.einsum("qv,qv->v", sums, ratios) - form.multipliers @ self.transposed) / self.means
        top = float(values.max())
        masses = np.exp((values - top) / temperature)
        total = float(masses.sum())
        chances = masses / (total * self.means)
        pushed = ratios * chances
        return SmoothMaximum(
            value=top + temperature * float(np.log(total)),
            numerators=2.0 * self.windows.totals(pushed @ self.rows),
            weights=-self.windows.totals((pushed * ratios) @ self.rows),
            multipliers=-(chances @ self.rows),
        )

    def value(self, form: Form, temperature: float) -> float:
        """The smooth maximum alone."""
        return self.smooth_maximum(form, temperature).value

    def likely(self, form: Form, temperature: float) -> EveryRow:
        """All rows: they are few."""
        return self

    def states(self, length: int) -> float:
        """The number of rows, at windows of any length."""
        return float(len(self.rows))

    def at(self, windows: Windows) -> EveryRow:
        """The same rows, for forms of other windows."""
        return EveryRow(windows, self.epsilon)
