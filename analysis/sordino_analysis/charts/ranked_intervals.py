"""Named numbers with their intervals below one another, the least first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sordino_analysis.charts.plots import RIGHT, WIDTH, Interval, Plot, heading, legend, shortened
from sordino_analysis.charts.svg import document, dot, line, path, text
from sordino_analysis.figures import SHARE, amount
from sordino_shared.errors import InvalidValue
from sordino_shared.quantities import quantity

MOST_ROWS = 30
_TOP, _ROW = 112, 22
_LABELS_END = 380


@dataclass(frozen=True)
class RankedRow:
    """A value with an interval; `leads` marks those that may be the least."""

    label: str
    value: float
    interval: Interval
    leads: bool


@dataclass(frozen=True, kw_only=True)
class RankedChart:
    """Rows by value, and a value that they are compared with. Raises InvalidValue without rows."""

    title: str
    subtitle: str
    axis: str
    leading: str
    interval: str
    rows: Sequence[RankedRow]
    base: tuple[str, float] | None = None

    def __post_init__(self) -> None:
        if not self.rows:
            raise InvalidValue("a ranked chart needs at least one row", self.rows)


def draw_ranked(chart: RankedChart) -> str:
    """The first `MOST_ROWS` rows as the text of an SVG file; leading ones have a filled mark, others a ring."""
    rows = chart.rows[:MOST_ROWS]
    bottom = _TOP + _ROW * len(rows) + 8
    ends = [end for row in rows for end in row.interval] + ([] if chart.base is None else [chart.base[1]])
    margin = 0.03 * (max(ends) - min(ends))
    across = (min(ends) - margin, max(ends) + margin)
    plot = Plot.between(across, (0.0, float(len(rows))), (_LABELS_END, bottom), (RIGHT, _TOP))
    samples = [("answer", f"{chart.leading} ({chart.interval})")]
    if chart.base is not None:
        samples.append(("limit", chart.base[0]))
    elements = [*heading(chart.title, chart.subtitle), *legend(samples), *plot.columns(chart.axis, unit=SHARE)]
    if chart.base is not None:
        x = plot.across(chart.base[1])
        elements.append(line((x, _TOP), (x, bottom), "limit"))
    for place, row in enumerate(rows):
        elements += _row(plot, row, _TOP + _ROW * (place + 0.5))
    left_out = len(chart.rows) - len(rows)
    more = f" {left_out:,} more are not drawn." if left_out else ""
    description = (
        f"{chart.subtitle}. {quantity(len(rows), 'row')}, first {rows[0].label} with {amount(rows[0].value, SHARE)}; "
        f"{sum(row.leads for row in rows)} are marked: {chart.leading}.{more}"
    )
    return document(WIDTH, bottom + 60, chart.title, description, elements)


def _row(plot: Plot, row: RankedRow, y: float) -> list[str]:
    low, high = (plot.across(end) for end in row.interval)
    x = plot.across(row.value)
    mark = dot((x, y), 4.0, "point") if row.leads else _ring(x, y)
    label = text((_LABELS_END - 12, y + 4), shortened(row.label, 50), "end", "small")
    return [label, line((low, y), (high, y), "estimate"), mark]


def _ring(x: float, y: float) -> str:
    corners = [(x, y - 4), (x + 4, y), (x, y + 4), (x - 4, y)]
    return path(corners, "paper", closed=True) + path([*corners, corners[0]], "estimate")
