"""Binomial laws in floats that are never below the exact ones, with a bound on what is left out.

Every float here comes of sums, products and quotients of positive numbers, each within 2⁻⁵³ of the exact one. A chain
of a million of them is within 2⁻³²; `ROUNDED_UP` covers it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sordino_analysis.arrays import Floats

ROUNDED_UP = 1 + 2.0**-30


@dataclass(frozen=True, eq=False)
class Window:
    """`chances[i]` is at least P(X = first + i) but for rounding, `outside` at least the chance of all other values."""

    first: int
    chances: Floats
    outside: float

    @property
    def last(self) -> int:
        """The largest value in the window."""
        return self.first + len(self.chances) - 1


def binomial_window(trials: int, chance: Fraction, negligible: float) -> Window:
    """X ~ Bin(trials, chance) where it is likely: `outside` is about `negligible`, a number above 0 and below 1."""
    if trials == 0 or chance == 0:
        return Window(0, np.ones(1), 0.0)
    if chance == 1:
        return Window(trials, np.ones(1), 0.0)
    odds = float(chance / (1 - chance))
    mode = min(trials, math.floor((trials + 1) * chance))
    reach = _reach(trials * float(chance * (1 - chance)), negligible)
    low, high = max(0, mode - reach), min(trials, mode + reach)
    up = np.arange(mode, high, dtype=np.float64)
    down = np.arange(mode, low, -1, dtype=np.float64)
    above = np.cumprod((trials - up) / (up + 1) * odds)
    below = np.cumprod(down / (trials - down + 1) / odds)
    weights = np.concatenate([below[::-1], np.ones(1), above])
    # The sum over the window is at most that over all values, so the quotients are at least the chances.
    chances = weights / weights.sum()
    last = _tail(chances[-1], float(trials - high) / (high + 1) * odds)
    first = _tail(chances[0], float(low) / (trials - low + 1) / odds)
    return Window(low, chances, (first + last) * ROUNDED_UP)


def _reach(variance: float, negligible: float) -> int:
    """Bernstein's inequality: beyond mean ± reach there is about the chance `negligible`."""
    log = math.log(2 / negligible)
    return math.ceil(log / 3 + math.sqrt(log**2 / 9 + 2 * log * variance)) + 1


def _tail(edge: float, ratio: float) -> float:
    """Σ of the chances beyond an edge: their ratios only fall, so a geometric series bounds them."""
    return 0.0 if ratio == 0 else math.inf if ratio >= 1 else edge * ratio / (1 - ratio)
