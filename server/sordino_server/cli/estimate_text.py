"""What the command line prints of answers of any kind: what is sure first, then the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from sordino_server.cli.output import console, print_table

if TYPE_CHECKING:
    from sordino_analysis.answers.shown import ShownAnswers


def print_estimate(document: Mapping[str, Any]) -> None:
    """Answers as a server sent them; raises UnreadableEstimate for those of a kind that is not known here."""
    # The other commands need no numbers and should not wait for their libraries.
    from sordino_analysis.kinds.reading import estimate_of
    from sordino_analysis.kinds.registry import kind_of_answers

    estimate = estimate_of(document)
    kind = kind_of_answers(estimate.kind)
    print_lines(kind.statements(estimate))
    for shown in kind.tables(estimate, kind.printed):
        print_shown(shown)


def print_shown(shown: ShownAnswers) -> None:
    """A table with its notes below, and its warnings in a colour."""
    print_table(table_of(shown))
    print_lines(shown.notes)
    for warning in shown.warnings:
        console.print(Text(warning, style="yellow"))


def table_of(shown: ShownAnswers) -> Table:
    """The table, everything but the first column on the right."""
    # Without a box rules of three attributes fit into lines of 80 characters.
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, text in enumerate(shown.headings):
        table.add_column(text, justify="right" if place else "left", overflow="ellipsis" if place else "fold")
    for row in shown.rows:
        table.add_row(*map(Text, row))
    return table


def print_lines(lines: Sequence[str]) -> None:
    """Lines for people, as they are."""
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
