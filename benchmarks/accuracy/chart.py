"""Variance against ε on logarithmic axes: every candidate, the chosen one and the bound, a panel a workload."""

from collections.abc import Iterator, Sequence
from itertools import cycle, groupby
from math import ceil, floor, log10

from benchmarks.accuracy.measure import OBJECTIVES, Plan
from sordino_analysis.charts.scales import Scale
from sordino_analysis.charts.svg import Point, document, dot, line, path, text
from sordino_analysis.mechanisms.registry import mechanism_names

_PANEL_WIDTH, _PANEL_HEIGHT, _MARGIN, _GAP = 400, 240, 64, 56
_LEGEND_COLUMN, _LEGEND_LINE = 210, 20
_OBJECTIVES = {"max": "the worst query", "mean": "the mean over queries"}
# Of the least variance in a panel: a bound far below every mechanism says little, and leaves the panel.
_LOWEST_BOUND = 0.5
_COLOURS = (
    *("#0f766e", "#c2571a", "#8a3ffc", "#2563eb", "#b45309", "#9f1853", "#15803d"),
    *("#7c2d12", "#0369a1", "#a21caf", "#4d7c0f", "#be123c", "#525252", "#0891b2"),
)


def draw(plans: Sequence[Plan]) -> str:
    """The text of an SVG file with two panels a workload: worst query and mean over queries."""
    used = {name for plan in plans for name in plan.candidates}
    names = [name for name in mechanism_names() if name in used]
    ordered = sorted(plans, key=lambda plan: plan.case.workload)
    rows = [(name, list(group)) for name, group in groupby(ordered, key=lambda plan: plan.case.workload)]
    columns = 2 * (_PANEL_WIDTH + _GAP) // _LEGEND_COLUMN
    top = 70 + _LEGEND_LINE * ceil((len(names) + 2) / columns)
    parts = [_style(names), text((_MARGIN, 34), "Variance of one user's answer against ε", kind="title")]
    parts += _legend(names, columns)
    for number, (workload, members) in enumerate(rows):
        for column, objective in enumerate(OBJECTIVES):
            corner = (_MARGIN + column * (_PANEL_WIDTH + _GAP), top + number * (_PANEL_HEIGHT + _GAP))
            shown = sorted((p for p in members if p.case.objective == objective), key=lambda p: p.case.epsilon)
            parts += _panel(corner, f"{workload}, {_OBJECTIVES[objective]}", shown, names)
    size = (_MARGIN + 2 * (_PANEL_WIDTH + _GAP), top + len(rows) * (_PANEL_HEIGHT + _GAP))
    about = "Both axes are logarithmic. Thin: candidates. Thick: the chosen mechanism. Dashed: certified lower bound."
    return document(*size, "Variance against ε", about, parts)


def _style(names: Sequence[str]) -> str:
    rules = [
        f".{name} {{ fill: none; stroke: {colour}; stroke-width: 1.1; }}"
        for name, colour in zip(names, cycle(_COLOURS), strict=False)
    ]
    chosen = ".chosen { fill: none; stroke: #12161d; stroke-width: 2.4; } .mark { fill: #12161d; }"
    return f"<style>{chosen} .bound {{ fill: none; stroke: #12161d; stroke-dasharray: 5 4; }} {' '.join(rules)}</style>"


def _legend(names: Sequence[str], columns: int) -> Iterator[str]:
    entries = [("chosen", "chosen"), ("bound", "lower bound"), *((name, name.replace("_", " ")) for name in names)]
    for number, (kind, label) in enumerate(entries):
        across = _MARGIN + number % columns * _LEGEND_COLUMN
        down = 56 + number // columns * _LEGEND_LINE
        yield line((across, down), (across + 24, down), kind)
        yield text((across + 30, down + 4), label)


def _panel(corner: Point, title: str, plans: Sequence[Plan], names: Sequence[str]) -> Iterator[str]:
    left, top = corner
    yield text((left, top - 8), title)
    if not plans:
        return
    epsilons = [plan.case.epsilon for plan in plans]
    courses = {name: [(p.case.epsilon, p.candidates[name]) for p in plans if name in p.candidates] for name in names}
    least = min(value for course in courses.values() for _, value in course if value > 0)
    courses["bound"] = [(p.case.epsilon, p.lower_bound) for p in plans if p.lower_bound > _LOWEST_BOUND * least]
    courses["chosen"] = [(plan.case.epsilon, plan.variance) for plan in plans]
    values = [value for course in courses.values() for _, value in course if value > 0]
    across = _logarithmic(epsilons, left, left + _PANEL_WIDTH)
    up = _logarithmic(values, top + _PANEL_HEIGHT, top)
    yield from _frame(corner, across, up, epsilons)
    for kind, course in courses.items():
        yield _course(course, across, up, kind)
    yield from (dot((across(log10(e)), up(log10(v))), 3, "mark") for e, v in courses["chosen"] if v > 0)


def _logarithmic(values: Sequence[float], start: float, end: float) -> Scale:
    low, high = log10(min(values)), log10(max(values))
    room = max(0.05 * (high - low), 0.05)
    return Scale(low - room, high + room, start, end)


def _frame(corner: Point, across: Scale, up: Scale, epsilons: Sequence[float]) -> Iterator[str]:
    left, top = corner
    for power in range(ceil(up.low), floor(up.high) + 1):
        yield line((left, up(power)), (left + _PANEL_WIDTH, up(power)), "grid")
        yield text((left - 6, up(power) + 4), f"{10.0**power:g}", "end")
    for epsilon in epsilons:
        place = across(log10(epsilon))
        yield line((place, top), (place, top + _PANEL_HEIGHT), "grid")
        label = f"ε = {epsilon:g}" if epsilon == epsilons[0] else f"{epsilon:g}"
        yield text((place, top + _PANEL_HEIGHT + 16), label, "middle")


def _course(points: Sequence[Point], across: Scale, up: Scale, kind: str) -> str:
    return path([(across(log10(x)), up(log10(y))) for x, y in points if y > 0], kind)
