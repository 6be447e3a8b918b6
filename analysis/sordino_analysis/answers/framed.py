"""What has a table of answers becomes plain columns or a data frame."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from sordino_analysis.answers.frames import as_pandas, as_polars, open_ends
from sordino_analysis.answers.table import AnswerTable


class Framed(ABC):
    """Answers as columns or frames of their table."""

    @property
    @abstractmethod
    def table(self) -> AnswerTable:
        """The answers under the names of docs/results.md, one a row."""

    def columns(self) -> dict[str, list[Any]]:
        """Plain columns of one length, which csv.writer takes; `to_pandas` and `to_polars` make a frame of them."""
        return {name: list(open_ends(self.table, name)) for name in self.table.columns}

    def to_pandas(self) -> Any:
        """A pandas DataFrame of the columns; raises SordinoError where pandas is not installed."""
        return as_pandas(AnswerTable({}, self.table.columns))

    def to_polars(self) -> Any:
        """A polars DataFrame of the columns; raises SordinoError where polars is not installed."""
        return as_polars(AnswerTable({}, self.table.columns))
