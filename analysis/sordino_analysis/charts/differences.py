"""Differences with their bands around zero, below one another; those that cannot be told from zero are grey."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sordino_analysis.charts.plots import RIGHT, WIDTH, Interval, Plot, heading, legend, shortened
from sordino_analysis.charts.svg import document, dot, line, path, text
from sordino_analysis.figures import amount, span
from sordino_analysis.percentages import percent
from sordino_shared.errors import InvalidValue
from sordino_shared.quantities import quantity

MOST_ROWS = 30
_TOP, _ROW, _HALF = 112, 22, 5.0
_LABELS_END, _WORDS = 340, 110


@dataclass(frozen=True)
class DifferenceRow:
    """A difference with the `band` that decides its `verdict`."""

    label: str
    value: float
    band: Interval
    verdict: str

    @property
    def told(self) -> bool:
        """Whether the verdict tells it from zero."""
        return self.verdict in ("higher", "lower")


@dataclass(frozen=True, kw_only=True)
class DifferenceChart:
    """Rows in order, all in one `unit`; `band` says what their bands hold. Raises InvalidValue without rows."""

    title: str
    subtitle: str
    axis: str
    band: str
    unit: str
    rows: Sequence[DifferenceRow]

    def __post_init__(self) -> None:
        if not self.rows:
            raise InvalidValue("a chart of differences needs at least one row", self.rows)


def draw_differences(chart: DifferenceChart) -> str:
    """The chart as the text of an SVG file; of more than `MOST_ROWS` rows those that are farthest from zero."""
    rows = _farthest(chart.rows)
    bottom = _TOP + _ROW * len(rows) + 8
    ends = [0.0, *(end for row in rows for end in row.band)]
    margin = 0.03 * (max(ends) - min(ends))
    across = (min(ends) - margin, max(ends) + margin)
    plot = Plot.between(across, (0.0, float(len(rows))), (_LABELS_END, bottom), (RIGHT - _WORDS, _TOP))
    zero = plot.across(0.0)
    elements = [
        *heading(chart.title, chart.subtitle),
        *legend([("band", f"differs ({chart.band})"), ("doubt", "cannot be told from 0")]),
        *plot.columns(chart.axis, unit=chart.unit),
        line((zero, _TOP), (zero, bottom), "zero"),
    ]
    for place, row in enumerate(rows):
        elements += _drawn(plot, row, _TOP + _ROW * (place + 0.5))
    return document(WIDTH, bottom + 60, chart.title, _description(chart, rows), elements)


def _farthest(rows: Sequence[DifferenceRow]) -> list[DifferenceRow]:
    """The rows by their distance from zero in half widths of the band, in their own order."""
    if len(rows) <= MOST_ROWS:
        return list(rows)

    def distance(place: int) -> float:
        low, high = rows[place].band
        return abs(rows[place].value) / ((high - low) or 1.0)

    chosen = sorted(range(len(rows)), key=distance, reverse=True)[:MOST_ROWS]
    return [rows[place] for place in sorted(chosen)]


def _drawn(plot: Plot, row: DifferenceRow, y: float) -> list[str]:
    low, high = (plot.across(end) for end in row.band)
    corners = [(low, y - _HALF), (high, y - _HALF), (high, y + _HALF), (low, y + _HALF)]
    return [
        text((_LABELS_END - 12, y + 4), shortened(row.label, 44), "end", "small"),
        path(corners, "band" if row.told else "doubt", closed=True),
        line((low, y), (high, y), "estimate" if row.told else "unsure"),
        dot((plot.across(row.value), y), 3.0, "point" if row.told else "grey"),
        text((RIGHT - _WORDS + 12, y + 4), row.verdict, kind="small"),
    ]


def _description(chart: DifferenceChart, rows: Sequence[DifferenceRow]) -> str:
    told = [row for row in rows if row.told]
    first = max(told or rows, key=lambda row: abs(row.value))
    half = (first.band[1] - first.band[0]) / 2
    most = f"{amount(first.value, chart.unit, half)} ({span(first.band, chart.unit, half)})"
    left_out = len(chart.rows) - len(rows)
    more = f" {left_out:,} more are not drawn." if left_out else ""
    return (
        f"{chart.subtitle}. {quantity(len(rows), 'difference')}, {len(told)} of them told from 0; "
        f"{first.label}: {most}.{more}"
    )


def band_of_all(level: float) -> str:
    """What the band of a comparison holds."""
    return f"{percent(level)} band for all at once"
