"""Answers to questions of any kind as one table, with a row for each answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from sordino_analysis.answers.columns import COLUMNS, Cell, ColumnType, in_order, type_of_cells
from sordino_shared.errors import InvalidValue

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

    @cached_property
    def names(self) -> list[str]:
        """Columns and terms in the order in which tables are written."""
        return in_order((*self.terms, *self.columns))

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def cells(self, name: str) -> Sequence[Cell]:
        """A column, or a term once for each row; empty cells for what the table does not have."""
        return self.columns[name] if name in self.columns else [self.terms.get(name)] * len(self)

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

    def _distinct(self, name: str) -> Iterable[Cell]:
        return self.columns[name] if name in self.columns else (self.terms[name],)


def wider(types: Mapping[str, ColumnType], others: Mapping[str, ColumnType]) -> dict[str, ColumnType]:
    """The types of columns that hold cells of both; a bound that is an integer here and a number there is a number."""
    mixed = {name for name in types.keys() & others.keys() if types[name] != others[name]}
    return {**types, **others, **dict.fromkeys(mixed, "number")}
