"""The answers of an estimate with their intervals and simultaneous band, as SVG of bounded size."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.charts.estimate_shapes import EstimateChart
from sordino_analysis.charts.heat_maps import HeatMap, draw_heat_maps
from sordino_analysis.charts.marginals import draw_marginals
from sordino_analysis.charts.plots import LEFT, RIGHT, WIDTH, Plot, Tick, heading, legend, shortened
from sordino_analysis.charts.svg import document, dot, line, path
from sordino_analysis.figures import SHARE, amount, chosen
from sordino_shared.quantities import quantity

HEIGHT = 480
_TOP, _BOTTOM = 104, 400
# Fewer answers than this have marks and whiskers of their own; more share columns of pixels.
MOST_MARKS = 128
MOST_COLUMNS = 428


def draw_estimate(chart: EstimateChart) -> str:
    """The text of an SVG file: ranges as colours, marginals as small multiples, other answers in a row.

    More than `MOST_COLUMNS` answers in a row are drawn as the range of each column of pixels.
    """
    if chart.is_of_ranges:
        return draw_ranges(chart)
    return draw_marginals(chart) if chart.is_of_marginals else _in_a_row(chart)


def _in_a_row(chart: EstimateChart) -> str:
    count = len(chart.values)
    low = min(0.0, *(band[0] for band in chart.bands), *chart.values)
    high = max(0.0, *(band[1] for band in chart.bands), *chart.values)
    plot = Plot.between((-0.5, count - 0.5), (low, high), (LEFT, _BOTTOM), (RIGHT, _TOP))
    level = chart.level_text
    if count <= MOST_MARKS:
        drawn, samples = _marks(chart, plot), [("answer", f"answer and {level} interval")]
    else:
        drawn, samples = _columns(chart, plot), [("estimate", "least to largest answer of a column")]
    key = legend([*samples, ("band", f"{level} band for all answers at once")])
    axes = [*plot.rows(chart.answer_axis, unit=chart.answer_unit), plot.level(0.0, "zero")]
    axes += plot.columns(chart.axis, _ticks(chart))
    description = (
        f"{chart.subtitle}. {quantity(count, 'answer')}, from {amount(min(chart.values), chart.answer_unit)} to "
        f"{amount(max(chart.values), chart.answer_unit)}, "
        f"with {level} intervals and the band that holds all of them at once."
    )
    elements = [*heading(chart.title, chart.subtitle), *key, *axes, *drawn]
    return document(WIDTH, HEIGHT, chart.title, description, elements)


def _ticks(chart: EstimateChart) -> Iterable[Tick]:
    """The upper end of each answer's range, where all are ranges of one attribute; its label otherwise."""
    if not chart.is_distribution:
        return ((float(place), shortened(label)) for place, label in enumerate(chart.labels))
    highs = ([bound.high for bound in bounds] for bounds in chart.bounds)
    return (
        (float(place), f"≤ {chosen(float(high[0]))}")
        for place, high in enumerate(highs)
        if len(high) == 1 and high[0] is not None
    )


def _marks(chart: EstimateChart, plot: Plot) -> list[str]:
    """A box for each answer's band, a whisker for its interval, a dot for its value."""
    half = min(12.0, 0.4 * (plot.across(1.0) - plot.across(0.0)))
    drawn: list[str] = []
    for place, (value, interval, (low, high)) in enumerate(
        zip(chart.values, chart.intervals, chart.bands, strict=True)
    ):
        x = plot.across(place)
        ends = [plot.up(low), plot.up(high)]
        corners = [(x - half, ends[0]), (x + half, ends[0]), (x + half, ends[1]), (x - half, ends[1])]
        whisker = line((x, plot.up(interval[0])), (x, plot.up(interval[1])), "estimate")
        drawn += [path(corners, "band", closed=True), whisker, dot((x, plot.up(value)), 2.4, "point")]
    return drawn


def _columns(chart: EstimateChart, plot: Plot) -> list[str]:
    """The band's envelope, and in each column a stroke from the smallest to the largest answer."""
    count = len(chart.values)
    step = -(-count // MOST_COLUMNS)
    upper, lower, strokes = [], [], []
    for first in range(0, count, step):
        last = min(first + step, count)
        bands, values = chart.bands[first:last], chart.values[first:last]
        ends = plot.across(first - 0.5), plot.across(last - 0.5)
        upper += [(x, plot.up(max(high for _, high in bands))) for x in ends]
        lower += [(x, plot.up(min(low for low, _ in bands))) for x in ends]
        x = sum(ends) / 2
        # A stroke of no length is not drawn.
        strokes.append(line((x, plot.up(min(values)) + 0.5), (x, plot.up(max(values)) - 0.5), "estimate"))
    return [path(upper + lower[::-1], "band", closed=True), *strokes]


def draw_ranges(chart: EstimateChart) -> str:
    """Where a range begins upwards, where it ends to the right; beside it half of the width of the band."""
    ends = [_ends(chart, place) for place in range(len(chart.values))]
    begins, stops = (sorted({pair[side] for pair in ends}) for side in (0, 1))
    rows, columns = (dict(zip(found, range(len(found)), strict=True)) for found in (begins, stops))
    shares, halves = (np.full((len(begins), len(stops)), np.nan) for _ in range(2))
    for (begin, stop), value, (low, high) in zip(ends, chart.values, chart.bands, strict=True):
        shares[rows[begin], columns[stop]] = value
        halves[rows[begin], columns[stop]] = (high - low) / 2

    def drawn(title: str, cells: Floats, from_zero: bool) -> HeatMap:
        return HeatMap(
            title=title,
            rows=[_written(begin) for begin in begins],
            columns=[_written(stop) for stop in stops],
            row_axis=f"from {chart.axis}",
            column_axis=f"to {chart.axis}",
            cells=cells,
            from_zero=from_zero,
            unit=SHARE,
        )

    maps = [drawn("share of users", shares, True), drawn(f"± of the {chart.level_text} band", halves, False)]
    return draw_heat_maps(chart.title, chart.subtitle, maps)


def _ends(chart: EstimateChart, place: int) -> tuple[float, float]:
    """The numbers that a range lies between; infinite where it has no bound."""
    low, high = -math.inf, math.inf
    for bound in chart.bounds[place]:
        low = -math.inf if bound.low is None else float(bound.low)
        high = math.inf if bound.high is None else float(bound.high)
    return low, high


def _written(end: float) -> str:
    return {-math.inf: "least", math.inf: "most"}.get(end) or chosen(end)
