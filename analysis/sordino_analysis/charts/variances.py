"""The variance of mechanisms against ε, with the bound that none can beat, both axes by their logarithm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from sordino_analysis.charts.plots import LEFT, RIGHT, WIDTH, Plot, Tick, heading, legend
from sordino_analysis.charts.scales import round_ticks
from sordino_analysis.charts.svg import Point, document, dot, text
from sordino_analysis.documents.plan_summary import LinearSummary
from sordino_analysis.figures import chosen
from sordino_shared.errors import InvalidValue
from sordino_shared.quantities import quantity

HEIGHT = 520
_TOP, _BOTTOM = 112, 440
_NAMES_START = RIGHT - 190


@dataclass(frozen=True, kw_only=True)
class PlanVariances:
    """What one plan compared: ε, the variance of one report by mechanism, which was taken, and the proved bound."""

    epsilon: float
    variances: Sequence[tuple[str, float]]
    taken: str
    bound: float

    @classmethod
    def of(cls, summary: LinearSummary) -> Self:
        """Those of the objective; a candidate that was not evaluated has none."""
        largest = summary.objective == "max"
        found = [(each.name, each.max_variance if largest else each.mean_variance) for each in summary.candidates]
        return cls(
            epsilon=summary.epsilon,
            variances=[(name, value) for name, value in found if value is not None],
            taken=summary.mechanism,
            bound=summary.lower_bound_max if largest else summary.lower_bound_mean,
        )


@dataclass(frozen=True, kw_only=True)
class VarianceChart:
    """Plans of one question. Raises InvalidValue where no plan has a variance to draw."""

    title: str
    subtitle: str
    plans: Sequence[PlanVariances]

    def __post_init__(self) -> None:
        if not any(value > 0 for plan in self.plans for _, value in plan.variances):
            raise InvalidValue("a chart of variances needs a mechanism with a variance above 0", self.plans)


def draw_variances(chart: VarianceChart) -> str:
    """The text of an SVG file: a line for each mechanism through the plans at their ε, and the bound below."""
    plans = sorted(chart.plans, key=lambda plan: plan.epsilon)
    names = list(dict.fromkeys(name for plan in plans for name, value in plan.variances if value > 0))
    logarithms = [math.log10(value) for plan in plans for _, value in plan.variances if value > 0]
    logarithms += [math.log10(plan.bound) for plan in plans if plan.bound > 0]
    room = 0.04 * (max(logarithms) - min(logarithms)) + 0.01
    lowest, highest = math.log(plans[0].epsilon), math.log(plans[-1].epsilon)
    side = 0.3 if lowest == highest else 0.05 * (highest - lowest)
    across, up = (lowest - side, highest + side), (min(logarithms) - room, max(logarithms) + room)
    plot = Plot.between(across, up, (LEFT, _BOTTOM), (_NAMES_START - 12, _TOP))
    epsilons = [(math.log(plan.epsilon), chosen(plan.epsilon)) for plan in plans]
    elements = [
        *heading(chart.title, chart.subtitle),
        *legend([("estimate", "mechanism"), ("mark", "taken"), ("limit", "lower bound of any mechanism")]),
        *plot.rows("variance of one report (logarithmic)", ticks=_decades(*up)),
        *plot.columns("ε of one report (logarithmic)", epsilons),
        *_curves(plot, plans, names),
    ]
    description = f"{chart.subtitle}. {quantity(len(names), 'mechanism')} at {quantity(len(plans), 'value')} of ε."
    return document(WIDTH, HEIGHT, chart.title, description, elements)


def _curves(plot: Plot, plans: Sequence[PlanVariances], names: Sequence[str]) -> list[str]:
    drawn: list[str] = []
    last: list[tuple[float, str]] = []
    for name in names:
        points = [_point(plan, value) for plan in plans for each, value in plan.variances if each == name and value > 0]
        drawn += [plot.curve(points, "estimate"), *(dot(plot.at(*point), 3.0, "point") for point in points)]
        last.append((plot.up(points[-1][1]), name))
    bounds = [_point(plan, plan.bound) for plan in plans if plan.bound > 0]
    if bounds:
        ends = [(plot.across.low, bounds[0][1]), *bounds, (plot.across.high, bounds[-1][1])]
        drawn.append(plot.curve(ends if len(bounds) == 1 else bounds, "limit"))
    for plan in plans:
        taken = [value for name, value in plan.variances if name == plan.taken and value > 0]
        drawn += [dot(plot.at(*_point(plan, value)), 4.5, "mark") for value in taken]
    return [*drawn, *_names(last)]


def _names(ends: list[tuple[float, str]]) -> list[str]:
    """The names beside the ends of their curves, moved down where they would touch."""
    drawn, free_from = [], -math.inf
    for y, name in sorted(ends):
        y = max(y, free_from)
        drawn.append(text((_NAMES_START, y + 4), name, kind="small"))
        free_from = y + 15
    return drawn


def _point(plan: PlanVariances, value: float) -> Point:
    return math.log(plan.epsilon), math.log10(value)


def _decades(low: float, high: float) -> list[Tick]:
    """1, 2 and 5 times the powers of ten between two logarithms: powers alone where many, round numbers where few."""
    factors = (1, 2, 5) if high - low < 3 else (1,)
    powers = range(math.floor(low), math.ceil(high) + 1)
    found = [factor * 10.0**power for power in powers for factor in factors]
    shown = [value for value in found if low <= math.log10(value) <= high]
    if len(shown) < 2:
        shown = [value for value in round_ticks(10.0**low, 10.0**high, 5) if value > 0]
    return [(math.log10(value), chosen(value)) for value in shown]
