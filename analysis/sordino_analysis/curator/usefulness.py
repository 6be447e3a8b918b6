"""From how many people on a release tells more than the uniform histogram, which knows nothing of the data."""

from __future__ import annotations

import math

import numpy as np

from sordino_analysis.arrays import Floats

# The data that errors are compared on: shares in proportion to 1/rank^1.2, over types in random order.
_EXPONENT = 1.2
# A release is called useful where its error is this share of that of knowing nothing.
_USEFUL = 0.5


def uniform_error(matrix: Floats, weights: Floats) -> float:
    """Root mean squared error √E[(1/Q) Σ w_q (W(h − u))²] of answering the uniform histogram u; `matrix` (Q, k).

    h has Zipf's shares in random order, of which E(h − u)(h − u)ᵀ is a multiple of I − 11ᵀ/k. `weights` (Q,).
    """
    size = matrix.shape[1]
    shares = 1 / np.arange(1, size + 1) ** _EXPONENT
    shares /= shares.sum()
    each = float(((shares - 1 / size) ** 2).sum()) / (size - 1)
    centred = matrix - matrix.mean(axis=1, keepdims=True)
    return math.sqrt(each * float(weights @ (centred**2).sum(axis=1)) / len(matrix))


def useful_from(mean_variance: float, uniform: float) -> int:
    """The least n with √mean_variance/n at most half of the error of the uniform histogram."""
    return math.ceil(math.sqrt(mean_variance) / (_USEFUL * uniform))
