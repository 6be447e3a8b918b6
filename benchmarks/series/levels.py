"""How often bands, marks and intervals of series hold where users are few, ε is large or answers are extreme."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

import sordino_analysis as sa
from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.accumulator_moments import response_moments

DAYS, CELLS = 14, 3
EPSILONS, REPORTS = (1.0, 4.0, 8.0), (30, 200, 2000)
SHARES: Mapping[str, tuple[float, ...]] = {
    "one cell": (1.0, 0.0, 0.0),
    "two": (0.5, 0.5, 0.0),
    "uniform": (1 / 3, 1 / 3, 1 / 3),
}
# The day whose interval and the change whose interval are judged one by one.
_DAY = 3


@dataclass(frozen=True)
class Levels:
    """Of so many `series` of a law: the share whose `band` holds, for the query whose band holds least often, the share
    without a false mark, and how often the interval of a day and of a change holds, with what was `predicted` of a day.

    Intervals are counted where the day or both days of the change have 30 reports.
    """

    band: float
    unmarked: float
    day: float
    predicted: float
    change: float
    series: int


@dataclass(frozen=True, eq=False)
class Panel:
    """A series of a histogram of three cells whose devices stay and do not change, and its true days (days, cells)."""

    series: sa.SeriesEstimates
    truth: Floats


def panels(
    epsilon: float, reports: int, shares: tuple[float, ...], slots: int, runs: int, seed: int = 1, blanket: int = 0
) -> Iterator[Panel]:
    """So many series in which each of slots × reports devices keeps a cell and a phase, and answers by the real law.

    A shuffler's `blanket` random reports are among those of each day.
    """
    plan = sa.plan(sa.histogram(CELLS), epsilon=epsilon, mechanism="randomized_response")
    law = response_moments(plan.device.randomizer)  # type: ignore[arg-type]
    kernel = float(law.other) + np.eye(CELLS) * float(law.own - law.other)
    held = np.repeat(np.arange(CELLS), np.diff(np.rint(np.cumsum((0.0, *shares)) * slots * reports).astype(int)))
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        counts = np.zeros((slots, CELLS), dtype=int)
        np.add.at(counts, (rng.integers(0, slots, len(held)), held), 1)
        days = {}
        for day in range(DAYS):
            drawn = [
                rng.multinomial(users, chances) for users, chances in zip(counts[day % slots], kernel.T, strict=True)
            ]
            drawn.append(rng.multinomial(blanket, np.full(CELLS, 1 / CELLS)))
            days[day] = sa.Aggregate(int(counts[day % slots].sum()) + blanket, np.sum(drawn, axis=0).astype(np.int64))
        of_days = counts[np.arange(DAYS) % slots]
        yield Panel(
            sa.series(plan, days, slots=slots, blanket=blanket),
            of_days / np.maximum(of_days.sum(axis=1, keepdims=True), 1),
        )


def levels(
    epsilon: float, reports: int, shares: tuple[float, ...], runs: int, slots: int = 30, blanket: int = 0
) -> Levels:
    """Over so many series; days with too few reports have no band, which then cannot fail."""
    rows = [_judged(panel) for panel in panels(epsilon, reports, shares, slots, runs, blanket=blanket)]
    bands = np.array([row[0] for row in rows]).mean(axis=0)
    unmarked, day, predicted, change = np.nanmean([row[1] for row in rows], axis=0).tolist()
    return Levels(float(bands.min()), unmarked, day, predicted, change, runs)


def _judged(panel: Panel) -> tuple[Floats, list[float]]:
    """Per query whether its band holds, and for the first: unmarked, day, predicted coverage of the day, change."""
    windows, changes = panel.series.windows(1, 0, DAYS - 1), panel.series.changes(1, 0, DAYS - 1)
    bands = np.array([_holds(each.band, panel.truth[each.first]) for each in windows]).all(axis=0)
    day, change = windows[_DAY], changes[_DAY]
    assert day.first == _DAY
    later, earlier = panel.truth[change.later[0]], panel.truth[change.earlier[0]]
    of_day = of_change = predicted = float("nan")
    if day.interval is not None:
        of_day, predicted = float(_holds(day.interval, panel.truth[_DAY])[0]), float(day.coverage[0] or 0.0)
    if change.interval is not None:
        of_change = float(_holds(change.interval, later - earlier)[0])
    return bands, [float(not any(each.marked.any() for each in changes)), of_day, predicted, of_change]


def _holds(ends: Floats | None, truth: Floats) -> Floats:
    """(Q,) whether each truth lies within its ends, but for rounding; True without ends."""
    if ends is None:
        return np.ones(len(truth), dtype=bool)
    return np.asarray((ends[:, 0] <= truth + 1e-9) & (truth <= ends[:, 1] + 1e-9))


def table(runs: int, blanket: int = 0) -> Iterator[str]:
    """The lines of a Markdown table, a row as soon as it is known."""
    yield f"| {runs:,} series of {DAYS} days: ε | reports a day | users | band | unmarked | day (predicted) | change |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for epsilon in EPSILONS:
        for reports in REPORTS:
            for name, shares in SHARES.items():
                row = levels(epsilon, reports, shares, runs, blanket=blanket)
                yield (
                    f"| {epsilon:g} | {reports:,} | {name} | {row.band:.3f} | {row.unmarked:.3f} | "
                    f"{row.day:.3f} ({row.predicted:.3f}) | {row.change:.3f} |"
                )
