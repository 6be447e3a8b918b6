"""Exact variances of a day by other ways to ask every day, for the same ε in T periods."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.stats import binom

SLOTS = (7, 30, 90, 365)
TREE = (32, 128, 512, 1024, 4096)
_DELTA = 1e-9


def histogram_variance(epsilon: float) -> float:
    """1/sinh²(ε/2): the least variance of a histogram over many types (3.683 at ε = 1)."""
    return 1 / math.sinh(epsilon / 2) ** 2


def bit_variance(epsilon: float) -> float:
    """1/(4 sinh²(ε/2)) (.921 at ε = 1)."""
    return histogram_variance(epsilon) / 4


def panel(slots: int) -> float:
    """N times the variance of a day: T·V(ε)."""
    return slots * histogram_variance(1)


def fresh_noise(slots: int) -> float:
    """Every device every day at ε/T."""
    return histogram_variance(1 / slots)


def composed(slots: int) -> float:
    """Every device every day at the largest ε' whose T-fold composition is (1, 10⁻⁹) (Kairouz, Oh, Viswanath 2015)."""

    def excess(epsilon: float) -> float:
        chances = binom.pmf(np.arange(slots + 1), slots, 1 / (1 + math.exp(-epsilon)))
        losses = (2 * np.arange(slots + 1) - slots) * epsilon
        return float((chances * np.maximum(0, -np.expm1(1 - losses))).sum()) - _DELTA

    return histogram_variance(float(brentq(excess, 1 / slots, 1.0, xtol=1e-12)))


def changes_only(periods: int, changes: int = 1) -> float:
    """N times the mean variance over the periods of one bit that changes at most c times, by a sampled dyadic level.

    c²(1 + log₂T)·coth²(ε/4)·popcount(t) for the plain version of Erlingsson et al. 2019.
    """
    ones = np.mean([number.bit_count() for number in range(1, periods + 1)])
    return changes**2 * (1 + math.log2(periods)) / math.tanh(0.25) ** 2 * float(ones)


def yearly_rate(epsilon: float) -> float:
    """A day's variance at one yearly rate r = ε/T, times r/N: V(ε)·ε."""
    return histogram_variance(epsilon) * epsilon
