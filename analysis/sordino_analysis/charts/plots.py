"""A plot: a rectangle on paper with two scales, their grid, round numbers and titles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from sordino_analysis.charts.scales import Scale, room_for, round_ticks
from sordino_analysis.charts.svg import Point, dot, line, path, text, upright_text
from sordino_analysis.figures import SHARE, chosen, rounded

WIDTH = 960
LEFT, RIGHT = 84, 924
_LABEL_LENGTH = 24

Interval = tuple[float, float]
Tick = tuple[float, str]


@dataclass(frozen=True)
class Plot:
    """Where data stands: `across` from left to right, `up` from bottom to top, both in pixels."""

    across: Scale
    up: Scale

    @classmethod
    def between(cls, across: Interval, up: Interval, corner: Point, opposite: Point) -> Plot:
        """The plot of two ranges of numbers, from the lower left to the upper right corner."""
        return cls(Scale(*_widened(across), corner[0], opposite[0]), Scale(*_widened(up), corner[1], opposite[1]))

    def at(self, x: float, y: float) -> Point:
        """The place of a pair of numbers."""
        return self.across(x), self.up(y)

    def level(self, y: float, kind: str) -> str:
        """A line over the whole width."""
        return line((self.across.start, self.up(y)), (self.across.end, self.up(y)), kind)

    def curve(self, points: Iterable[Point], kind: str) -> str:
        """A line through pairs of numbers."""
        return path((self.at(*point) for point in points), kind)

    def box(self, across: Interval, up: Interval, kind: str) -> str:
        """A filled rectangle between numbers."""
        corners = [(across[0], up[0]), (across[1], up[0]), (across[1], up[1]), (across[0], up[1])]
        return path((self.at(*corner) for corner in corners), kind, closed=True)

    def rows(
        self, title: str, *, ticks: Iterable[Tick] | None = None, most: int = 6, grid: bool = True, unit: str = ""
    ) -> list[str]:
        """The vertical axis: its title, round numbers in the unit or the given ticks, and a line across for each."""
        shown = numbers(self.up, most, unit) if ticks is None else ticks
        left, middle = self.across.start, (self.up.start + self.up.end) / 2
        drawn = [self.level(value, "grid") for value, _ in shown] if grid else []
        drawn += [text((left - 8, self.up(value) + 4), label, "end", "small") for value, label in shown]
        return [*drawn, upright_text((left - 58, middle), title)] if title else drawn

    def columns(self, title: str, ticks: Iterable[Tick] | None = None, *, most: int = 8, unit: str = "") -> list[str]:
        """The horizontal axis: its title, and round numbers in the unit or those of the ticks that do not touch."""
        shown = room_for(numbers(self.across, most, unit) if ticks is None else ticks, self.across)
        bottom, middle = self.up.start, (self.across.start + self.across.end) / 2
        drawn = [text((self.across(place), bottom + 20), label, "middle", "small") for place, label in shown]
        return [*drawn, text((middle, bottom + 44), title, "middle")] if title else drawn


def numbers(scale: Scale, most: int, unit: str = "") -> list[Tick]:
    """Round numbers of the scale with their text."""
    written = chosen if unit != SHARE else partial(rounded, unit=unit)
    return [(value, written(value)) for value in round_ticks(scale.low, scale.high, most)]


def heading(title: str, subtitle: str) -> list[str]:
    """The title and the line below it."""
    return [text((LEFT, 36), title, kind="title"), text((LEFT, 58), subtitle)]


def legend(entries: Sequence[tuple[str, str]], top: float = 80.0) -> list[str]:
    """A row of samples, each with its text; a sample is a class of lines or of boxes, `point`, `mark` or `answer`."""
    drawn: list[str] = []
    starts = [float(LEFT)]
    for _, label in entries:
        starts.append(starts[-1] + 31 + 7.2 * len(label) + 20)
    for (kind, label), (start, _) in zip(entries, pairwise(starts), strict=True):
        drawn += [_sample(kind, start, top), text((start + 31, top + 4.5), label)]
    return drawn


def _sample(kind: str, start: float, top: float) -> str:
    if kind == "answer":
        return line((start, top), (start + 24, top), "estimate") + dot((start + 12, top), 2.4, "point")
    if kind in ("band", "doubt", "point", "mark"):
        half = 6 if kind in ("band", "doubt") else 3
        middle = start + 12
        left, right = (start, start + 24) if half == 6 else (middle - half, middle + half)
        corners = [(left, top - half), (right, top - half), (right, top + half), (left, top + half)]
        return path(corners, kind, closed=True)
    return line((start, top), (start + 24, top), kind)


def shortened(label: str, most: int = _LABEL_LENGTH) -> str:
    """The label, or its beginning with an ellipsis."""
    return label if len(label) <= most else label[: most - 1] + "…"


def _widened(ends: Interval) -> Interval:
    """A range of some length."""
    low, high = ends
    return (low, high) if high > low else (low, low + max(1.0, abs(low)))
