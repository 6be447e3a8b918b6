"""log Σ_v exp(f(v)/τ) over all 2^k rows and its slopes, by sums along the paths of `window_paths`.

A forward pass keeps how likely either dropped type was; a backward pass turns that into the chances of all states. What
needs no path, the terms of the queries and their slopes, is computed for many queries at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.bounds.tuning import OWN_TYPES
from sordino_analysis.optimisation.bounds.window_paths import Form, Integers, Lattice, Windows

# In place of −∞, whose differences are no numbers.
_NEVER = -1e30
# Entries of the arrays of one block of queries, which stay in a processor's cache.
_BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class SmoothMaximum:
    """τ log Σ_v exp(f(v)/τ), which is at least max f, and its derivatives by every number of the form."""

    value: float
    numerators: Floats
    weights: Floats
    multipliers: Floats


class SmoothPaths:
    """The rows with the lattice's numbers of high types."""

    def __init__(self, lattice: Lattice) -> None:
        self.lattice, self.windows = lattice, lattice.windows
        self.positions = len(self.windows.by_start)
        states = int(np.prod(lattice.shape))
        self.ratios = np.empty((len(self.windows.starts), states))
        half = (lattice.shape[0] // 2, *lattice.shape[1:])
        self.shares = np.empty((self.positions - 1, *half))
        self.inverse_means = np.broadcast_to(1.0 / lattice.means, lattice.shape).ravel()
        self.queries_of_block = max(1, _BLOCK // states)

    def smooth_maximum(self, form: Form, temperature: float) -> SmoothMaximum:
        """Value, and derivatives of shapes (Q, L + 2) twice, and (k,)."""
        masses, value = self._last(self._forward(form, temperature), temperature)
        return self._backward(masses, value)

    def value(self, form: Form, temperature: float) -> float:
        """The smooth maximum alone."""
        return self._last(self._forward(form, temperature), temperature)[1]

    def likely(self, form: Form, temperature: float) -> SmoothPaths:
        """Without the rows of so many high types that they have next to nothing of Σ_v exp(f(v)/τ)."""
        chances = self._last(self._forward(form, temperature), temperature)[0].sum(axis=0)
        most = int(np.flatnonzero(chances > OWN_TYPES.unlikely)[-1]) + 1 + OWN_TYPES.spare
        return SmoothPaths(Lattice(self.windows, self.lattice.epsilon, self.lattice.totals[:most]))

    def states(self, length: int) -> float:
        """How many states windows of so many types have."""
        lattice = self.lattice
        return float((len(lattice.left) * len(lattice.totals) * lattice.windows.types) << length)

    def at(self, windows: Windows) -> SmoothPaths:
        """The same rows, for forms of other windows."""
        return SmoothPaths(Lattice(windows, self.lattice.epsilon, self.lattice.totals))

    def _forward(self, form: Form, temperature: float) -> Floats:
        """Messages up to the last window; keeps the shares of the dropped low types and the ratios of all queries."""
        lattice, windows = self.lattice, self.windows
        scale = 1.0 / (temperature * lattice.means)
        terms = self._terms(form, np.broadcast_to(scale, lattice.shape).ravel())
        values = np.maximum(lattice.begin(form.multipliers) * scale, _NEVER)
        half = lattice.shape[0] // 2
        for start, queries in enumerate(windows.by_start):
            if start:
                both = self._merged(values, self.shares[start - 1])
                cost = form.multipliers[start + windows.length - 1] * scale
                np.subtract(both, cost, out=values[:half])
                np.subtract(both, cost * (1.0 + lattice.boost), out=values[half:])
            for _ in queries:
                values += next(terms)
        return values

    @staticmethod
    def _merged(values: Floats, share: Floats) -> Floats:
        """log(e^low + e^high) over the two types that may be dropped; `share` is filled with the low one's part."""
        low, high = values[0::2], np.full_like(values[1::2], _NEVER)
        high[:, 1:] = values[1::2, :-1]
        below = low < high
        smaller = np.exp(-np.abs(low - high))
        np.divide(1.0, 1.0 + smaller, out=share)
        both = np.maximum(low, high)
        both -= np.log(share)
        np.multiply(share, smaller, out=share, where=below)
        return both

    def _terms(self, form: Form, scale: Floats) -> Iterator[Floats]:
        """The queries' terms over τ mean(v), one after the other; keeps the ratios of their sums."""
        lattice, least = self.lattice, (form.weights * self.windows.sizes).sum(axis=1)
        for queries in self._blocks():
            sums = lattice.coefficients(form.numerators, queries) @ lattice.features
            below = lattice.coefficients(form.weights, queries) @ lattice.features
            # v ≥ 1: states that no row has may have less.
            np.maximum(below, least[queries, None], out=below)
            ratios = self.ratios[queries[0] : queries[-1] + 1]
            np.divide(sums, below, out=ratios)
            sums *= ratios
            sums *= scale
            yield from sums.reshape(-1, *lattice.shape)

    def _blocks(self) -> Iterator[Integers]:
        every = np.arange(len(self.windows.starts))
        for start in range(0, len(every), self.queries_of_block):
            yield every[start : start + self.queries_of_block]

    def _last(self, values: Floats, temperature: float) -> tuple[Floats, float]:
        """(2^L, number of N) chances of the last states, and the smooth maximum."""
        ends = self.lattice.ends(values)
        top = float(ends.max())
        masses = np.exp(ends - top)
        total = float(masses.sum())
        return masses / total, temperature * (top + float(np.log(total)))

    def _backward(self, masses: Floats, value: float) -> SmoothMaximum:
        """Chances of the states from the last window to the first, and the slopes from them."""
        windows, lattice = self.windows, self.lattice
        count, features = len(windows.starts), len(lattice.features)
        pushed, squared = np.empty((count, features)), np.empty((count, features))
        multipliers = np.zeros(windows.types)
        chances = np.zeros(lattice.shape)
        np.put_along_axis(chances, lattice.last_left[:, None, :], masses[:, None, :], axis=1)
        half = lattice.shape[0] // 2
        for start in range(self.positions - 1, -1, -1):
            shown = chances.ravel() * self.inverse_means
            for query in windows.by_start[start]:
                moved = shown * self.ratios[query]
                pushed[query] = lattice.features @ moved
                moved *= self.ratios[query]
                squared[query] = lattice.features @ moved
            if start:
                every, high = float(shown.sum()), float(shown[shown.size // 2 :].sum())
                multipliers[start + windows.length - 1] = -(every + lattice.boost * high)
                chances = self._earlier(chances[:half] + chances[half:], self.shares[start - 1])
        by_pattern = shown.reshape(lattice.shape[0], -1).sum(axis=1)
        multipliers[: windows.length] = -(by_pattern @ (1.0 + lattice.boost * windows.bits))
        return SmoothMaximum(value, 2.0 * self._by_cell(pushed), -self._by_cell(squared), multipliers)

    def _earlier(self, merged: Floats, share: Floats) -> Floats:
        """The chances of the states before one type was dropped."""
        chances = np.empty(self.lattice.shape)
        np.multiply(merged, share, out=chances[0::2])
        merged -= chances[0::2]
        chances[1::2, :-1] = merged[:, 1:]
        chances[1::2, -1] = 0.0
        return chances

    def _by_cell(self, sums: Floats) -> Floats:
        """(Q, L + 2) Σ over states of v's sum over each cell, from the sums (Q, L + 3) of the features."""
        every, left, total, inside = sums[:, :1], sums[:, 1:2], sums[:, 2:3], sums[:, 3:]
        right = total - left - inside.sum(axis=1, keepdims=True)
        return np.asarray(self.windows.sizes * every + self.lattice.boost * np.hstack([left, inside, right]))
