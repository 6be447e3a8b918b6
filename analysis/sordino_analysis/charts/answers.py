"""The answers of a campaign with their simultaneous band, above the same answers less the truth, magnified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from sordino_analysis.charts.scales import Scale, room_for, round_ticks
from sordino_analysis.charts.svg import Point, document, dot, line, path, text
from sordino_analysis.figures import SHARE, rounded
from sordino_shared.errors import InvalidValue

WIDTH, HEIGHT = 960, 640
_LEFT, _RIGHT = 72, 928
_CURVE_TOP, _CURVE_BOTTOM = 104, 410
_ERROR_TOP, _ERROR_BOTTOM = 466, 582


@dataclass(frozen=True, kw_only=True)
class AnswerChart:
    """Q answers in order: `truth`, `estimate` and the band's ends; `ticks` are (position, text) below the axis.

    All are in one `unit`, "share" for shares of the users. `steps` draws every answer as a flat piece of its own (a
    histogram) instead of a line through all of them.
    """

    title: str
    subtitle: str
    axis: str
    truth: Sequence[float]
    estimate: Sequence[float]
    lower: Sequence[float]
    upper: Sequence[float]
    ticks: Sequence[tuple[float, str]]
    steps: bool = False
    unit: str = SHARE

    def __post_init__(self) -> None:
        lengths = {len(self.truth), len(self.estimate), len(self.lower), len(self.upper)}
        if len(lengths) != 1 or not self.truth:
            raise InvalidValue(f"a chart needs four series of one length, got lengths {sorted(lengths)}", lengths)


def draw_answers(chart: AnswerChart) -> str:
    """The chart as the text of an SVG file."""
    across = Scale(-0.5, len(chart.truth) - 0.5, _LEFT, _RIGHT)
    ticks = room_for(chart.ticks, across)
    heading = [text((_LEFT, 36), chart.title, kind="title"), text((_LEFT, 58), chart.subtitle), *_legend()]
    below = [text((across(place), _ERROR_BOTTOM + 20), label, "middle") for place, label in ticks]
    axis = text(((_LEFT + _RIGHT) / 2, _ERROR_BOTTOM + 44), chart.axis, "middle")
    elements = [*heading, *_curves(chart, across, ticks), *_errors(chart, across, ticks), *below, axis]
    description = f"{chart.subtitle}. Upper panel: truth and estimate; lower panel: estimate less truth."
    return document(WIDTH, HEIGHT, chart.title, description, elements)


def _curves(chart: AnswerChart, across: Scale, ticks: Sequence[tuple[float, str]]) -> list[str]:
    low, high = min(0.0, *chart.lower, *chart.truth), max(*chart.upper, *chart.truth)
    up = Scale(low, high, _CURVE_BOTTOM, _CURVE_TOP)
    return [
        *_frame(across, up, ticks, chart.unit),
        path(_band(chart.lower, chart.upper, across, up, chart.steps), "band", closed=True),
        path(_course(chart.truth, across, up, chart.steps), "truth"),
        path(_course(chart.estimate, across, up, chart.steps), "estimate"),
        *_dots(chart.estimate, across, up),
    ]


def _errors(chart: AnswerChart, across: Scale, ticks: Sequence[tuple[float, str]]) -> list[str]:
    below, above, error = (
        [value - true for value, true in zip(series, chart.truth, strict=True)]
        for series in (chart.lower, chart.upper, chart.estimate)
    )
    up = Scale(min(0.0, *below), max(0.0, *above), _ERROR_BOTTOM, _ERROR_TOP)
    return [
        text((_LEFT, _ERROR_TOP - 14), "estimate − truth"),
        *_frame(across, up, ticks, chart.unit, most=4),
        path(_band(below, above, across, up, chart.steps), "band", closed=True),
        line((_LEFT, up(0.0)), (_RIGHT, up(0.0)), "zero"),
        path(_course(error, across, up, chart.steps), "estimate"),
        *_dots(error, across, up),
    ]


def _frame(across: Scale, up: Scale, ticks: Sequence[tuple[float, str]], unit: str, most: int = 6) -> list[str]:
    values = round_ticks(up.low, up.high, most)
    rows = [
        part
        for value in values
        for part in (
            line((_LEFT, up(value)), (_RIGHT, up(value)), "grid"),
            text((_LEFT - 8, up(value) + 4), rounded(value, unit), "end"),
        )
    ]
    return rows + [line((across(place), up.start), (across(place), up.end), "grid") for place, _ in ticks]


def _course(values: Sequence[float], across: Scale, up: Scale, steps: bool) -> list[Point]:
    if not steps:
        return [(across(place), up(value)) for place, value in enumerate(values)]
    flat = (((across(place - 0.5), up(value)), (across(place + 0.5), up(value))) for place, value in enumerate(values))
    return [point for ends in flat for point in ends]


def _band(low: Sequence[float], high: Sequence[float], across: Scale, up: Scale, steps: bool) -> list[Point]:
    return _course(high, across, up, steps) + _course(low, across, up, steps)[::-1]


def _dots(values: Sequence[float], across: Scale, up: Scale) -> list[str]:
    radius = 2.4 if len(values) <= 128 else 1.2
    return [dot((across(place), up(value)), radius, "point") for place, value in enumerate(values)]


def _legend() -> list[str]:
    entries = (("truth", "truth"), ("estimate", "estimate"), ("band", "95 % band for all answers at once"))
    places = [_LEFT, _LEFT + 82, _LEFT + 182, _RIGHT]
    drawn: list[str] = []
    for (kind, label), (start, _) in zip(entries, pairwise(places), strict=True):
        if kind == "band":
            drawn.append(path([(start, 74), (start + 24, 74), (start + 24, 86), (start, 86)], kind, closed=True))
        else:
            drawn.append(line((start, 80), (start + 24, 80), kind))
        drawn.append(text((start + 31, 84.5), label))
    return drawn
