"""How values of the analyst show themselves: as text in a terminal, as a table in a notebook, as a data frame."""

from __future__ import annotations

from abc import ABC, abstractmethod

from sordino_analysis.answers.framed import Framed
from sordino_analysis.answers.shown import ShownAnswers, as_html, as_text, html_table, text_facts

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


class AnswersShown(Framed):
    """Answers as a table, which shows some of its rows and becomes a data frame."""

    @abstractmethod
    def _shown(self) -> ShownAnswers:
        """What is printed."""

    def __repr__(self) -> str:
        return as_text(self._shown())

    def _repr_html_(self) -> str:
        return as_html(self._shown())


def shown(count: int) -> list[int]:
    """Indices of the rows that a table of `count` rows shows."""
    if count <= SHOWN:
        return list(range(count))
    return [*range(SHOWN // 2), *range(count - SHOWN // 2, count)]
