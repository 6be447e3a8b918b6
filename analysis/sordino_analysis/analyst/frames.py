"""Data frames and series of pandas, polars and Arrow as plain values, told by their methods without an import."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sordino_shared.errors import InvalidValue


def is_frame(value: object) -> bool:
    """Whether it is a data frame of pandas or polars, or an Arrow table."""
    frame = hasattr(value, "columns") and (hasattr(value, "to_numpy") or hasattr(value, "column_names"))
    return frame and not isinstance(value, type)


def is_series(value: object) -> bool:
    """Whether it is one column of pandas, polars or Arrow."""
    return not isinstance(value, type) and not is_frame(value) and (hasattr(value, "to_list") or _is_arrow(value))


def check_collected(value: object) -> None:
    """Raise InvalidValue for a lazy frame, which holds no values yet."""
    if hasattr(value, "collect") and hasattr(value, "lazy"):
        raise InvalidValue("a lazy frame holds no values yet: give frame.collect()")


def rows_of_frame(frame: Any, names: Sequence[str]) -> list[dict[str, object]]:
    """A mapping for each row from the columns with these names; other columns are left out.

    An empty cell (NaN, NA, null) is None. Raises InvalidValue for a column that the frame does not have.
    """
    held = [str(name) for name in getattr(frame, "column_names", frame.columns)]
    absent = [name for name in names if name not in held]
    if absent:
        raise InvalidValue(
            f"the frame has no column {absent[0]!r}, which the domain has as an attribute; it has "
            f"{', '.join(held)[:1000]}: rename one",
            absent,
        )
    columns = [values_of_series(frame[name]) for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def values_of(column: Any) -> list[Any]:
    """(n,) plain values of a list, an array or a series; raises InvalidValue for what has no values."""
    if is_series(column):
        return values_of_series(column)
    if isinstance(column, (str, bytes)) or not isinstance(column, Iterable):
        raise InvalidValue(f"give a list, an array or a series of values, not a {type(column).__name__}")
    return column.tolist() if isinstance(column, np.ndarray) and column.ndim else list(column)


def values_of_series(series: Any) -> list[object]:
    """(n,) plain values; an empty cell (NaN, NA, null) is None."""
    if _is_arrow(series):
        values: list[object] = series.to_pylist()
        return values
    values = series.to_list()
    if hasattr(series, "isna"):
        return [None if empty else value for value, empty in zip(values, series.isna(), strict=True)]
    return values


def _is_arrow(value: object) -> bool:
    return hasattr(value, "to_pylist")
