"""Tables of numbers as colours, side by side, as SVG of bounded size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.charts.plots import LEFT, RIGHT, WIDTH, Plot, heading, shortened
from sordino_analysis.charts.svg import SHADES, document, squares, text
from sordino_analysis.figures import SHARE, figure
from sordino_shared.errors import InvalidValue

# More rows or columns than this are thinned out evenly: a cell stays a few pixels wide.
MOST_CELLS = 64
HEIGHT = 560
_TOP, _BOTTOM = 104, 484
_GAP = 110


@dataclass(frozen=True, kw_only=True)
class HeatMap:
    """A table `cells` (r, c), NaN where nothing is drawn, with the names of its rows and columns.

    The colours begin at 0 or below, unless `from_zero` is false: then at the least cell. `unit` is that of the cells.

    Raises InvalidValue unless there is a name for each row and column and a number to draw.
    """

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    row_axis: str
    column_axis: str
    cells: Floats
    from_zero: bool = True
    unit: str = ""

    def __post_init__(self) -> None:
        if self.cells.shape != (len(self.rows), len(self.columns)) or not np.isfinite(self.cells).any():
            raise InvalidValue(f"a heat map needs numbers and a name for each row and column, got {self.cells.shape}")

    def thinned(self, most: int = MOST_CELLS) -> HeatMap:
        """The map of at most `most` rows and columns, spread evenly from the first to the last."""
        rows, columns = _spread(len(self.rows), most), _spread(len(self.columns), most)
        return HeatMap(
            title=self.title,
            rows=[self.rows[row] for row in rows],
            columns=[self.columns[column] for column in columns],
            row_axis=self.row_axis,
            column_axis=self.column_axis,
            cells=self.cells[np.ix_(rows, columns)],
            from_zero=self.from_zero,
            unit=self.unit,
        )


def draw_heat_maps(title: str, subtitle: str, maps: Sequence[HeatMap]) -> str:
    """One or two maps side by side as the text of an SVG file, each with a scale of its own."""
    width = (RIGHT - LEFT - _GAP * (len(maps) - 1)) / len(maps)
    elements = heading(title, subtitle)
    for place, given in enumerate(maps):
        left = LEFT + place * (width + _GAP)
        elements += _map(given.thinned(), left, min(width, 640.0))
    description = f"{subtitle}. " + "; ".join(map(_description, maps)) + "."
    return document(WIDTH, HEIGHT, title, description, elements)


def _map(drawn: HeatMap, left: float, width: float) -> list[str]:
    count, across = drawn.cells.shape
    plot = Plot.between((0.0, float(across)), (0.0, float(count)), (left, _BOTTOM), (left + width, _TOP))
    high = float(np.nanmax(drawn.cells))
    low = float(np.nanmin(drawn.cells))
    low = min(0.0, low) if drawn.from_zero else low
    shades = np.full(drawn.cells.shape, -1)
    known = np.isfinite(drawn.cells)
    # Cells that differ by rounding alone have one colour.
    span = high - low if high - low > 1e-9 * max(abs(low), abs(high)) else 1.0
    shades[known] = np.minimum(SHADES - 1, ((drawn.cells[known] - low) / span * SHADES).astype(int))
    width_of_cell, height_of_cell = width / across, (_BOTTOM - _TOP) / count
    cells = [
        squares([plot.at(column, row + 1) for row, column in found], width_of_cell, height_of_cell, f"h{shade}")
        for shade in range(SHADES)
        if len(found := np.argwhere(shades == shade).tolist())
    ]
    ticks_up = _thin([(row + 0.5, shortened(name, 8)) for row, name in enumerate(drawn.rows)], 12)
    ticks_across = [(column + 0.5, shortened(name, 14)) for column, name in enumerate(drawn.columns)]
    axes = [*plot.rows(drawn.row_axis, ticks=ticks_up, grid=False), *plot.columns(drawn.column_axis, ticks_across)]
    return [*cells, *axes, *_scale(drawn, low, high, left)]


def _scale(drawn: HeatMap, low: float, high: float, left: float) -> list[str]:
    """The title of the map and the colours from `low` to `high`."""
    title = drawn.title
    start = left + 7.4 * len(title) + 14
    shades = [squares([(start + 46 + 12 * step, 76.0)], 12, 12, f"h{step}") for step in range(SHADES)]
    ends = [text((start + 40, 86.5), _end(drawn, low), "end"), text((start + 172, 86.5), _end(drawn, high))]
    return [text((left, 86.5), title), *shades, *ends]


def _description(drawn: HeatMap) -> str:
    rows, columns = drawn.cells.shape
    low, high = float(np.nanmin(drawn.cells)), float(np.nanmax(drawn.cells))
    return f"{drawn.title}: {rows} × {columns} cells, from {_end(drawn, low)} to {_end(drawn, high)}"


def _end(drawn: HeatMap, value: float) -> str:
    """An end of the scale with three digits."""
    return f"{figure(100 * value, 3)} %" if drawn.unit == SHARE else figure(value, 3)


def _spread(count: int, most: int) -> list[int]:
    return list(range(count)) if count <= most else np.linspace(0, count - 1, most).round().astype(int).tolist()


def _thin(ticks: list[tuple[float, str]], most: int) -> list[tuple[float, str]]:
    return [ticks[place] for place in _spread(len(ticks), most)]
