"""The picture of a table of answers: what its rows are about decides which chart it is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from math import isnan, nan
from typing import Any

from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.charts import (
    DifferenceChart,
    DifferenceRow,
    EstimateChart,
    RankedChart,
    RankedRow,
    SeriesChart,
    SeriesPoint,
    draw_differences,
    draw_estimate,
    draw_ranked,
    draw_series,
)
from sordino_analysis.charts.differences import band_of_all
from sordino_analysis.figures import only_unit
from sordino_analysis.percentages import percent
from sordino_shared.errors import SordinoError

Base = tuple[str, float]
Pairs = list[tuple[float, float]]
# More labels than these touch at the width of a chart.
_MOST_TICKS = 10
# Seconds of a day.
_DAY_S = 86_400


class NoPicture(SordinoError):
    """The answers are no list that could be drawn."""

    code = "no-picture"
    advice = "read the table of the answers, which has all of them"


def draw_answers_of(table: AnswerTable, title: str, subtitle: str, base: Base | None = None) -> str:
    """The text of an SVG file: rules by loss, a series, differences around zero, or answers with a band.

    Rules are compared with the loss of `base`, which has a name and a number. Raises NoPicture for a table without
    a band and for one without rows.
    """
    if "part" in table.columns:
        return draw_series(_series(table, title, subtitle))
    table = _with_middles(table)
    if not is_drawable(table):
        raise NoPicture("there are pictures of lists of answers with a band; the table has all of these answers")
    if "verdict" in table.columns:
        return draw_differences(_differences(_on_one_axis(table), title, subtitle))
    if "may_be_best" in table.columns:
        return draw_ranked(_rules(table, title, subtitle, base))
    return draw_estimate(_answers(_on_one_axis(table), title, subtitle))


def is_drawable(table: AnswerTable) -> bool:
    """Whether there is a picture: of answers with a band, or of a series with a period that has reports."""
    if len(table) == 0 or "part" in table.columns:
        return len(table) > 0
    table = _with_middles(table)
    return {"value", "band_lower"} <= table.columns.keys() and bool(_banded(table))


def _banded(table: AnswerTable) -> list[int]:
    """The rows that have a number and a band with two ends."""
    ends, values = table.ends("band_"), table.cells("value")
    return [row for row, each in enumerate(ends) if each is not None and values[row] is not None]


def _with_middles(table: AnswerTable) -> AnswerTable:
    """The middle of its bin as the value of a quantile; one that has a bin without an end stays without."""
    if "member" not in table.columns or "value_lower" not in table.columns:
        return table
    middles = [None if ends is None else sum(ends) / 2 for ends in table.ends("value_")]
    values = [middle if value is None else value for value, middle in zip(table.cells("value"), middles, strict=True)]
    return table.with_columns(value=values) if any(value is not None for value in values) else table


def _on_one_axis(table: AnswerTable) -> AnswerTable:
    """The answers that have a band, in the unit of the first of them; of those without one there is nothing to draw."""
    units, banded = list(map(_text, table.cells("unit"))), _banded(table)
    rows = [row for row in banded if units[row] == units[banded[0]]]
    return table if len(rows) == len(table) else table.only(rows)


def _answers(table: AnswerTable, title: str, subtitle: str) -> EstimateChart:
    bounds = table.bounds()
    kinds = [str(kind) for kind in table.cells("kind")]
    has_kinds = None not in table.cells("kind") and any(bounds)
    return EstimateChart(
        title=title,
        subtitle=subtitle,
        level=table.level,
        labels=_texts(table, "label"),
        values=_guesses(table),
        # A list that reports chose has no interval of its own.
        intervals=_pairs(table, "" if "lower" in table.columns else "band_"),
        bands=_pairs(table, "band_"),
        answer_unit=only_unit(unit or "" for unit in map(_text, table.cells("unit"))),
        kinds=kinds if has_kinds else (),
        bounds=bounds if has_kinds else (),
    )


def _differences(table: AnswerTable, title: str, subtitle: str) -> DifferenceChart:
    rows = zip(
        _texts(table, "label"), table.numbers("value"), _pairs(table, "band_"), table.cells("verdict"), strict=True
    )
    unit = _text(table.cells("unit")[0]) or ""
    return DifferenceChart(
        title=title,
        subtitle=subtitle,
        axis=f"{table.cells('right')[0]} − {table.cells('left')[0]}",
        band=band_of_all(table.level),
        unit=unit,
        rows=[DifferenceRow(label, value, band, str(verdict)) for label, value, band, verdict in rows],
    )


def _rules(table: AnswerTable, title: str, subtitle: str, base: Base | None) -> RankedChart:
    rows = zip(
        _texts(table, "label"),
        table.numbers("value"),
        _pairs(table, "band_"),
        table.cells("may_be_best"),
        strict=True,
    )
    return RankedChart(
        title=title,
        subtitle=subtitle,
        axis="loss of the rule, a share of users",
        leading="rule that may be the best",
        interval=f"{percent(table.level)} band of all rules",
        rows=[RankedRow(label, value, band, bool(best)) for label, value, band, best in rows],
        base=None if base is None else (f"better constant: {base[0]}", base[1]),
    )


def _series(table: AnswerTable, title: str, subtitle: str) -> SeriesChart:
    parts = _texts(table, "part")
    by_part = {name: table.only([row for row, part in enumerate(parts) if part == name]) for name in set(parts)}
    periods = by_part.get("period")
    if periods is None:
        raise NoPicture("no closed period of the series has an answer yet")
    labels = list(dict.fromkeys(_texts(periods, "label")))
    windows, trend = by_part.get("window"), by_part.get("trend")
    if windows is None and trend is None and len(periods) != len(labels) * len(set(periods.cells("period"))):
        return _lists(periods, labels, title, subtitle)
    points = _points(periods, len(labels))
    smoothed = [] if trend is None else _points(trend, len(labels))
    return SeriesChart(
        title=title,
        subtitle=subtitle,
        level=table.level,
        labels=labels,
        periods=points,
        windows=[] if windows is None else _points(windows, len(labels)),
        trend=[(each.last, each.values) for each in smoothed],
        units=[str(unit or "") for unit in periods.cells("unit")[: len(labels)]],
        ticks=_ticks(points, _begins(periods, len(labels))),
    )


def _lists(table: AnswerTable, labels: Sequence[str], title: str, subtitle: str) -> SeriesChart:
    """Periods that each have some of the answers."""
    rows: dict[int, dict[str, int]] = {}
    for row, (period, label) in enumerate(zip(table.cells("period"), table.cells("label"), strict=True)):
        rows.setdefault(int(period or 0), {})[str(label)] = row
    values, bands, starts = table.numbers("value"), table.ends("band_"), table.cells("period_start")
    points = [
        SeriesPoint(
            first=period,
            last=period,
            values=[values[found[label]] if label in found else nan for label in labels],
            intervals=[bands[found[label]] if label in found else None for label in labels],
        )
        for period, found in rows.items()
    ]
    begins = [datetime.fromisoformat(str(starts[next(iter(found.values()))])) for found in rows.values()]
    return SeriesChart(
        title=title,
        subtitle=subtitle,
        level=table.level,
        labels=labels,
        periods=points,
        windows=[],
        ticks=_ticks(points, begins),
    )


def _points(table: AnswerTable, answers: int) -> list[SeriesPoint]:
    """The points of a part, whose rows have all answers about one period or window after the other."""
    first = table.cells("period")
    last = [begin if end is None else end for begin, end in zip(first, table.cells("period_last"), strict=True)]
    values, intervals, bands = table.numbers("value"), table.ends(""), table.ends("band_")
    return [
        SeriesPoint(
            first=int(first[row] or 0),
            last=int(last[row] or 0),
            values=values[row : row + answers],
            intervals=_all(intervals[row : row + answers]),
            band=_all(bands[row : row + answers]),
        )
        for row in range(0, len(table), answers)
    ]


def _begins(table: AnswerTable, answers: int) -> list[datetime | None]:
    starts = table.cells("period_start")[::answers]
    return [None if start is None else datetime.fromisoformat(str(start)) for start in starts]


def _ticks(points: Sequence[SeriesPoint], begins: Sequence[datetime | None]) -> list[tuple[float, str]]:
    """When some of the periods begin: the day, or the minute of shorter ones."""
    known = [(each.first, begin) for each, begin in zip(points, begins, strict=True) if begin is not None]
    if not known:
        return []
    (first, start), (last, end) = known[0], known[-1]
    in_days = last == first or (end - start).total_seconds() >= _DAY_S * (last - first)
    form = "%Y-%m-%d" if in_days else "%m-%d %H:%M"
    return [(period, begin.strftime(form)) for period, begin in known[:: -(-len(known) // _MOST_TICKS)]]


def _text(cell: Any) -> str | None:
    return None if cell is None else str(cell)


def _texts(table: AnswerTable, name: str) -> list[str]:
    return [str(cell) for cell in table.cells(name)]


def _guesses(table: AnswerTable) -> list[float]:
    """The best guess of each row, and the answer where there is none."""
    values = table.numbers("value")
    if "best" not in table.columns:
        return values
    return [value if isnan(best) else best for best, value in zip(table.numbers("best"), values, strict=True)]


def _pairs(table: AnswerTable, prefix: str) -> Pairs:
    return [ends for ends in table.ends(prefix) if ends is not None]


def _all(ends: Sequence[tuple[float, float] | None]) -> Pairs | None:
    known = [each for each in ends if each is not None]
    return known if len(known) == len(ends) else None
