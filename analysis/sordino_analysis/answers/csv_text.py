"""A table of answers as CSV (RFC 4180).

A text that a spreadsheet would take for a formula stands behind an apostrophe: the label `=1+1` is written `'=1+1`.
Numbers are never touched.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from sordino_analysis.answers.table import AnswerTable

# Lines that are written at once: a few tens of kilobytes.
_LINES = 500
# What begins with these is a formula to one spreadsheet or another, some of which drop blanks before they look.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


CSV_TYPE = "text/csv; header=present; charset=utf-8"


def as_csv(table: AnswerTable) -> str:
    """The table with a header line."""
    return written([tuple(table.names), *table.rows()])


def csv_lines(header: Sequence[object], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """The same in pieces of some lines each, so that a table of any length takes little memory."""
    lines = chain([header], rows)
    while piece := list(islice(lines, _LINES)):
        yield written(piece)


def written(rows: Iterable[Sequence[object]]) -> str:
    """Rows as CSV, without cells that a spreadsheet takes for formulas; truth is written `true` and `false`."""
    text = io.StringIO()
    csv.writer(text).writerows(map(harmless, row) for row in rows)
    return text.getvalue()


def harmless(cell: object) -> object:
    """The cell as CSV has it: no text that a spreadsheet takes for a formula."""
    if isinstance(cell, bool):
        return str(cell).lower()
    return f"'{cell}" if isinstance(cell, str) and cell.lstrip(" ").startswith(_FORMULA_STARTS) else cell
