"""Coverage of windows and changes in series of devices that come, go, use the app more or less, and change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import sordino_analysis as sa
from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.accumulator_moments import response_moments
from sordino_analysis.panel.period_answers import Change, PeriodAnswers

SLOTS, DAYS, WEEK = 30, 14, 7
_MEAN_LIFE = 60


@dataclass(frozen=True)
class Held:
    """Shares of series whose 95 % interval holds the truth; `bias` with its standard error; a window's overlap.

    `overlap` is the mean square of (change − truth)/standard error for windows that share 4 of 7 days, `ratio` its
    variance over that of independent windows.
    """

    reporters: float
    population: float
    change: float
    day: float
    bias: tuple[float, float]
    overlap: float
    ratio: float
    series: int


@dataclass(frozen=True, eq=False)
class Simulated:
    """One series: its estimates, and of the devices (days,) active and who reported how many hold the property."""

    series: sa.SeriesEstimates
    active: Floats
    holding: Floats
    reported: Floats
    reported_holding: Floats


def coverage(devices: int, runs: int, seed: int = 1) -> Held:
    """Over so many series of one bit at ε = 1."""
    found = [_judged(one) for one in simulated(devices, runs, seed)]
    columns = np.array(found)
    mean = columns.mean(axis=0)
    errors = columns[:, 4]
    return Held(
        *(float(value) for value in mean[:4]),
        bias=(float(errors.mean()), float(errors.std(ddof=1) / np.sqrt(runs))),
        overlap=float(mean[5]),
        ratio=float(mean[6]),
        series=runs,
    )


def simulated(devices: int, runs: int, seed: int) -> Iterator[Simulated]:
    """Series whose devices are light and heavy users, join and leave, and hold a property that spreads."""
    plan = sa.plan(sa.histogram(2), epsilon=1, mechanism="randomized_response")
    law = response_moments(plan.device.randomizer)  # type: ignore[arg-type]
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        joined = rng.integers(-2 * _MEAN_LIFE, DAYS, devices)
        left = joined + rng.geometric(1 / _MEAN_LIFE, devices)
        rate = np.where(rng.random(devices) < 0.5, 0.9, 0.15)
        tendency, phase = rng.random(devices), rng.integers(0, SLOTS, devices)
        counts, periods = np.zeros((4, DAYS)), {}
        for day in range(DAYS):
            active = (joined <= day) & (day < left) & (rng.random(devices) < rate)
            # Heavy users hold it more often, and more hold it every day.
            holds = tendency < 0.2 + 0.1 * (rate > 0.5) + 0.01 * day
            asked = active & (phase == day % SLOTS)
            counts[:, day] = active.sum(), (active & holds).sum(), asked.sum(), (asked & holds).sum()
            reporters, holding = int(counts[2, day]), int(counts[3, day])
            zeros = rng.binomial(holding, float(law.own)) + rng.binomial(reporters - holding, float(law.other))
            periods[day] = sa.Aggregate(reporters, np.array([zeros, reporters - zeros], dtype=np.int64))
        yield Simulated(sa.series(plan, periods, slots=SLOTS), *counts)


def _judged(one: Simulated) -> list[float]:
    first, second, shifted = slice(0, WEEK), slice(WEEK, DAYS), slice(3, 3 + WEEK)
    pooled = [one.reported_holding[days].sum() / one.reported[days].sum() for days in (first, second, shifted)]
    population = one.holding[second].sum() / one.active[second].sum()
    early, late, window, day = (_window(one.series, *each) for each in ((0, 6), (3, 9), (7, 13), (3, 3)))
    change, overlap = (_change(one.series, (0, 6), later) for later in ((7, 13), (3, 9)))
    error = overlap.value[0] - (pooled[2] - pooled[0])
    return [
        _holds(window.interval, pooled[1]),
        _holds(window.population_interval, population),
        _holds(change.interval, pooled[1] - pooled[0]),
        _holds(day.interval, one.reported_holding[3] / one.reported[3]),
        window.value[0] - population,
        (error / overlap.standard_error[0]) ** 2,
        overlap.standard_error[0] ** 2 / (early.standard_error[0] ** 2 + late.standard_error[0] ** 2),
    ]


def _window(series: sa.SeriesEstimates, first: int, last: int) -> PeriodAnswers:
    found = series.window(first, last)
    assert found is not None
    return found


def _change(series: sa.SeriesEstimates, earlier: tuple[int, int], later: tuple[int, int]) -> Change:
    found = series.change(earlier, later)
    assert found is not None
    return found


def _holds(interval: Floats | None, truth: float) -> bool:
    assert interval is not None
    return bool(interval[0, 0] <= truth <= interval[0, 1])
