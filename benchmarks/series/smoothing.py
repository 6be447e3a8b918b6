"""The smoother against single days and centred weeks: root mean squared errors, and how often its own band holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.panel.smoother import smoothed_trend

DAYS = 120
VARIANCE = 3.68 / 33_333
_NEAR = slice(56, 64)
_FEW = 10

Truth = Callable[[np.random.Generator], Floats]


def _walk(step: float) -> Truth:
    return lambda rng: np.cumsum(rng.normal(0, step, DAYS))


def _step(size: float) -> Truth:
    return lambda rng: np.where(np.arange(DAYS) < DAYS // 2, 0.0, size)


TRUTHS: dict[str, Truth] = {
    "flat": lambda rng: np.zeros(DAYS),
    "random walk .001 a day": _walk(0.001),
    "random walk .003 a day": _walk(0.003),
    "weekly wave ± .02": lambda rng: 0.02 * np.sin(2 * np.pi * np.arange(DAYS) / 7),
    "step .02": _step(0.02),
    "step .05": _step(0.05),
}


@dataclass(frozen=True)
class Errors:
    """Root mean squared errors over all days, and shares of the smoother's ± 1.96 errors that hold the truth."""

    truth: str
    day: float
    week: float
    smoother: float
    held: float
    held_near: float


def errors(truth: str, runs: int, seed: int = 1) -> Errors:
    """Over so many series of 120 days, ten of which have a quarter of the reports."""
    squares, held = np.zeros((runs, 3)), np.zeros((runs, DAYS))
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        true = TRUTHS[truth](rng)
        noise = np.full(DAYS, VARIANCE)
        noise[rng.choice(DAYS, _FEW, replace=False)] *= 4
        values = true + rng.normal(0, np.sqrt(noise))
        trend = smoothed_trend(range(DAYS), values[:, None], noise[:, None])
        off = trend.value[:, 0] - true
        squares[run] = [((found - true) ** 2).mean() for found in (values, _centred(values, noise), trend.value[:, 0])]
        held[run] = np.abs(off) <= 1.96 * np.sqrt(trend.variance[:, 0])
    day, week, smoother = np.sqrt(squares.mean(axis=0))
    return Errors(truth, float(day), float(week), float(smoother), float(held.mean()), float(held[:, _NEAR].mean()))


def _centred(values: Floats, noise: Floats) -> Floats:
    """(m,) means of seven days by their reports; fewer at the ends."""
    counts, ones = 1 / noise, np.ones(7)
    return np.asarray(np.convolve(values * counts, ones, "same") / np.convolve(counts, ones, "same"))
