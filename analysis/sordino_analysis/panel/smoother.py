"""The trend of a series: a random walk seen through known noise, by Kalman's filter and the backward pass.

x_i = x_{i−1} + N(0, σ²) and y_i = x_i + N(0, v_i), where v_i is known; one σ² a query, of the greatest likelihood over
a grid. The trend is drawn beside the estimates as a line: it is biased where the truth jumps, and has no interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats

# σ² as multiples of the median noise; 0 is a mean that never moves.
GRID = np.concatenate([[0.0], np.logspace(-6, 3, 91)])

SENTENCES = (
    "Where the truth moves by at most δ a period, the trend is off by at most 2aδ/(1 − a²).",
    "Next to a step of Δ the trend is off by up to aΔ/(1 + a); take intervals from periods, windows and changes.",
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Trend:
    """The smoothed line `value` (m, Q) at the `periods`, and its `variance` (m, Q) if the model is true.

    `step_variance` (Q,) is σ², `decay` (Q,) is the a of SENTENCES at the median noise.
    """

    periods: tuple[int, ...]
    noise: Floats
    value: Floats
    variance: Floats
    step_variance: Floats
    decay: Floats

    def weights(self, query: int) -> Floats:
        """(m, m) what each estimate (column) counts in each value of the trend (row); rows sum to 1."""
        size = len(self.periods)
        noise = np.repeat(self.noise[:, query, None], size, axis=1)
        filtered = _filtered(_steps(self.periods), np.eye(size), noise, np.full(size, self.step_variance[query]))
        return _backward(*filtered)[0]


def smoothed_trend(periods: Sequence[int], values: Floats, noise: Floats) -> Trend:
    """The trend through the estimates `values` (m, Q) of the `periods`, in order, with the variances `noise` (m, Q)."""
    typical = np.median(noise, axis=0)
    variances = GRID[:, None] * typical
    grid = (len(GRID), *noise.shape[1:])
    steps = _steps(periods)
    likelihoods = _log_likelihoods(steps, values, noise, np.broadcast_to(variances, grid))
    best = np.take_along_axis(variances, likelihoods.argmax(axis=0)[None], axis=0)[0]
    value, variance = _backward(*_filtered(steps, values, noise, best))
    ratio = np.divide(best, typical, out=np.zeros_like(best), where=typical > 0)
    return Trend(
        periods=tuple(periods), noise=noise, value=value, variance=variance, step_variance=best, decay=decay_of(ratio)
    )


def decay_of(ratio: Floats) -> Floats:
    """(Q,) a = 1 + r/2 − √(r + r²/4): the kernel on many equal weights is (1 − a)/(1 + a)·a^|k|, for r = σ²/v (Q,)."""
    return np.asarray(1 + ratio / 2 - np.sqrt(ratio + ratio**2 / 4))


def _steps(periods: Sequence[int]) -> NDArray[np.int64]:
    numbers = np.asarray(periods, dtype=np.int64)
    return np.concatenate([numbers[:1] * 0, numbers[1:] - numbers[:-1]])


def _log_likelihoods(steps: NDArray[np.int64], values: Floats, noise: Floats, variances: Floats) -> Floats:
    """(G, Q) of the differences from the past, for σ² `variances` (G, Q); nothing is known before the first period."""
    mean = np.broadcast_to(values[0], variances.shape)
    variance = np.broadcast_to(noise[0], variances.shape)
    total = np.zeros(variances.shape)
    for step, value, own in zip(steps[1:], values[1:], noise[1:], strict=True):
        predicted = variance + step * variances
        spread = np.maximum(predicted + own, np.finfo(float).tiny)
        error = value - mean
        total -= (np.log(spread) + error**2 / spread) / 2
        gain = predicted / spread
        mean, variance = mean + gain * error, (1 - gain) * predicted
    return total


def _filtered(
    steps: NDArray[np.int64], values: Floats, noise: Floats, step_variance: Floats
) -> tuple[Floats, Floats, Floats]:
    """(m, Q) means and variances from the past alone, and the variances (m, Q) predicted for each period."""
    means, variances, predictions = values.copy(), noise.copy(), noise.copy()
    for place in range(1, len(values)):
        predictions[place] = variances[place - 1] + steps[place] * step_variance
        spread = np.maximum(predictions[place] + noise[place], np.finfo(float).tiny)
        gain = predictions[place] / spread
        means[place] = means[place - 1] + gain * (values[place] - means[place - 1])
        variances[place] = (1 - gain) * predictions[place]
    return means, variances, predictions


def _backward(means: Floats, variances: Floats, predictions: Floats) -> tuple[Floats, Floats]:
    """(m, Q) means and variances from all periods (Rauch, Tung and Striebel 1965)."""
    means, variances = means.copy(), variances.copy()
    for place in range(len(means) - 2, -1, -1):
        after = predictions[place + 1]
        gain = np.divide(variances[place], after, out=np.zeros_like(after), where=after > 0)
        means[place] += gain * (means[place + 1] - means[place])
        variances[place] += gain**2 * (variances[place + 1] - after)
    return means, variances
