"""Marginals as small multiples: a panel for each set of attributes, all with one scale."""

from __future__ import annotations

from collections.abc import Sequence

from sordino_analysis.charts.estimate_shapes import EstimateChart
from sordino_analysis.charts.plots import LEFT, RIGHT, WIDTH, Plot, heading, legend, shortened
from sordino_analysis.charts.svg import document, dot, text
from sordino_analysis.figures import SHARE, amount, chosen

MOST_PANELS = 24
MOST_CELLS = 32
_COLUMNS = 3
_GAP, _ROW, _TOP = 40, 190, 128


def draw_marginals(chart: EstimateChart) -> str:
    """A panel for each of the first sets of attributes, with the answers in it, their intervals and their band.

    Of a marginal with more than `MOST_CELLS` cells the first of them are drawn.
    """
    panels = _panels(chart)
    shown = dict(list(panels.items())[:MOST_PANELS])
    drawn = [place for places in shown.values() for place in places[:MOST_CELLS]]
    low = min(0.0, *(chart.bands[place][0] for place in drawn))
    high = max(0.0, *(chart.bands[place][1] for place in drawn))
    level = chart.level_text
    elements = [*heading(chart.title, chart.subtitle)]
    elements += legend([("answer", f"answer and {level} interval"), ("band", f"{level} band for all answers at once")])
    for number, (names, places) in enumerate(shown.items()):
        elements += _panel(chart, names, places, number, (low, high))
    rows = -(-len(shown) // _COLUMNS)
    left_out = len(panels) - len(shown)
    note = f" {left_out} more sets of attributes are not drawn." if left_out else ""
    description = (
        f"{chart.subtitle}. {len(shown)} of {len(panels)} sets of attributes, shares from "
        f"{amount(min(chart.values[place] for place in drawn), SHARE)} to "
        f"{amount(max(chart.values[place] for place in drawn), SHARE)}.{note}"
    )
    return document(WIDTH, _TOP + rows * _ROW + 20, chart.title, description, elements)


def _panels(chart: EstimateChart) -> dict[tuple[str, ...], list[int]]:
    """The answers' places by the attributes that they are about."""
    found: dict[tuple[str, ...], list[int]] = {}
    for place, bounds in enumerate(chart.bounds):
        found.setdefault(tuple(bound.attribute for bound in bounds), []).append(place)
    return found


def _panel(
    chart: EstimateChart, names: Sequence[str], places: Sequence[int], number: int, ends: tuple[float, float]
) -> list[str]:
    width = (RIGHT - LEFT - _GAP * (_COLUMNS - 1)) / _COLUMNS
    left = LEFT + (number % _COLUMNS) * (width + _GAP)
    top = _TOP + (number // _COLUMNS) * _ROW
    drawn = places[:MOST_CELLS]
    plot = Plot.between((-0.5, len(drawn) - 0.5), ends, (left, top + _ROW - 64.0), (left + width, top + 8.0))
    more = f" ({len(drawn)} of {len(places)} cells)" if len(drawn) < len(places) else ""
    title = text((left, top), shortened(" × ".join(names), 34) + more)
    half = min(10.0, 0.35 * width / len(drawn)) / (width / len(drawn))
    ticks = [(float(x), shortened(_cell(chart, place), 12)) for x, place in enumerate(drawn)]
    side = plot.rows("share of users" if number % _COLUMNS == 0 else "", most=4, unit=SHARE)
    elements = [title, *side, plot.level(0.0, "zero"), *plot.columns("", ticks)]
    for x, place in enumerate(drawn):
        interval = [(x, chart.intervals[place][0]), (x, chart.intervals[place][1])]
        elements.append(plot.box((x - half, x + half), chart.bands[place], "band"))
        elements += [plot.curve(interval, "estimate"), dot(plot.at(x, chart.values[place]), 2.2, "point")]
    return elements


def _cell(chart: EstimateChart, place: int) -> str:
    """The members that the answer counts."""
    return ", ".join(_member(bound.label, bound.low, bound.high) for bound in chart.bounds[place])


def _member(label: str | None, low: float | None, high: float | None) -> str:
    if label is not None:
        return label
    least, most = (None if end is None else chosen(end) for end in (low, high))
    if least == most:
        return str(least)
    if least is None or most is None:
        return f"≤ {most}" if least is None else f"> {least}"
    return f"{least}–{most}"
