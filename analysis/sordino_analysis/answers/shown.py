"""What people see of a table of answers, as texts: the same in a terminal, a notebook and a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.figures import SHARE, amount, chosen, figure, number_span, span
from sordino_analysis.percentages import percent
from sordino_shared.quantities import quantity

Row = Mapping[str, Any]
_NONE = "none"
_LEVELLED = ("interval", "band")


@dataclass(frozen=True, kw_only=True)
class ShownAnswers:
    """Headings and rows of text, `notes` on whom the answers are about, and `warnings`."""

    title: str = ""
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def titled(self, title: str, *notes: str) -> ShownAnswers:
        """The same with a title, and with further notes before its own."""
        return replace(self, title=title, notes=(*notes, *self.notes))


@dataclass(frozen=True)
class _Part:
    """A column of text: it is shown where the column `needs` has a cell and none of `unless` has one."""

    heading: str
    needs: str
    text: Callable[[Row], str]
    unless: tuple[str, ...] = ()

    def is_shown(self, filled: AbstractSet[str]) -> bool:
        return self.needs in filled and filled.isdisjoint(self.unless)

    def headed(self, level: str) -> str:
        """The heading, with the level of what has one: "95 % band"."""
        return f"{level} {self.heading}".strip() if self.heading.startswith(_LEVELLED) else self.heading


def shown_answers(
    table: AnswerTable,
    noun: str = "query",
    *,
    answer: str = "answer",
    rows: Sequence[int] | None = None,
    parts: Sequence[str] = (),
) -> ShownAnswers:
    """The texts of a table, of the given rows or all; `noun` is what a row is, `answer` what its number is.

    Without `parts`, the headings to show, every part is shown that the table fills.
    """
    level = table.terms.get("level")
    written = percent(level) if isinstance(level, int | float) else ""
    filled = {name for name, cells in table.columns.items() if name == "value" or any(c is not None for c in cells)}
    taken = [part for part in _PARTS if part.is_shown(filled) and (not parts or part.heading in parts)]
    columns = {name: table.columns[name] for name in filled}
    picked = range(len(table)) if rows is None else rows
    found = [{name: cells[row] for name, cells in columns.items()} for row in picked]
    return ShownAnswers(
        headings=(noun, *(answer if part.heading == "answer" else part.headed(written) for part in taken)),
        rows=tuple((str(row.get("label", "")), *(part.text(row) for part in taken)) for row in found),
        notes=(about(table), *_without_guesses(table)),
        warnings=table.warnings,
    )


def _without_guesses(table: AnswerTable) -> tuple[str, ...]:
    """Why answers have no best guess, each reason once."""
    reasons = dict.fromkeys(str(cell) for cell in table.cells("no_best") if cell is not None)
    return tuple(f"no best guess: {reason}" for reason in reasons)


def about(table: AnswerTable) -> str:
    """Who was asked, for how much, and how many answers the band holds."""
    terms = table.terms
    said = []
    if isinstance(users := terms.get("users"), int):
        said.append(quantity(users, "user"))
    if isinstance(epsilon := terms.get("epsilon"), int | float):
        said.append(f"ε = {chosen(epsilon)}")
    if terms.get("mechanism"):
        said.append(f"mechanism {terms['mechanism']}")
    line = ", ".join(said)
    compared, unlisted = terms.get("compared"), terms.get("unlisted")
    if isinstance(unlisted, int) and unlisted:
        return (
            f"{line}; {len(table):,} answers are listed and {unlisted:,} are not, the band holds {compared:,} at once"
        )
    if isinstance(compared, int) and "band_lower" in table.columns:
        return f"{line}; the band holds {quantity(compared, 'answer')} at once"
    return line


def _error(row: Row) -> float | None:
    """The ± that the digits of a row follow."""
    error: float | None = row.get("standard_error", row.get("population_standard_error"))
    return error


def _number(name: str) -> Callable[[Row], str]:
    """A number with the digits that the row's error leaves."""

    def text(row: Row) -> str:
        number = row.get(name)
        return _NONE if number is None else amount(number, row.get("unit") or "", _error(row))

    return text


def _ends(prefix: str) -> Callable[[Row], str]:
    """Both ends of an interval, of a quantile those of its members."""

    def text(row: Row) -> str:
        low, high = row.get(f"{prefix}lower"), row.get(f"{prefix}upper")
        if row.get("member") is not None or row.get("kind") == "quantile":
            return number_span((low, high), row.get("unit") or "")
        if low is None or high is None:
            return _NONE
        return span((low, high), row.get("unit") or "", _error(row))

    return text


def _lift(row: Row) -> str:
    """A lift with its interval, in per cent of the left answer."""
    low, high = row.get("lift_lower"), row.get("lift_upper")
    if row.get("lift") is None or low is None or high is None:
        return _NONE
    # Four standard errors, as far as an interval of 95 % says: the digits follow it.
    error = (high - low) / 4
    return f"{amount(row['lift'], SHARE, error)} ({span((low, high), SHARE, error)})"


def _member(row: Row) -> str:
    """The member of an attribute that a quantile is."""
    if row.get("beyond"):
        return str(row["member"])
    return number_span((row.get("value_lower"), row.get("value_upper")), row.get("unit") or "")


def _answer(row: Row) -> str:
    """A number, or the member that a quantile beside numbers is."""
    return _member(row) if row.get("member") is not None else _number("value")(row)


def _guess(row: Row) -> str:
    """The best guess, or the answer of a row that has none."""
    return _answer(row) if row.get("best") is None else _number("best")(row)


def _group(row: Row) -> str:
    """The share of all users who are in a group, with its interval."""
    low, high = row["group_lower"], row["group_upper"]
    # Four standard errors, as far as an interval of 95 % says: the digits follow it.
    error = (high - low) / 4
    return f"{amount(row['group'], SHARE, error)} ({span((low, high), SHARE, error)})"


def _holds(row: Row) -> str:
    """How often an interval holds, and the number of reports that it needs if that is too seldom."""
    if row.get("coverage") is None:
        return "not known"
    enough = row.get("enough_reports")
    return percent(row["coverage"], 1) + (f", needs {quantity(enough, 'report')}" if enough is not None else "")


def _yes(name: str) -> Callable[[Row], str]:
    return lambda row: "yes" if row.get(name) else "no"


def _text(name: str) -> Callable[[Row], str]:
    return lambda row: str(row.get(name) or "")


def _p_value(row: Row) -> str:
    return _NONE if row.get("p_value") is None else figure(row["p_value"], 3)


_PARTS = (
    _Part("truth", "truth", _number("truth")),
    # The guess with the band of all answers, for a reader picks from a page.
    _Part("best guess", "best", _guess),
    _Part("band", "best", _ends("band_")),
    _Part("answer", "value", _answer),
    _Part("answer", "member", _member, ("value",)),
    _Part("std. error", "standard_error", _number("standard_error")),
    _Part("std. error", "population_standard_error", _number("population_standard_error"), ("standard_error",)),
    _Part("interval", "lower", _ends("")),
    _Part("interval", "population_lower", _ends("population_"), ("lower",)),
    _Part(
        "interval of the population",
        "population_lower",
        _ends("population_"),
        ("band_lower", "truth", "p_value"),
    ),
    _Part("band", "band_lower", _ends("band_"), ("best",)),
    _Part("holds in", "coverage", _holds),
    _Part("share of the group", "group", _group),
    _Part("p-value of the assumption", "p_value", _p_value),
    _Part("may be the best", "may_be_best", _yes("may_be_best")),
    _Part("lift", "lift", _lift),
    _Part("verdict", "verdict", _text("verdict")),
    _Part("inside", "inside", _yes("inside")),
)


def as_html(shown: ShownAnswers) -> str:
    """A table with the title as its caption, and the notes and warnings as paragraphs below it."""
    return html_table(shown.title, shown.headings, shown.rows, (*shown.notes, *shown.warnings))


def html_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()) -> str:
    """An HTML table with a caption, and paragraphs below it; every text is escaped."""
    head = "".join(f"<th>{escape(text)}</th>" for text in headings)
    body = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    header = f"<thead><tr>{head}</tr></thead>" if any(headings) else ""
    return f"<table><caption>{escape(title)}</caption>{header}<tbody>{body}</tbody></table>{below}"


def as_text(shown: ShownAnswers) -> str:
    """Title, table, notes and warnings, each on lines of its own."""
    title = [shown.title] if shown.title else []
    return "\n".join([*title, text_table(shown.headings, shown.rows), *shown.notes, *shown.warnings])


def text_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The first column aligned left and the others right, two blanks apart, as lines of text."""
    table = [headings, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(headings))]
    return "\n".join("  ".join(_cells(row, widths)).rstrip() for row in table)


def text_facts(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """A title and a line for each name and its text, in two columns aligned left."""
    width = max(len(name) for name, _ in rows)
    return "\n".join([title, *(f"  {name.ljust(width)}  {text}" for name, text in rows)])


def _cells(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    first, *others = (text.ljust(width) for text, width in zip(row, widths, strict=True))
    return [first, *(text.strip().rjust(width) for text, width in zip(others, widths[1:], strict=True))]
