"""Two results in one picture: both curves on one pair of axes, and each difference around a zero line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sordino_analysis.answers.banded import banded_answers
from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.charts.scales import Scale, round_ticks
from sordino_analysis.figures import SHARE, chosen, with_error
from sordino_server.console.inline_pictures import MOST_STEPS, PAGE, PHONE, Curve, Frame, Step, curve, steps_of

# Widths are in thousandths of the column of the table.
_WHOLE = 1000.0
# Above it a name would be cut by the edge of the picture.
_HIGHEST_TEXT = 11.0
_UNDECIDED = "undecided"
_CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, kw_only=True)
class DifferenceBar:
    """One answer: the ends of its band and its value in thousandths of the axis; `number` in words where it differs."""

    label: str
    number: str
    low: float
    width: float
    value: float
    differs: bool


@dataclass(frozen=True, kw_only=True)
class DifferenceBars:
    """Rows in the order of the table, where zero is, and the ends of the axis in words."""

    rows: tuple[DifferenceBar, ...]
    zero: float
    ends: tuple[str, str]


def differences(table: AnswerTable) -> DifferenceBars | None:
    """At most 24 differences of shares with a band; None of other tables. The axis is as long as the bands need."""
    ends = table.ends("band_")
    if not 0 < len(table) <= MOST_STEPS or None in ends or set(table.cells("unit")) != {SHARE}:
        return None
    bands = [each for each in ends if each is not None]
    low, high = min(0.0, *(each[0] for each in bands)), max(0.0, *(each[1] for each in bands))
    ticks = round_ticks(low, high, 6)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else max(high - low, 0.01)
    scale = Scale(math.floor(low / step) * step, math.ceil(high / step) * step, 0.0, _WHOLE)
    found = zip(table.cells("label"), table.numbers("value"), bands, table.cells("verdict"), strict=True)
    return DifferenceBars(
        rows=tuple(
            _row(str(label), value, band, verdict != _UNDECIDED, scale) for label, value, band, verdict in found
        ),
        zero=round(scale(0.0), 1),
        ends=(_signed(scale.low, step), _signed(scale.high, step)),
    )


def _row(label: str, value: float, band: tuple[float, float], differs: bool, scale: Scale) -> DifferenceBar:
    reach = (band[1] - band[0]) / 2
    number = with_error(value, reach, SHARE).replace(" %", "") if reach else _signed(value, 0.001)
    sign = "+" if value > 0 else ""
    low, high = scale(band[0]), scale(band[1])
    return DifferenceBar(
        label=label,
        number=f"{sign}{number}" if differs else _CANNOT_TELL,
        low=round(low, 1),
        width=round(max(high - low, 4.0), 1),
        value=round(scale(value), 1),
        differs=differs,
    )


def _signed(share: float, step: float) -> str:
    """In points: "+4", "−0.5", "0"."""
    points = 100 * share
    text = chosen(round(abs(points), 0 if 100 * step >= 1 else 1))
    return text if not points else ("+" if points > 0 else "−") + text


@dataclass(frozen=True, kw_only=True)
class NamedCurves:
    """Two curves on the axes of the first, and where the name of each stands: x, y and the side of the text."""

    curves: tuple[Curve, Curve]
    names: tuple[tuple[float, float, str, str], ...]


def two_curves(tables: Sequence[AnswerTable], names: Sequence[str]) -> list[NamedCurves]:
    """Two distributions of one unit with at most 24 steps each, for a page and for a phone; none of other tables."""
    found = [steps_of(each, banded_answers(each)) if len(each) <= MOST_STEPS else ([], "") for each in tables]
    (first, unit), (second, other) = found
    if not first or not second or unit != other:
        return []
    ends = sorted({step[0] for step in (*first, *second)})
    return [_named(first, second, ends, unit, names, frame) for frame in (PAGE, PHONE)]


def _named(
    first: list[Step], second: list[Step], ends: list[float], unit: str, names: Sequence[str], frame: Frame
) -> NamedCurves:
    drawn = curve(first, frame, unit, ends=ends), curve(second, frame, unit, ends=ends)
    heights = [dict(each.dots) for each in drawn]
    common = sorted(set(heights[0]) & set(heights[1])) or sorted(heights[0])
    far = max(common, key=lambda x: abs(heights[0][x] - heights[1].get(x, heights[0][x])))
    first_y, second_y = heights[0][far], heights[1].get(far, frame.bottom)
    is_upper = first_y <= second_y
    # A distribution rises: left above the higher one, and right below the lower one, there is room for a name.
    placed = tuple(
        (far - 12, round(max(y - 8, _HIGHEST_TEXT), 1), "end", name)
        if above
        else (far + 12, round(y + 18, 1), "start", name)
        for name, y, above in ((names[0], first_y, is_upper), (names[1], second_y, not is_upper))
    )
    return NamedCurves(curves=drawn, names=placed)
