"""Data frames and series of pandas, polars and Arrow as plain values, told by their methods without an import."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
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


def adopted(value: Any) -> Any:
    """What holds values of users in another form, as a frame, a mapping of columns or an array; anything else as it is.

    An array with named fields, an object with `__dataframe__` (the interchange protocol of data frames), with `to_dict`
    of columns, or with `to_numpy`. Raises InvalidValue where the protocol needs pandas or pyarrow.
    """
    if isinstance(value, type) or is_frame(value) or is_series(value) or isinstance(value, (Mapping, str, bytes)):
        return value
    if isinstance(value, np.ndarray):
        fields = value.dtype.names
        return value if fields is None else {name: value[name].tolist() for name in fields}
    if hasattr(value, "__dataframe__"):
        return _interchanged(value)
    if callable(getattr(value, "to_dict", None)):
        columns = value.to_dict()
        return columns if isinstance(columns, Mapping) else value
    if callable(getattr(value, "to_numpy", None)):
        return value.to_numpy()
    return value


def _interchanged(value: Any) -> Any:
    """The frame by whichever library is there that reads the protocol."""
    for module, function in (("pandas.api.interchange", "from_dataframe"), ("pyarrow.interchange", "from_dataframe")):
        try:
            read = getattr(import_module(module), function)
        except ImportError:
            continue
        try:
            return read(value)
        except Exception as error:  # of the frame's own library, whatever it is
            raise InvalidValue(f"the frame cannot be read by `__dataframe__`: {error}") from error
    raise InvalidValue(
        "a frame is read by `__dataframe__` with pandas or pyarrow: install one, or give a dict of columns"
    )


def rows_of_columns(columns: Mapping[Any, Any], names: Sequence[str]) -> list[dict[str, object]]:
    """A mapping for each row from the columns with these names; other columns are left out.

    Raises InvalidValue for a name without a column, with the columns that there are, and for columns of other lengths.
    """
    keys = _keys(columns, names, "the mapping")
    values = [values_of(columns[key]) for key in keys]
    lengths = {len(column) for column in values}
    if len(lengths) != 1:
        raise InvalidValue(f"the columns have different lengths: {sorted(lengths)}", lengths)
    return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


def rows_of_frame(frame: Any, names: Sequence[str]) -> list[dict[str, object]]:
    """A mapping for each row from the columns with these names; other columns are left out.

    An empty cell (NaN, NA, null) is None. Raises InvalidValue for a column that the frame does not have.
    """
    keys = _keys(getattr(frame, "column_names", frame.columns), names, "the frame")
    columns = [values_of_series(frame[key]) for key in keys]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _keys(columns: Iterable[Any], names: Sequence[str], what: str) -> list[Any]:
    """By which the columns with these names are found: a name may be a number there. Raises InvalidValue."""
    keys = list(columns)
    held = [str(key) for key in keys]
    if twice := [name for name in names if held.count(name) > 1]:
        raise InvalidValue(f"{what} has several columns {twice[0]!r}: leave all but one out", twice)
    absent = [name for name in names if name not in held]
    if absent:
        raise InvalidValue(
            f"{what} has no column {absent[0]!r}, which the domain has as an attribute; it has "
            f"{', '.join(held)[:1000]}: rename one",
            absent,
        )
    return [keys[held.index(name)] for name in names]


def values_of(column: Any) -> list[Any]:
    """(n,) plain values of a list, an array or a series; raises InvalidValue for what has no values."""
    if is_series(column):
        return values_of_series(column)
    whole = isinstance(column, np.ndarray) and not column.ndim
    if whole or isinstance(column, (str, bytes)) or not isinstance(column, Iterable):
        raise InvalidValue(f"give a list, an array or a series of values, not a {type(column).__name__}")
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


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
