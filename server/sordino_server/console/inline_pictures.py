"""Shares as bars and distributions as curves, as numbers that templates draw: such pictures take the page's colours."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sordino_analysis.answers.banded import BandedAnswer
from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.charts.scales import Scale, room_for, round_ticks
from sordino_analysis.figures import SHARE, amount, figure, rounded

# More bars fill more than a page, and more steps leave no room between their bands.
MOST_BARS, MOST_STEPS = 12, 24
# Widths of bars are in thousandths of their table's column.
_WHOLE = 1000.0
_THINNEST = 4.0
# An axis of ratios shows 1, 10 and 100 as far apart; from this ratio of its ends on, a linear one hides the small ones.
_RATIO_FROM = 20.0
_DECADE = (1, 2, 5)


# Where a step ends, its best value, and both ends of its band.
Step = tuple[float, float, float, float]


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One share: its `number` as text; the ends of its band and its best value in thousandths of the axis."""

    label: str
    number: str
    low: float
    width: float
    value: float


@dataclass(frozen=True, kw_only=True)
class Bars:
    """Rows from the largest on, and the ticks of their axis."""

    rows: tuple[Bar, ...]
    ticks: tuple[tuple[float, str], ...]


def bars(answers: Sequence[BandedAnswer]) -> Bars:
    """The shares as rows, from 0 to a round number above the largest band."""
    ticks = round_ticks(0.0, max(max(each.high for each in answers), 0.01), 6)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else ticks[-1]
    end = min(1.0, math.ceil(max(each.high for each in answers) / step - 1e-9) * step)
    scale = Scale(0.0, max(end, step), 0.0, _WHOLE)
    ranked = sorted(answers, key=lambda each: -each.value)
    return Bars(
        rows=tuple(_bar(each, scale) for each in ranked),
        ticks=tuple((round(scale(tick), 1), rounded(tick, SHARE)) for tick in round_ticks(0.0, end, 6)),
    )


def _bar(of: BandedAnswer, scale: Scale) -> Bar:
    low, high = scale(of.low), scale(of.high)
    width = max(high - low, _THINNEST)
    value = min(max(scale(of.value) - _THINNEST / 2, 0.0), _WHOLE - _THINNEST)
    return Bar(label=of.label, number=of.number, low=round(low, 1), width=round(width, 1), value=round(value, 1))


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A distribution in pixels: a line through its steps, their bands, and what the truth may be between them."""

    width: int
    height: int
    bottom: float
    line: str
    between: str
    bands: tuple[tuple[float, float, float], ...]
    dots: tuple[tuple[float, float], ...]
    across: tuple[tuple[float, str], ...]
    up: tuple[tuple[float, str], ...]
    is_ratio: bool
    unit: str
    told: tuple[float, float, str] | None = None


@dataclass(frozen=True, kw_only=True)
class Frame:
    """The size of a curve in pixels, and where its axes are."""

    width: int
    height: int
    left: float
    right: float
    top: float
    bottom: float


PAGE = Frame(width=1040, height=400, left=52, right=1026, top=14, bottom=350)
PHONE = Frame(width=358, height=300, left=44, right=346, top=14, bottom=250)
TILE = Frame(width=300, height=80, left=4, right=290, top=8, bottom=60)


def curve(
    steps: Sequence[Step], frame: Frame, unit: str, told: int | None = None, ends: Sequence[float] | None = None
) -> Curve:
    """Of steps (end, best value, low, high) in order; `told` is the one that the first sentence is about.

    `ends` in order are what the axis has room for, where another curve is drawn on it too.
    """
    ends = [end for end, *_ in steps] if ends is None else ends
    is_ratio = ends[0] > 0 and ends[-1] / ends[0] > _RATIO_FROM
    placed = [math.log10(end) for end in ends] if is_ratio else ends
    margin = (placed[-1] - placed[0] or 1.0) * 0.04
    across = Scale(placed[0] - margin, placed[-1] + margin, frame.left, frame.right)
    up = Scale(0.0, 1.0, frame.bottom, frame.top)
    at = [round(across(math.log10(end) if is_ratio else end), 1) for end, *_ in steps]
    dots = tuple((x, round(up(value), 1)) for x, (_, value, _, _) in zip(at, steps, strict=True))
    bands = tuple(
        (x, round(up(high), 1), round(up(low) - up(high), 1)) for x, (_, _, low, high) in zip(at, steps, strict=True)
    )
    marked = None if told is None else (*dots[told], _number(steps[told]))
    return Curve(
        width=frame.width,
        height=frame.height,
        bottom=frame.bottom,
        line=" ".join(f"{x},{y}" for x, y in dots),
        between=_between(at, steps, up),
        bands=bands,
        dots=dots,
        across=_ticks(ends, across, is_ratio),
        up=tuple((round(up(share), 1), rounded(share, SHARE)) for share in (0.0, 0.25, 0.5, 0.75, 1.0)),
        is_ratio=is_ratio,
        unit=unit,
        told=marked,
    )


def _number(step: Step) -> str:
    """The best value with the digits that sentences give it."""
    _, value, low, high = step
    return amount(value, SHARE, (high - low) / 2)


def _ticks(ends: Sequence[float], across: Scale, is_ratio: bool) -> tuple[tuple[float, str], ...]:
    """Round numbers below the curve as far as there is room, and where they are."""
    if is_ratio:
        powers = range(math.floor(math.log10(ends[0])), math.ceil(math.log10(ends[-1])) + 1)
        numbers = [first * 10.0**power for power in powers for first in _DECADE]
        ticks = [(math.log10(each), figure(each)) for each in numbers if ends[0] <= each <= ends[-1]]
    else:
        ticks = [(each, figure(each)) for each in round_ticks(ends[0], ends[-1], 8)]
    return tuple((round(across(place), 1), text) for place, text in room_for(ticks, across))


def _between(at: Sequence[float], steps: Sequence[Step], up: Scale) -> str:
    """The corners of what a distribution may be between two steps: not below the first's band, nor above the next's.

    It never falls, and nothing else is known there.
    """
    gaps = list(pairwise(at))
    above = [corner for gap, (_, _, _, high) in zip(gaps, steps[1:], strict=True) for corner in _level(gap, up, high)]
    below = [corner for gap, (_, _, low, _) in zip(gaps, steps, strict=False) for corner in _level(gap, up, low)]
    return " ".join((*above, *reversed(below)))


def _level(gap: tuple[float, float], up: Scale, share: float) -> Iterator[str]:
    y = round(up(share), 1)
    return (f"{x},{y}" for x in gap)


def steps_of(table: AnswerTable, answers: Sequence[BandedAnswer]) -> tuple[list[Step], str]:
    """The steps of a distribution of one attribute, with their ends, and its unit; none of any other table."""
    attributes = {each.attribute for bounds in table.bounds() for each in bounds}
    if set(table.cells("kind")) != {"prefix"} or len(attributes) != 1 or len(answers) < max(2, len(table)):
        return [], ""
    name = attributes.pop()
    ends = table.cells(f"{name}_high")
    if not all(isinstance(end, int | float) for end in ends):
        return [], ""
    found = [(float(end or 0), each.value, each.low, each.high) for end, each in zip(ends, answers, strict=True)]
    return found, str(table.cells(f"{name}_unit")[0] or "")
