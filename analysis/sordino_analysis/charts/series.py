"""A series of periods: each answer as a panel with its periods, windows with their band, and the smoothed line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan

from sordino_analysis.charts.plots import LEFT, RIGHT, WIDTH, Interval, Plot, Tick, heading, legend, shortened
from sordino_analysis.charts.svg import document, dot, text
from sordino_analysis.figures import SHARE
from sordino_analysis.percentages import percent
from sordino_shared.errors import InvalidValue
from sordino_shared.quantities import quantity

# Of more answers those are drawn whose windows differ most.
MOST_PANELS = 8
_TOP, _ROW = 128, 220


@dataclass(frozen=True, kw_only=True)
class SeriesPoint:
    """Values (Q) of the periods `first` … `last`, with intervals that hold one by one and a band of all windows.

    A value is NaN where a period has no such answer.
    """

    first: int
    last: int
    values: Sequence[float]
    intervals: Sequence[Interval | None] | None
    band: Sequence[Interval] | None = None


@dataclass(frozen=True, kw_only=True)
class SeriesChart:
    """Q answers over periods: `periods` and `windows` in order, and where known a smoothed line (periods, Q).

    `ticks` are (period, text) below the last panel; `units` (Q,) are those of the answers, without them all are shares.
    Raises InvalidValue without periods or queries.
    """

    title: str
    subtitle: str
    level: float
    labels: Sequence[str]
    periods: Sequence[SeriesPoint]
    windows: Sequence[SeriesPoint]
    trend: Sequence[tuple[int, Sequence[float]]] = ()
    ticks: Sequence[Tick] = ()
    units: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not self.periods or not self.labels:
            raise InvalidValue("a chart of a series needs a period with answers", self.labels)

    @property
    def span(self) -> tuple[int, int]:
        """The first and the last period that is drawn."""
        return self.periods[0].first, self.periods[-1].last


def draw_series(chart: SeriesChart) -> str:
    """The text of an SVG file; all panels share the periods, and each has a scale of its own."""
    shown = _most_moving(chart)
    level = percent(chart.level)
    samples = [("answer", f"period and {level} interval")]
    samples += [("band", f"{level} band of all windows")] if chart.windows else []
    samples += [("other", "smoothed line, no interval")] if chart.trend else []
    elements = [*heading(chart.title, chart.subtitle), *legend(samples)]
    for row, query in enumerate(shown):
        elements += _panel(chart, query, _TOP + row * _ROW, last=row == len(shown) - 1)
    first, last = chart.span
    description = (
        f"{chart.subtitle}. Periods {first} to {last}, {len(chart.periods)} with reports; {len(shown)} of "
        f"{quantity(len(chart.labels), 'answer')}."
    )
    return document(WIDTH, _TOP + len(shown) * _ROW + 30, chart.title, description, elements)


def _most_moving(chart: SeriesChart) -> list[int]:
    """Up to `MOST_PANELS` answers, in order."""
    points = chart.windows or chart.periods

    def moved(query: int) -> float:
        found = [point.values[query] for point in points]
        known = [each for each in found if not isnan(each)]
        # What some periods do not have is hardly there in them.
        return max(known) - (min(known) if len(known) == len(found) else 0.0)

    chosen = sorted(range(len(chart.labels)), key=moved, reverse=True)[:MOST_PANELS]
    return sorted(chosen)


def _panel(chart: SeriesChart, query: int, top: float, *, last: bool) -> list[str]:
    drawn = [each for each in chart.periods if not isnan(each.values[query])]
    periods = [(each.last, each.values[query], _of(each.intervals, query)) for each in drawn]
    windows = [(each.last, each.values[query], _of(each.band, query)) for each in chart.windows]
    ends = [end for _, value, interval in (*periods, *windows) for end in (value, *(interval or ()))]
    first, final = chart.span
    unit = chart.units[query] if chart.units else SHARE
    corner, opposite = (LEFT, top + _ROW - 62.0), (RIGHT, top + 10.0)
    plot = Plot.between((first - 0.5, final + 0.5), (min(ends), max(ends)), corner, opposite)
    bands = [band for each in windows if each[2] is not None for band in [(each[0], each[1], each[2])]]
    elements = [text((LEFT, top), shortened(chart.labels[query], 100)), *plot.rows(_axis(unit), most=4, unit=unit)]
    for place, _, (low, high) in bands:
        elements.append(plot.box((place - 0.5, place + 0.5), (low, high), "band"))
    for place, value, interval in periods:
        if interval is not None:
            elements.append(plot.curve([(place, interval[0]), (place, interval[1])], "estimate"))
        elements.append(dot(plot.at(place, value), 2.4, "point"))
    if chart.trend:
        elements.append(plot.curve([(period, line[query]) for period, line in chart.trend], "other"))
    return [*elements, *plot.columns("period" if last else "", chart.ticks or None)]


def _axis(unit: str) -> str:
    return "share of users" if unit == SHARE else f"answer in {unit}" if unit else "answer"


def _of(ends: Sequence[Interval | None] | None, query: int) -> Interval | None:
    return None if ends is None else ends[query]
