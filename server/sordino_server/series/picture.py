"""The picture of a series, the same in the console and from the command line."""

from __future__ import annotations

from datetime import UTC, datetime

from sordino_analysis.charts import SeriesChart, SeriesPoint, draw_series
from sordino_analysis.figures import chosen
from sordino_server.errors import ServerError
from sordino_server.series.schemas import PeriodEntry, SeriesDocument, WindowEntry
from sordino_shared.protocol import Problem
from sordino_shared.quantities import quantity

_MOST_TICKS = 10


def draw(content: bytes, name: str) -> str:
    """The text of an SVG file of the series `name`; raises `not-found` while no period has an answer."""
    document = SeriesDocument.model_validate_json(content)
    answered = [each for each in document.periods if each.answers is not None]
    if not answered:
        raise ServerError(Problem.NOT_FOUND, "no closed period of the series has an answer yet")
    chart = SeriesChart(
        title=name,
        subtitle=(
            f"{document.workload}, ε = {chosen(document.epsilon)} of one answer in "
            f"{quantity(document.slots, 'period')}; "
            f"windows of {quantity(document.window, 'period')} end where they are drawn"
        ),
        level=document.level,
        labels=[each.label for each in document.queries],
        periods=[_period(each) for each in answered],
        windows=[_window(each) for each in document.windows],
        trend=() if document.trend is None else list(zip(document.trend.periods, document.trend.value, strict=True)),
        ticks=[(each.period, _begin(each)) for each in answered[:: -(-len(answered) // _MOST_TICKS)]],
    )
    return draw_series(chart)


def _period(entry: PeriodEntry) -> SeriesPoint:
    assert entry.answers is not None
    return SeriesPoint(
        first=entry.period, last=entry.period, values=entry.answers.value, intervals=entry.answers.interval
    )


def _window(entry: WindowEntry) -> SeriesPoint:
    answers = entry.answers
    return SeriesPoint(
        first=entry.first, last=entry.last, values=answers.value, intervals=answers.interval, band=answers.band
    )


def _begin(entry: PeriodEntry) -> str:
    """When a period begins: its day, or its minute where it is shorter."""
    form = "%Y-%m-%d" if entry.end - entry.start >= 86400 else "%m-%d %H:%M"
    return datetime.fromtimestamp(entry.start, UTC).strftime(form)
