"""Answers to questions of any kind as one table, with a row for each answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan, nan
from typing import Any, Self

from sordino_analysis.answers.columns import (
    COLUMNS,
    Cell,
    ColumnType,
    bounds_of_cells,
    in_order,
    named,
    type_of_cells,
)
from sordino_analysis.documents.attribute_bounds import AttributeBounds
from sordino_shared.errors import InvalidValue

WARNING_SEPARATOR = " | "
EXPORTED: Mapping[str, ColumnType] = {column.name: column.type for column in COLUMNS if column.exported}


@dataclass(frozen=True)
class AnswerTable:
    """Answers as columns of equal length; `terms` are cells that each row has. None is an empty cell.

    Raises InvalidValue for a column that `COLUMNS` does not have, a cell that is not of its column's type, a name that
    is a term and a column, and for columns of different lengths.
    """

    terms: Mapping[str, Cell]
    columns: Mapping[str, Sequence[Cell]]

    def __post_init__(self) -> None:
        if twice := self.terms.keys() & self.columns.keys():
            raise InvalidValue(f"{min(twice)!r} is both a term and a column", min(twice))
        lengths = {name: len(cells) for name, cells in self.columns.items()}
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{name} {length}" for name, length in list(lengths.items())[:5])
            raise InvalidValue(f"the columns of a table have one length, not {shown}", lengths)
        _ = self.types

    @classmethod
    def of_rows(cls, rows: Sequence[Mapping[str, Cell]], **terms: Cell) -> Self:
        """The table of these rows; a column that a row does not have is empty there."""
        names = in_order(name for row in rows for name in row)
        return cls(terms, {name: [row.get(name) for row in rows] for name in names})

    @classmethod
    def exported(cls, tables: Iterable[AnswerTable]) -> Self:
        """The rows of all tables, with every column that tables of several campaigns have."""
        given = list(tables)
        names = in_order((*EXPORTED, *(name for each in given for name in each.names)))
        return cls({}, {name: [cell for each in given for cell in each.cells(name)] for name in names})

    @cached_property
    def types(self) -> Mapping[str, ColumnType]:
        """The type of each column and term, in the order in which tables are written."""
        return {name: type_of_cells(name, self._distinct(name)) for name in self.names}

    @classmethod
    def of_columns(cls, columns: Mapping[str, Sequence[Cell]], **terms: Cell) -> Self:
        """The table of these columns; those in which every cell is empty are left out."""
        filled = {name: columns[name] for name in in_order(columns) if any(cell is not None for cell in columns[name])}
        return cls(terms, filled)

    @cached_property
    def names(self) -> list[str]:
        """Columns and terms in the order in which tables are written."""
        return in_order((*self.terms, *self.columns))

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def cells(self, name: str) -> Sequence[Cell]:
        """A column, or a term once for each row; empty cells for what the table does not have."""
        return self.columns[name] if name in self.columns else [self.terms.get(name)] * len(self)

    def numbers(self, name: str) -> list[float]:
        """A column of numbers; NaN for an empty cell."""
        return [nan if cell is None else float(cell) for cell in self.cells(name)]

    def ends(self, prefix: str = "") -> list[tuple[float, float] | None]:
        """Both ends of an interval of each row, from the columns `…lower` and `…upper`; None where one is empty."""
        pairs = zip(self.numbers(f"{prefix}lower"), self.numbers(f"{prefix}upper"), strict=True)
        return [None if isnan(low) or isnan(high) else (low, high) for low, high in pairs]

    @property
    def level(self) -> float:
        """The level of intervals and band."""
        return float(self.terms["level"] or 0)

    def rows(self) -> Iterator[tuple[Cell, ...]]:
        """The cells row by row, in the order of `names`."""
        return zip(*(self.cells(name) for name in self.names), strict=True)

    def with_terms(self, **terms: Cell) -> Self:
        """The same answers with further terms."""
        return replace(self, terms={**self.terms, **terms})

    def document(self) -> dict[str, Any]:
        """The table as JSON has it: `columns` with name and type, `rows` as objects."""
        described = [{"name": name, "type": kind} for name, kind in self.types.items()]
        return {"columns": described, "rows": [dict(zip(self.names, row, strict=True)) for row in self.rows()]}

    def with_columns(self, **columns: Sequence[Cell]) -> Self:
        """The same answers with further columns."""
        return replace(self, columns={**self.columns, **columns})

    def only(self, rows: Sequence[int]) -> Self:
        """The table of some of the rows."""
        return replace(self, columns={name: [cells[row] for row in rows] for name, cells in self.columns.items()})

    def bounds(self) -> list[list[AttributeBounds]]:
        """What each row is about, of each attribute that it restricts."""
        names = [name for name in self.columns if named(name) is None]
        cells = [self.columns[name] for name in names]
        return [
            bounds_of_cells({name: column[row] for name, column in zip(names, cells, strict=True)})
            for row in range(len(self))
        ]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the answers warn of."""
        joined = self.terms.get("warnings")
        return tuple(joined.split(WARNING_SEPARATOR)) if isinstance(joined, str) else ()

    def _distinct(self, name: str) -> Sequence[Cell]:
        return self.columns[name] if name in self.columns else (self.terms[name],)


def joined(warnings: Sequence[str]) -> str | None:
    """The cell of all warnings."""
    return WARNING_SEPARATOR.join(warnings) or None


def wider(types: Mapping[str, ColumnType], others: Mapping[str, ColumnType]) -> dict[str, ColumnType]:
    """The types of columns that hold cells of both; a bound that is an integer here and a number there is a number."""
    mixed = {name for name in types.keys() & others.keys() if types[name] != others[name]}
    return {**types, **others, **dict.fromkeys(mixed, "number")}
