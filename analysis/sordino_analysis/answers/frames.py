"""A table of answers as a data frame of pandas or polars, or as plain columns and arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from sordino_analysis.answers.columns import Cell, ColumnType
from sordino_analysis.answers.table import AnswerTable
from sordino_shared.errors import SordinoError

# The columns of both ends of a quantile.
_QUANTILE_ENDS = frozenset(
    f"{prefix}{end}" for prefix in ("", "value_", "band_", "population_") for end in ("lower", "upper")
)
_PANDAS_TYPES: dict[ColumnType, str] = {"text": "string", "integer": "Int64", "number": "float64", "truth": "boolean"}
_POLARS_TYPES: dict[ColumnType, str] = {"text": "String", "integer": "Int64", "number": "Float64", "truth": "Boolean"}


def as_pandas(table: AnswerTable) -> Any:
    """A pandas DataFrame; an empty cell is NaN or NA. Raises SordinoError where pandas is not installed."""
    pandas = library("pandas")
    arrays = {name: pandas.array(cells, dtype=_PANDAS_TYPES[table.types[name]]) for name, cells in _cells(table)}
    return pandas.DataFrame(arrays)


def as_polars(table: AnswerTable) -> Any:
    """A polars DataFrame; an empty cell is null. Raises SordinoError where polars is not installed."""
    polars = library("polars")
    schema = {name: getattr(polars, _POLARS_TYPES[kind]) for name, kind in table.types.items()}
    return polars.DataFrame(dict(_cells(table)), schema=schema)


def as_columns(table: AnswerTable) -> dict[str, Any]:
    """Numbers as float arrays (n,) with NaN, whole integers as int64 arrays (n,), text and truth as lists with None."""
    return {name: _column(kind, open_ends(table, name)) for name, kind in table.types.items()}


def library(name: str) -> Any:
    """The imported library; raises SordinoError where it is not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        raise SordinoError(f"{name} is not installed: install it, or take columns, which need no library") from error


def _cells(table: AnswerTable) -> list[tuple[str, list[Cell]]]:
    """The columns; every cell of a column of numbers is a float, and open ends of quantiles are infinite."""
    return [
        (name, [None if cell is None else float(cell) for cell in cells] if kind == "number" else [*cells])
        for name, kind in table.types.items()
        for cells in [open_ends(table, name)]
    ]


def open_ends(table: AnswerTable, name: str) -> Sequence[Cell]:
    """A column; of quantiles an end below all edges is −∞, one above all of them or beyond all numbers ∞.

    So is an end of the shift of a quantile between two sides.
    """
    cells = table.cells(name)
    if name in _QUANTILE_ENDS and "verdict" in table.columns:
        low = -math.inf if name.endswith("lower") else math.inf
        kinds = zip(cells, table.cells("kind"), strict=True)
        return [low if cell is None and kind == "quantile" else cell for cell, kind in kinds]
    if name not in _QUANTILE_ENDS or "member" not in table.columns:
        return cells
    rows = zip(cells, table.cells("member"), table.cells("beyond"), strict=True)
    low = -math.inf if name.endswith("lower") else math.inf
    return [
        cell if cell is not None or member is None else math.inf if beyond and name == "value_lower" else low
        for cell, member, beyond in rows
    ]


def _column(kind: ColumnType, cells: Sequence[Cell]) -> Any:
    if kind in ("text", "truth"):
        return list(cells)
    if kind == "integer" and None not in cells:
        return np.array(cells, dtype=np.int64)
    return np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
