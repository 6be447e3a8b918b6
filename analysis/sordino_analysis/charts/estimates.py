"""The answers of an estimate with their intervals and simultaneous band, as SVG of bounded size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sordino_analysis.charts.scales import Scale, room_for, round_ticks
from sordino_analysis.charts.svg import document, dot, line, path, text
from sordino_shared.errors import InvalidValue

WIDTH, HEIGHT = 960, 480
_LEFT, _RIGHT = 72, 928
_TOP, _BOTTOM = 104, 400
# Fewer answers than this have marks and whiskers of their own; more share columns of pixels.
MOST_MARKS = 128
MOST_COLUMNS = 428
_LABEL_LENGTH = 24

Interval = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class EstimateChart:
    """Q answers in order with `intervals` that hold one by one and `bands` that hold at once, at `level`.

    Raises InvalidValue unless `labels`, `values`, `intervals` and `bands` have the same length Q ≥ 1.
    """

    title: str
    subtitle: str
    level: float
    labels: Sequence[str]
    values: Sequence[float]
    intervals: Sequence[Interval]
    bands: Sequence[Interval]

    def __post_init__(self) -> None:
        lengths = {len(self.labels), len(self.values), len(self.intervals), len(self.bands)}
        if len(lengths) != 1 or not self.values:
            raise InvalidValue(f"a chart needs four series of one length, got lengths {sorted(lengths)}", lengths)


def draw_estimate(chart: EstimateChart) -> str:
    """The chart as the text of an SVG file; more than `MOST_COLUMNS` answers are drawn as the range of each column."""
    across = Scale(-0.5, len(chart.values) - 0.5, _LEFT, _RIGHT)
    low = min(0.0, *(band[0] for band in chart.bands), *chart.values)
    high = max(0.0, *(band[1] for band in chart.bands), *chart.values)
    up = Scale(low, high if high > low else low + 1.0, _BOTTOM, _TOP)
    level = f"{100 * chart.level:g} %"
    heading = [text((_LEFT, 36), chart.title, kind="title"), text((_LEFT, 58), chart.subtitle), *_legend(level)]
    drawn = _marks(chart, across, up) if len(chart.values) <= MOST_MARKS else _columns(chart, across, up)
    description = (
        f"{chart.subtitle}. {len(chart.values):,} answers, from {min(chart.values):.4g} to {max(chart.values):.4g}, "
        f"with {level} intervals and the band that holds all of them at once."
    )
    elements = [*heading, *_frame(chart, across, up), *drawn]
    return document(WIDTH, HEIGHT, chart.title, description, elements)


def _frame(chart: EstimateChart, across: Scale, up: Scale) -> list[str]:
    rows = [
        part
        for value in round_ticks(up.low, up.high, 6)
        for part in (
            line((_LEFT, up(value)), (_RIGHT, up(value)), "grid"),
            text((_LEFT - 8, up(value) + 4), f"{value:g}".replace("-", "−"), "end"),
        )
    ]
    ticks = room_for(((place, _shortened(label)) for place, label in enumerate(chart.labels)), across)
    below = [text((across(place), _BOTTOM + 20), label, "middle") for place, label in ticks]
    axis = text(((_LEFT + _RIGHT) / 2, _BOTTOM + 48), "query", "middle")
    return [*rows, line((_LEFT, up(0.0)), (_RIGHT, up(0.0)), "zero"), *below, axis]


def _marks(chart: EstimateChart, across: Scale, up: Scale) -> list[str]:
    """A box for each answer's band, a whisker for its interval, a dot for its value."""
    half = min(12.0, 0.4 * (across(1.0) - across(0.0)))
    drawn: list[str] = []
    for place, (value, interval, (low, high)) in enumerate(
        zip(chart.values, chart.intervals, chart.bands, strict=True)
    ):
        x = across(place)
        corners = [(x - half, up(low)), (x + half, up(low)), (x + half, up(high)), (x - half, up(high))]
        whisker = line((x, up(interval[0])), (x, up(interval[1])), "estimate")
        drawn += [path(corners, "band", closed=True), whisker, dot((x, up(value)), 2.4, "point")]
    return drawn


def _columns(chart: EstimateChart, across: Scale, up: Scale) -> list[str]:
    """The band's envelope, and in each column a stroke from the smallest to the largest answer."""
    count = len(chart.values)
    step = -(-count // MOST_COLUMNS)
    upper, lower, strokes = [], [], []
    for first in range(0, count, step):
        last = min(first + step, count)
        bands, values = chart.bands[first:last], chart.values[first:last]
        ends = across(first - 0.5), across(last - 0.5)
        upper += [(x, up(max(high for _, high in bands))) for x in ends]
        lower += [(x, up(min(low for low, _ in bands))) for x in ends]
        x = sum(ends) / 2
        # A stroke of no length is not drawn.
        strokes.append(line((x, up(min(values)) + 0.5), (x, up(max(values)) - 0.5), "estimate"))
    return [path(upper + lower[::-1], "band", closed=True), *strokes]


def _legend(level: str) -> list[str]:
    bar = [(_LEFT + 220, 74), (_LEFT + 244, 74), (_LEFT + 244, 86), (_LEFT + 220, 86)]
    return [
        dot((_LEFT + 12, 80), 2.4, "point"),
        line((_LEFT, 80), (_LEFT + 24, 80), "estimate"),
        text((_LEFT + 31, 84.5), f"answer and {level} interval"),
        path(bar, "band", closed=True),
        text((_LEFT + 251, 84.5), f"{level} band for all answers at once"),
    ]


def _shortened(label: str) -> str:
    return label if len(label) <= _LABEL_LENGTH else label[: _LABEL_LENGTH - 1] + "…"
