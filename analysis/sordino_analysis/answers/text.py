"""Answers as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from sordino_analysis.answers.shown import ShownAnswers

Row = Sequence[str]


def as_text(shown: ShownAnswers) -> str:
    """Title, table, notes and warnings, each on lines of its own."""
    title = [shown.title] if shown.title else []
    return "\n".join([*title, text_table(shown.headings, shown.rows), *shown.notes, *shown.warnings])


def text_table(headings: Row, rows: Sequence[Row]) -> str:
    """The first column aligned left and the others right, two blanks apart, as lines of text."""
    table = [headings, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(headings))]
    return "\n".join("  ".join(_cells(row, widths)).rstrip() for row in table)


def text_facts(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """A title and a line for each name and its text, in two columns aligned left."""
    width = max(len(name) for name, _ in rows)
    return "\n".join([title, *(f"  {name.ljust(width)}  {text}" for name, text in rows)])


def _cells(row: Row, widths: Sequence[int]) -> list[str]:
    first, *others = (text.ljust(width) for text, width in zip(row, widths, strict=True))
    return [first, *(text.strip().rjust(width) for text, width in zip(others, widths[1:], strict=True))]
