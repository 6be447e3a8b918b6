"""log Σ_v exp(f(v)/τ) over all 2^k rows and its slopes, by sums along the paths of `window_paths`.

A forward pass keeps how likely either dropped type was; a backward pass turns that into the chances of all states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.bounds.window_paths import Form, Lattice

# In place of −∞, whose differences are no numbers.
_NEVER = -1e30


@dataclass(frozen=True, eq=False)
class SmoothMaximum:
    """τ log Σ_v exp(f(v)/τ), which is at least max f, and its derivatives by every number of the form."""

    value: float
    numerators: Floats
    weights: Floats
    multipliers: Floats


def smooth_maximum(lattice: Lattice, form: Form, temperature: float) -> SmoothMaximum:
    """Over the rows with the lattice's numbers of high types; derivatives of shapes (Q, L + 2) twice, and (k,)."""
    passes = _Passes(lattice, form, temperature)
    passes.forward()
    return passes.backward()


class _Passes:
    def __init__(self, lattice: Lattice, form: Form, temperature: float) -> None:
        self.lattice, self.form, self.temperature = lattice, form, temperature
        self.windows = lattice.windows
        self.scale = (1.0 / (temperature * lattice.means))[:, None, None]
        self.ratios: dict[int, Floats] = {}
        self.shares: list[Floats] = []

    def forward(self) -> None:
        """Messages up to the last window, and the shares of the dropped low types on the way."""
        windows, boost = self.windows, self.lattice.boost
        values = np.maximum(self.lattice.begin(self.form.multipliers) * self.scale, _NEVER)
        for start, queries in enumerate(windows.by_start):
            if start:
                low, high = values[:, :, 0::2], np.full_like(values[:, :, 1::2], _NEVER)
                high[:, 1:] = values[:, :-1, 1::2]
                top = np.maximum(low, high)
                both = top + np.log1p(np.exp(-np.abs(low - high)))
                self.shares.append(np.exp(low - both))
                cost = self.form.multipliers[start + windows.length - 1] * self.scale
                values = np.concatenate([both - cost, both - cost * (1.0 + boost)], axis=2)
            for query in queries:
                values += self._term(int(query), start)
        self.last = values

    def _term(self, query: int, start: int) -> Floats:
        numerators, weights = self.form.numerators[query], self.form.weights[query]
        least = float(weights @ self.windows.sizes[query])
        sums = self.lattice.sums(numerators, start)
        ratio = sums / np.maximum(self.lattice.sums(weights, start), least)
        self.ratios[query] = ratio
        return np.asarray(sums * ratio * self.scale)

    def backward(self) -> SmoothMaximum:
        """Chances of the states from the last window to the first, and the slopes from them."""
        windows, lattice = self.windows, self.lattice
        numerators, weights = np.zeros_like(self.form.numerators), np.zeros_like(self.form.weights)
        multipliers = np.zeros(windows.types)
        chances, value = self._last_chances()
        for start in range(len(windows.by_start) - 1, -1, -1):
            for query in windows.by_start[start]:
                pushed = chances * self.ratios[int(query)]
                numerators[query] = 2.0 * self._by_cell(pushed, start)
                weights[query] = -self._by_cell(pushed * self.ratios[int(query)], start)
            if start:
                half = chances.shape[2] // 2
                high = float(chances[:, :, half:].sum(axis=(1, 2)) @ (1.0 / lattice.means))
                every = float(chances.sum(axis=(1, 2)) @ (1.0 / lattice.means))
                multipliers[start + windows.length - 1] = -(every + lattice.boost * high)
                chances = self._earlier(chances[:, :, :half] + chances[:, :, half:], self.shares[start - 1])
        by_pattern = (chances / lattice.means[:, None, None]).sum(axis=(0, 1))
        multipliers[: windows.length] = -(by_pattern @ (1.0 + lattice.boost * windows.bits))
        return SmoothMaximum(value, numerators, weights, multipliers)

    def _last_chances(self) -> tuple[Floats, float]:
        ends = self.lattice.ends(self.last)
        top = float(ends.max())
        masses = np.exp(ends - top)
        total = float(masses.sum())
        rest = np.clip(self.lattice.totals[:, None] - self.lattice.high, 0, len(self.lattice.left) - 1).astype(int)
        chances = np.zeros(self.lattice.shape)
        places = np.arange(len(self.lattice.totals))[:, None], rest, np.arange(chances.shape[2])
        np.add.at(chances, places, masses / total)
        return chances, self.temperature * (top + np.log(total))

    def _earlier(self, merged: Floats, share: Floats) -> Floats:
        """The chances of the states before one type was dropped."""
        low = merged * share
        chances = np.zeros(self.lattice.shape)
        chances[:, :, 0::2] = low
        chances[:, :-1, 1::2] = (merged - low)[:, 1:]
        return chances

    def _by_cell(self, pushed: Floats, start: int) -> Floats:
        """(L + 2,) Σ pushed·(v's sum over each cell)/mean(v)."""
        lattice, windows = self.lattice, self.windows
        pushed = pushed / lattice.means[:, None, None]
        by_pattern, by_place = pushed.sum(axis=(0, 1)), pushed.sum(axis=2)
        every = float(by_pattern.sum())
        left = float(by_place.sum(axis=0) @ lattice.left)
        inside = by_pattern @ windows.bits
        right = float(by_place.sum(axis=1) @ lattice.totals) - left - float(inside.sum())
        behind = windows.types - start - windows.length
        counts = np.concatenate([[start * every], np.full(windows.length, every), [behind * every]])
        return np.asarray(counts + lattice.boost * np.concatenate([[left], inside, [right]]))
