"""Square wave reports with smoothed expectation and maximisation, from the paper (Li et al. 2020, sections 4 and 5).

A value v of [0, 1] is reported within b of it with density p and elsewhere on [−b, 1 + b] with density q = p/e^ε; the
estimate alternates EM steps with the kernel (1, 2, 1)/4 until the log-likelihood grows by less than a threshold.
"""

from __future__ import annotations

import math

import numpy as np

from sordino_analysis.arrays import Floats

# The paper's threshold of EMS, and steps at most.
_GAIN, _MOST_STEPS = 1e-3, 10_000
# Bins up to which the kernel of all reports is held.
_SMOOTHING = np.array([0.25, 0.5, 0.25])


def square_wave(shares: Floats, epsilon: float, users: int, random: np.random.Generator) -> Floats:
    """(k,) the estimate from `users` reports of users who are spread as `shares` (k,), evenly within bins."""
    kernel = _kernel(len(shares), epsilon)
    held = random.multinomial(users, shares)
    counts = sum(random.multinomial(held[x], kernel[:, x]) for x in np.flatnonzero(held))
    return _smoothed_em(kernel, np.asarray(counts, dtype=float))


def _kernel(bins: int, epsilon: float) -> Floats:
    """Chances of as many bins of reports as of values, for a value in the middle of its bin."""
    ratio = math.exp(epsilon)
    half = (epsilon * ratio - ratio + 1) / (2 * ratio * (ratio - 1 - epsilon))
    high = ratio / (2 * half * ratio + 1)
    edges = np.linspace(-half, 1 + half, bins + 1)
    middles = (np.arange(bins) + 0.5) / bins
    near = np.clip(np.minimum(edges[1:, None], middles + half) - np.maximum(edges[:-1, None], middles - half), 0, None)
    kernel = high / ratio * np.diff(edges)[:, None] + (high - high / ratio) * near
    return np.asarray(kernel / kernel.sum(axis=0))


def _smoothed_em(kernel: Floats, counts: Floats) -> Floats:
    shares = np.full(kernel.shape[1], 1 / kernel.shape[1])
    before = -np.inf
    for _ in range(_MOST_STEPS):
        expected = kernel @ shares
        shares = shares * ((counts / expected) @ kernel)
        padded = np.pad(shares / shares.sum(), 1, mode="edge")
        shares = np.convolve(padded, _SMOOTHING, mode="valid")
        shares = shares / shares.sum()
        now = float(counts @ np.log(kernel @ shares))
        if now - before < _GAIN:
            break
        before = now
    return np.asarray(shares)
