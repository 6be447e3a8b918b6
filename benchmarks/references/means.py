"""Mechanisms of the literature for the mean of numbers in −1…1, by their variances; over the squared range, of 2."""

from __future__ import annotations

import math

# Below this ε the hybrid mechanism is that of one bit: Wang et al. 2019, Lemma 3.
_HYBRID_FROM = 0.61
_SQUARED_RANGE = 4
# Of numbers that are spread evenly over −1…1.
EVEN_SQUARE = 1 / 3


def two_point(epsilon: float, square: float) -> float:
    """One bit (Duchi, Jordan and Wainwright 2018): coth²(ε/2) − x², for x² = `square`."""
    return (1 / math.tanh(epsilon / 2) ** 2 - square) / _SQUARED_RANGE


def piecewise(epsilon: float, square: float) -> float:
    """Piecewise mechanism (Wang et al. 2019, Lemma 1): x²/(e^(ε/2) − 1) + (e^(ε/2) + 3)/(3(e^(ε/2) − 1)²)."""
    root = math.exp(epsilon / 2)
    return (square / (root - 1) + (root + 3) / (3 * (root - 1) ** 2)) / _SQUARED_RANGE


def hybrid(epsilon: float, square: float) -> float:
    """Hybrid mechanism (Wang et al. 2019): piecewise with chance 1 − e^(−ε/2), else one bit."""
    share = 1 - math.exp(-epsilon / 2) if epsilon > _HYBRID_FROM else 0.0
    return share * piecewise(epsilon, square) + (1 - share) * two_point(epsilon, square)
