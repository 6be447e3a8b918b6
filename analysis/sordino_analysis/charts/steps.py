"""What adds up over time: a step for each event, against a limit or the number that is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sordino_analysis.charts.plots import LEFT, RIGHT, WIDTH, Plot, Tick, heading, legend
from sordino_analysis.charts.scales import round_ticks
from sordino_analysis.charts.svg import document, text
from sordino_analysis.figures import chosen
from sordino_shared.errors import InvalidValue

HEIGHT = 400
_TOP, _BOTTOM = 104, 320
_DAY_S = 86400
# The least whole unit of time that gives at most so many labels below the axis.
_UNITS_S = (
    *(1, 5, 15, 60, 300, 900, 3600, 3 * 3600, 6 * 3600),
    *(days * _DAY_S for days in (1, 7, 28, 91, 364)),
)
_MOST_TICKS = 8
# What happened within one second is drawn at the left end of this.
_LEAST_SPAN_S = 60


@dataclass(frozen=True)
class StepCurve:
    """Unix times in order, each with the value from then on; `kind` is a style class of lines."""

    label: str
    kind: str
    steps: Sequence[tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class StepChart:
    """Curves until the time `until`, and levels with their names. Raises InvalidValue without a step."""

    title: str
    subtitle: str
    axis: str
    curves: Sequence[StepCurve]
    levels: Sequence[tuple[str, float]]
    until: float

    def __post_init__(self) -> None:
        if not any(curve.steps for curve in self.curves):
            raise InvalidValue("a chart over time needs at least one event", self.curves)


def draw_steps(chart: StepChart) -> str:
    """The text of an SVG file; every curve begins at its first event and is level between two of them."""
    times = [time for curve in chart.curves for time, _ in curve.steps]
    values = [value for curve in chart.curves for _, value in curve.steps]
    begin = min(times)
    until = max(chart.until, max(times), begin + _LEAST_SPAN_S)
    high = max(*values, *(level for _, level in chart.levels), 0.0)
    plot = Plot.between((begin, until), (0.0, 1.1 * high), (LEFT, _BOTTOM), (RIGHT, _TOP))
    samples = [(curve.kind, curve.label) for curve in chart.curves]
    elements = [
        *heading(chart.title, chart.subtitle),
        *legend(samples),
        *plot.rows(chart.axis),
        *plot.columns("time, UTC", _times(plot.across.low, plot.across.high)),
        *(part for name, level in chart.levels for part in _level(plot, name, level)),
    ]
    for curve in chart.curves:
        elements.append(plot.curve(_stairs(curve, until), curve.kind))
    ends = "; ".join(f"{curve.label}: {chosen(curve.steps[-1][1])} at last" for curve in chart.curves if curve.steps)
    limits = "".join(f"; {name}: {chosen(level)}" for name, level in chart.levels)
    return document(WIDTH, HEIGHT, chart.title, f"{chart.subtitle}. {ends}{limits}.", elements)


def _level(plot: Plot, name: str, level: float) -> list[str]:
    """A dashed line with its name above the right end."""
    return [plot.level(level, "limit"), text((RIGHT, plot.up(level) - 6), name, "end", "small")]


def _stairs(curve: StepCurve, until: float) -> list[tuple[float, float]]:
    points: list[tuple[float, float]] = []
    for time, value in curve.steps:
        points += [(time, points[-1][1]), (time, value)] if points else [(time, value)]
    return [*points, (until, points[-1][1])] if points else []


def _times(begin: float, until: float) -> list[Tick]:
    """Whole units of time with as much of the date as tells them apart."""
    fitting = (unit for unit in _UNITS_S if (until - begin) / unit <= _MOST_TICKS)
    unit = next(fitting, None)
    if unit is None:
        ticks = round_ticks(begin, until, _MOST_TICKS)
    else:
        first = -(-begin // unit) * unit
        ticks = [first + unit * index for index in range(int((until - first) // unit) + 1)]
    form = "%Y-%m-%d" if unit is None or unit >= _DAY_S else "%m-%d %H:%M" if until - begin > _DAY_S else "%H:%M:%S"
    return [(tick, datetime.fromtimestamp(tick, UTC).strftime(form)) for tick in ticks]
