"""From how many people on a release tells more than the uniform histogram, which knows nothing of the data."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import zeta

from sordino_analysis.arrays import Floats

# The data that errors are compared on: shares in proportion to 1/rank^1.2, over types in random order.
_EXPONENT = 1.2
# A release is called useful where its error is this share of that of knowing nothing.
_USEFUL = 0.5


def zipf_spread(size: int) -> float:
    """k·c for E(h − u)(h − u)ᵀ = c(I − 11ᵀ/k), with Zipf's shares h of k types in random order and u = 1/k."""
    squares = _sum_of_powers(2 * _EXPONENT, size) / _sum_of_powers(_EXPONENT, size) ** 2
    return (squares - 1 / size) * size / (size - 1)


def zipf_shares(size: int) -> Floats:
    """(k,) Zipf's shares of k types, the largest first."""
    weights = np.arange(1, size + 1) ** -_EXPONENT
    return np.asarray(weights / weights.sum())


def uniform_error(matrix: Floats, weights: Floats) -> float:
    """Root mean squared error √E[(1/Q) Σ w_q (W(h − u))²] of answering the uniform histogram u; `matrix` (Q, k).

    h has Zipf's shares in random order. `weights` (Q,).
    """
    size = matrix.shape[1]
    centred = matrix - matrix.mean(axis=1, keepdims=True)
    return math.sqrt(zipf_spread(size) * float(weights @ (centred**2).mean(axis=1)) / len(matrix))


def useful_from(mean_variance: float, uniform: float) -> int:
    """The least n with √mean_variance/n at most half of the error of the uniform histogram."""
    return math.ceil(math.sqrt(mean_variance) / (_USEFUL * uniform))


def _sum_of_powers(exponent: float, count: int) -> float:
    """Σ r^(−exponent) over r = 1 … count."""
    return float(zeta(exponent) - zeta(exponent, count + 1.0))
