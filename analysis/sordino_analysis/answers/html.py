"""Answers as HTML for a notebook; every text is escaped. The console's pages have a macro of the same table."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from sordino_analysis.answers.shown import ShownAnswers

Row = Sequence[str]


def as_html(shown: ShownAnswers) -> str:
    """A table with the title as its caption, and the notes and warnings as paragraphs below it."""
    return html_table(shown.title, shown.headings, shown.rows, (*shown.notes, *shown.warnings))


def html_table(title: str, headings: Row, rows: Sequence[Row], notes: Sequence[str] = ()) -> str:
    """An HTML table with a caption, and paragraphs below it; every text is escaped."""
    head = "".join(f"<th>{escape(text)}</th>" for text in headings)
    body = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    header = f"<thead><tr>{head}</tr></thead>" if any(headings) else ""
    return f"<table><caption>{escape(title)}</caption>{header}<tbody>{body}</tbody></table>{below}"
