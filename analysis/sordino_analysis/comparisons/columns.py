"""The columns of a table of differences."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.filling import cells_of_estimate
from sordino_analysis.comparisons.measures import AnyDifference
from sordino_analysis.comparisons.quantile_shift import QuantileShift
from sordino_analysis.estimation.normality import columns_of_laws
from sordino_analysis.figures import SHARE

_LIFTS = frozenset({"lift", "lift_lower", "lift_upper", "lift_band_lower", "lift_band_upper"})


def columns_of_difference(found: AnyDifference, left: str, right: str) -> dict[str, Sequence[Cell]]:
    """A row for each query, under the names of docs/results.md; `left` and `right` name the sides."""
    rows = len(found.labels)
    return {
        "left": [left] * rows,
        "right": [right] * rows,
        **found.described,
        **_cells(found),
        "left_value": found.left.tolist(),
        "right_value": found.right.tolist(),
        "verdict": list(found.verdict),
        **columns_of_laws(found.normality),
    }


def columns_of_shifts(
    found: Sequence[tuple[QuantileShift, QuantileShift]], left: str, right: str
) -> dict[str, Sequence[Cell]]:
    """A row for each quantile, of the shift and the one that holds with all others; an open end is empty."""
    own, wide = [shift for shift, _ in found], [shift for _, shift in found]
    rows = len(found)
    return {
        "left": [left] * rows,
        "right": [right] * rows,
        "kind": ["quantile"] * rows,
        "label": [shift.label for shift in own],
        "unit": [shift.unit or None for shift in own],
        **{name: [_end(shift.interval[end]) for shift in own] for end, name in enumerate(("lower", "upper"))},
        **{
            name: [_end(shift.interval[end]) for shift in wide] for end, name in enumerate(("band_lower", "band_upper"))
        },
        "verdict": [shift.verdict for shift in wide],
        "sentence": [_open(shift) for shift in own],
    }


def _cells(found: AnyDifference) -> dict[str, Sequence[Cell]]:
    """Columns of numbers. A lift of what may be 0 is empty; that of a share is not below −1, which is nobody."""
    columns: dict[str, Sequence[Cell]] = dict(cells_of_estimate(found))
    least = [-1.0 if unit == SHARE else -math.inf for unit in found.described["unit"]]
    for name in columns.keys() & _LIFTS:
        pairs = zip(map(_number, columns[name]), least, strict=True)
        columns[name] = [None if math.isnan(number) else max(number, low) for number, low in pairs]
    return columns


def _number(cell: Cell) -> float:
    return math.nan if cell is None else float(cell)


def _end(number: float) -> Cell:
    return number if math.isfinite(number) else None


def _open(shift: QuantileShift) -> Cell:
    """Why a shift has an end that is empty."""
    if all(map(math.isfinite, shift.interval)):
        return None
    return f"a {shift.share:g} quantile may lie in a bin without an end: use a wider range or edges further out"
