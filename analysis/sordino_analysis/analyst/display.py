"""Small tables for a terminal and for a notebook."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape

# Rows of a long table that are shown, from both its ends.
SHOWN = 12

Row = Sequence[str]


def text_table(headings: Row, rows: Sequence[Row]) -> str:
    """The first column aligned left and the others right, two blanks apart, as lines of text."""
    table = [headings, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(headings))]
    return "\n".join("  ".join(_cells(row, widths)).rstrip() for row in table)


def text_facts(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """A title and a line for each name and its text, in two columns aligned left."""
    width = max(len(name) for name, _ in rows)
    return "\n".join([title, *(f"  {name.ljust(width)}  {text}" for name, text in rows)])


def html_table(title: str, headings: Row, rows: Sequence[Row], notes: Sequence[str] = ()) -> str:
    """An HTML table with a caption, and paragraphs below it; every text is escaped."""
    head = "".join(f"<th>{escape(text)}</th>" for text in headings)
    body = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    header = f"<thead><tr>{head}</tr></thead>" if any(headings) else ""
    return f"<table><caption>{escape(title)}</caption>{header}<tbody>{body}</tbody></table>{below}"


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


def shown(count: int) -> list[int]:
    """Indices of the rows that a table of `count` rows shows."""
    if count <= SHOWN:
        return list(range(count))
    return [*range(SHOWN // 2), *range(count - SHOWN // 2, count)]


def _cells(row: Row, widths: Sequence[int]) -> list[str]:
    first, *others = (text.ljust(width) for text, width in zip(row, widths, strict=True))
    return [first, *(text.strip().rjust(width) for text, width in zip(others, widths[1:], strict=True))]
