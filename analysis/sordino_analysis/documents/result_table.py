"""Estimates of campaigns as a tidy table: a row a query or statistic, and on each row all that belongs to it.

The columns `X_low`, `X_high`, `X_label` and `X_unit` have the bounds of attribute X. No other column ends like these,
so that an attribute may have any name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from sordino_analysis.documents.attribute_bounds import AttributeBounds
from sordino_shared.errors import InvalidValue

ColumnType = Literal["text", "integer", "number"]
Cell = str | int | float | None

_LEADING: dict[str, ColumnType] = {
    "campaign": "text",
    "campaign_id": "text",
    "population": "text",
    "opened": "text",
    "closed": "text",
    "period": "integer",
    "period_start": "text",
    "kind": "text",
    "label": "text",
}
_TRAILING: dict[str, ColumnType] = {
    "value": "number",
    "standard_error": "number",
    "lower": "number",
    "upper": "number",
    "band_lower": "number",
    "band_upper": "number",
    "population_standard_error": "number",
    "population_lower": "number",
    "population_upper": "number",
    "consistent": "number",
    "users": "integer",
    "epsilon": "number",
    "level": "number",
    "bias_bound": "number",
    "mechanism": "text",
    "warnings": "text",
}
_TEXT_ENDS, _NUMBER_ENDS = ("_label", "_unit"), ("_low", "_high")
_LEAST, _MOST = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class ResultTable:
    """Columns of equal length, and the type of each; None is an empty cell."""

    types: Mapping[str, ColumnType]
    columns: Mapping[str, Sequence[Cell]]

    @classmethod
    def of_rows(cls, rows: Sequence[Mapping[str, Cell]]) -> Self:
        """The table of these rows; a column that a row does not have is empty there.

        Raises InvalidValue for a column of another name, and for a cell that is not of its column's type.
        """
        fixed = _LEADING | _TRAILING
        own = dict.fromkeys(name for row in rows for name in row if name not in fixed)
        columns = {name: [row.get(name) for row in rows] for name in (*_LEADING, *own, *_TRAILING)}
        types = {name: fixed.get(name) or _type_of_bound(name, columns[name]) for name in columns}
        for name, cells in columns.items():
            _check(name, types[name], cells)
        return cls(types, columns)

    def __len__(self) -> int:
        return len(self.columns["campaign"])

    def rows(self) -> Iterable[tuple[Cell, ...]]:
        """The cells row by row, in the order of the columns."""
        return zip(*self.columns.values(), strict=True)

    def document(self) -> dict[str, Any]:
        """The table as JSON has it: `columns` with name and type, `rows` as objects."""
        described = [{"name": name, "type": kind} for name, kind in self.types.items()]
        return {"columns": described, "rows": [dict(zip(self.columns, row, strict=True)) for row in self.rows()]}


def cells_of_bounds(bounds: Iterable[AttributeBounds]) -> dict[str, Cell]:
    """The cells that say what a query counts; those that would be empty are left out."""
    cells: dict[str, Cell] = {}
    for each in bounds:
        own = {"low": each.low, "high": each.high, "label": each.label, "unit": each.unit}
        cells |= {f"{each.attribute}_{part}": cell for part, cell in own.items() if cell is not None}
    return cells


def type_of_column(name: str) -> ColumnType | None:
    """The type of a column by its name; None for one that is an integer or a number by its cells.

    Raises InvalidValue for a name that no column has.
    """
    fixed = (_LEADING | _TRAILING).get(name)
    if fixed is not None:
        return fixed
    if name.endswith(_TEXT_ENDS):
        return "text"
    if name.endswith(_NUMBER_ENDS):
        return None
    raise InvalidValue(f"a table of estimates has no column {name[:100]!r}", name)


def _type_of_bound(name: str, cells: Iterable[Cell]) -> ColumnType:
    held = [cell for cell in cells if cell is not None]
    return type_of_column(name) or ("integer" if all(isinstance(cell, int) for cell in held) else "number")


def _check(name: str, kind: ColumnType, cells: Iterable[Cell]) -> None:
    for number, cell in enumerate(cells, 1):
        if cell is not None and not _fits(kind, cell):
            raise InvalidValue(f"row {number}: column {name!r} holds {kind} cells, not {str(cell)[:100]!r}", cell)


def _fits(kind: ColumnType, cell: object) -> bool:
    if kind == "text":
        return isinstance(cell, str)
    if isinstance(cell, bool):
        return False
    if kind == "integer":
        return isinstance(cell, int) and _LEAST <= cell <= _MOST
    return isinstance(cell, int | float) and math.isfinite(cell)
