"""How far the mean of a few reports may lie from the truth: Chernoff's bound, from the law of one report."""

from __future__ import annotations

import math

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.contribution_law import ContributionLaw

# Halvings of the exponent's logarithm, from e^-12 to e^12 standard errors: the bound is off by less than its hundredth.
_HALVINGS = 24
_WIDEST = 12.0


def furthest_error(law: ContributionLaw, users: int, tail: float) -> float:
    """t with P(error of the mean of `users` contributions ≥ t) ≤ tail, and ≤ −t likewise (Chernoff 1952).

    The law's shares of the users are of each class: P ≤ exp(−n·(s·t − K(s))) for every s > 0, K(s) = Σ_g share_g·log
    E[exp(s(c − E c)) | g]. No more than the furthest value that a report can add.
    """
    present = np.flatnonzero(law.shares > 0)
    chances, shares = law.chances[:, present], law.shares[present]
    means = law.values @ chances
    return max(_right(sign * law.values, chances, sign * means, shares, users, tail) for sign in (1, -1))


def _right(values: Floats, chances: Floats, means: Floats, shares: Floats, users: int, tail: float) -> float:
    """min over s of (K(s) + log(1/tail)/n)/s, which falls up to its minimum and then rises.

    `values` (m,), `chances` (m, g), `means` and `shares` (g,).
    """
    furthest = float(values[(chances > 0).any(axis=1)].max() - means @ shares)
    variance = float(shares @ (values**2 @ chances - means**2))
    if furthest <= 0 or variance <= 0:
        return 0.0
    with np.errstate(divide="ignore"):
        logarithms = np.log(chances)
    odds, scale = math.log(1 / tail) / users, 1 / math.sqrt(variance)

    def excess(s: float) -> tuple[float, float]:
        """K(s) and s·K′(s) − K(s), which rises with s to where the bound is least, at `odds`."""
        exponents = s * values[:, None] + logarithms
        tops = exponents.max(axis=0)
        weights = np.exp(exponents - tops)
        totals = weights.sum(axis=0)
        cumulant = float(shares @ (np.log(totals) + tops - s * means))
        slope = float(shares @ (values @ weights / totals - means))
        return cumulant, s * slope - cumulant

    low, high = -_WIDEST, _WIDEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(scale * math.exp(middle))[1] < odds else (low, middle)
    s = scale * math.exp(high)
    return min(furthest, (excess(s)[0] + odds) / s)
