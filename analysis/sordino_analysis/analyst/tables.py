"""Read a CSV file whose rows are devices: named columns, and the values that they hold for a domain."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sordino_shared.domains import Attribute, Categorical, Domain, Hashed, Indicator, Integers, Ordered, Text
from sordino_shared.errors import SordinoError

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
# How files write that there is no value; compared without case.
_ABSENT = frozenset({"", "na", "n/a", "nan", "null", "none"})


class ColumnError(SordinoError):
    """The file cannot be used as it is; `path` is the file, and the message gives advice."""

    code = "column-error"
    advice = "correct the file or name another column, and read it again"

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path


@dataclass(frozen=True)
class Table:
    """Named columns of text of equal length; `lines` has the line of the file that each row ends on."""

    path: Path
    columns: Mapping[str, Sequence[str]]
    lines: Sequence[int]

    def __len__(self) -> int:
        return len(self.lines)


def header_of(path: Path) -> list[str]:
    """The names of the columns; raises `ColumnError` for a file that cannot be read."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            return next(csv.reader(stream), [])
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ColumnError(path, f"cannot be read as CSV in UTF-8: {error}") from error


def read_table(path: Path, wanted: Sequence[str]) -> Table:
    """The wanted columns of a CSV file with a header; blank lines are skipped.

    Raises `ColumnError` for a file that cannot be read or is empty, a missing column, or a row of another length.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.reader(stream)
            header = next(reader, [])
            places = {name: _place(path, header, name) for name in wanted}
            rows = [(row, reader.line_num) for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ColumnError(path, f"cannot be read as CSV in UTF-8: {error}") from error
    for row, number in rows:
        if len(row) != len(header):
            raise ColumnError(path, f"line {number} has {len(row)} fields, the header has {len(header)}")
    if not rows:
        raise ColumnError(path, "has no rows below its header: every row is one device")
    return Table(path, {name: [row[place] for row, _ in rows] for name, place in places.items()}, [n for _, n in rows])


def device_values(table: Table, domain: Domain, columns: Mapping[str, str]) -> list[dict[str, object]]:
    """What each device holds, attribute by attribute; `columns` names the column of each.

    Absent and unlisted values become `missing` or `other` where the domain has them, and raise `ColumnError` with
    the first such line where it has not: a device would answer as another member, and the truth would be another.
    """
    # A text stands for its prefixes.
    given = [attribute for attribute in domain.attributes if attribute.name in domain.value_names]
    held = {attribute.name: _values_of(table, attribute, columns[attribute.name]) for attribute in given}
    return [dict(zip(held, row, strict=True)) for row in zip(*held.values(), strict=True)]


def _place(path: Path, header: Sequence[str], name: str) -> int:
    if not header:
        raise ColumnError(path, "is empty: it needs a header line and one row for every device")
    if header.count(name) != 1:
        problem = "no column" if name not in header else "more than one column"
        raise ColumnError(path, f"has {problem} {name!r}; its columns are {', '.join(map(repr, header))}")
    return header.index(name)


def _values_of(table: Table, attribute: Attribute, column: str) -> list[object]:
    values: list[object] = []
    refused: list[int] = []
    for index, text in enumerate(table.columns[column]):
        value = _value(attribute, text.strip())
        values.append(value)
        if not attribute.other and not _listed(attribute, value):
            refused.append(index)
    if refused:
        first = refused[0]
        raise ColumnError(
            table.path,
            f"{len(refused)} of {len(values)} values in column {column!r} do not belong to attribute "
            f"{attribute.name!r}, the first in line {table.lines[first]}: {table.columns[column][first]!r}; "
            "give the attribute `missing: true` or `other: true`, or mend the file",
        )
    return values


def _value(attribute: Attribute, text: str) -> object:
    if isinstance(attribute, Indicator):
        return _value(attribute.source, text)
    if isinstance(attribute, Ordered):
        whole = _whole_in(text) if isinstance(attribute, Integers) else None
        number = number_in(text) if whole is None else whole
        return number if number is not None else None if is_absent(text) else text
    listed = isinstance(attribute, Categorical) and text in attribute.categories
    return None if is_absent(text) and not listed else text


def _listed(attribute: Attribute, value: object) -> bool:
    if isinstance(attribute, Indicator):
        return attribute.source.other or _listed(attribute.source, value)
    if isinstance(attribute, Text):
        # What is no text is a value of its own.
        return True
    if value is None:
        return attribute.missing
    match attribute:
        case Categorical():
            return value in attribute.categories
        case Integers():
            return isinstance(value, (int, float)) and attribute.low <= value <= attribute.high
        case Hashed():
            return isinstance(value, str)
        case _:
            return isinstance(value, float)


def is_absent(text: str) -> bool:
    """Whether a file writes "no value" like this: empty, NA, N/A, NaN, null or none, in any case."""
    return text.lower() in _ABSENT


def _whole_in(text: str) -> int | None:
    """The integer that the text writes in at most 19 digits, exactly; or None."""
    return int(text) if _WHOLE.fullmatch(text) else None


def number_in(text: str) -> float | None:
    """The finite number that the text is, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
