"""Pieces of Markdown that several generated pages have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

# Behind the first lines of a page that another page lists: the navigation beside each page stays short.
ORPHAN = "---\norphan: true\n---\n\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table; a bar or a line end in a cell does not end it."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return [*lines, *(f"| {' | '.join(_cell(each) for each in row)} |" for row in rows), ""]


def index(title: str, lead: str, pages: Sequence[tuple[str, str, str]]) -> str:
    """A page that lists others: (page, title, what it is)."""
    lines = [f"- [{name}]({page}.md){f': {text}' if text else ''}" for page, name, text in pages]
    return "\n".join([f"# {title}", "", lead, "", *lines, ""])


def plain(text: str) -> str:
    """Prose of the program, in which `<id>` and `*` mean themselves; what stands in backticks stays code."""
    pieces = text.split("`")
    quoted = [each if at % 2 else _escaped(each) for at, each in enumerate(pieces)]
    return "`".join(quoted)


def _escaped(text: str) -> str:
    for character in "\\<>*_[]#$":
        text = text.replace(character, f"\\{character}")
    return text


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
