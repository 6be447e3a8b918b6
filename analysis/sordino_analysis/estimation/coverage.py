"""How often an interval of ± z standard errors holds the truth when the error is not quite normal."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from sordino_analysis.arrays import Floats

# What coverage may fall short of its level without a warning. A level of 95 % is doubted below 93.75 %, half way
# between the 94 % that are as good as promised and the 93.5 % that are not.
ALLOWED_SHORTFALL = 0.0125


def predicted_coverage(
    z: float,
    skewness: Floats | float,
    excess_kurtosis: Floats | float,
    *,
    variance_slope: Floats | float = 0.0,
    variance_spread: Floats | float = 0.0,
) -> Floats:
    """P(|T| ≤ z) for T = S/√(1+D), up to the terms of order 1/n, by the Edgeworth expansion (Hall 1992, section 2.3).

    S is the standardised error of an estimate, with its `skewness` and `excess_kurtosis`: of a mean of n users, one
    user's over √n and over n. D is the relative error of the variance that the interval takes: it has mean 0,
    `variance_slope` is Cov(S, D), and `variance_spread` Var(D). Both are 0 where the variance is known. Continuous
    errors are assumed: equal steps of size s standard errors add up to ± φ(z)·s, which no moment bounds. Any shapes
    that go together; values lie between 0 and 1.
    """
    third, fourth, slope, spread = (
        np.asarray(given, dtype=float) for given in (skewness, excess_kurtosis, variance_slope, variance_spread)
    )
    # Cumulants of T ≈ S(1 − D/2 + 3D²/8).
    shift, widened = -slope / 2, spread + 7 / 4 * slope**2
    skewed = third - 3 * slope
    heavy = fourth - 6 * slope * third + 3 * spread + 18 * slope**2
    bend = (
        (widened + shift**2) / 2
        + (heavy + 4 * shift * skewed) * (z**2 - 3) / 24
        + skewed**2 * (z**4 - 10 * z**2 + 15) / 72
    )
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return np.asarray(np.clip(2 * ndtr(z) - 1 - 2 * density * z * bend, 0.0, 1.0))


def enough_reports(reports: float, shortfall: Floats | float, *, allowed: float = ALLOWED_SHORTFALL) -> Floats:
    """How many reports bring a `shortfall` (level − coverage) of so many `reports` down to `allowed`.

    What an expansion's terms of order 1/n take from the coverage falls as 1/n.
    `shortfall` (Q,) or a scalar; the result has its shape.
    """
    return np.asarray(reports * np.maximum(shortfall, 0.0) / allowed)
