"""How values of the analyst show themselves: as text in a terminal, as a table in a notebook, as a data frame."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from sordino_analysis.answers.frames import as_pandas, as_polars, open_ends
from sordino_analysis.answers.shown import ShownAnswers, as_html, as_text, html_table, text_facts
from sordino_analysis.answers.table import AnswerTable

# Rows of a long table that are shown, from both its ends.
SHOWN = 12


class Facts(ABC):
    """A value that shows itself as a title and a list of facts, in a terminal and in a notebook."""

    @abstractmethod
    def _facts(self) -> tuple[str, list[tuple[str, str]]]:
        """The title, and the name and text of each fact."""

    def __repr__(self) -> str:
        return text_facts(*self._facts())

    def _repr_html_(self) -> str:
        title, rows = self._facts()
        return html_table(title, ("", ""), rows)


class AnswersShown(ABC):
    """Answers as a table, which shows some of its rows and becomes a data frame."""

    @property
    @abstractmethod
    def table(self) -> AnswerTable:
        """The answers under the names of docs/results.md, one a row."""

    @abstractmethod
    def _shown(self) -> ShownAnswers:
        """What is printed."""

    def columns(self) -> dict[str, list[Any]]:
        """Plain columns of one length, which csv.writer takes; `to_pandas` and `to_polars` make a frame of them."""
        return {name: list(open_ends(self.table, name)) for name in self.table.columns}

    def to_pandas(self) -> Any:
        """A pandas DataFrame of the columns; raises SordinoError where pandas is not installed."""
        return as_pandas(AnswerTable({}, self.table.columns))

    def to_polars(self) -> Any:
        """A polars DataFrame of the columns; raises SordinoError where polars is not installed."""
        return as_polars(AnswerTable({}, self.table.columns))

    def __repr__(self) -> str:
        return as_text(self._shown())

    def _repr_html_(self) -> str:
        return as_html(self._shown())


def shown(count: int) -> list[int]:
    """Indices of the rows that a table of `count` rows shows."""
    if count <= SHOWN:
        return list(range(count))
    return [*range(SHOWN // 2), *range(count - SHOWN // 2, count)]
