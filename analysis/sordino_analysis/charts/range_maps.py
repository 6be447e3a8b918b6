"""The shares of ranges as two triangles of colours: the share itself, and how far it is sure."""

from __future__ import annotations

import math

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.charts.estimate_shapes import EstimateChart
from sordino_analysis.charts.heat_maps import HeatMap, draw_heat_maps
from sordino_analysis.figures import SHARE, chosen


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
