"""Commands on a running server: each asks it with a `Remote`, and returns what is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from inspect import Parameter
from typing import Annotated, Any

import typer

from sordino_server.cli.output import JsonOption, console, print_json, print_listing, reports_errors
from sordino_server.cli.remote import DEFAULT_SERVER, KeyOption, Remote, ServerOption
from sordino_server.kit.declared import declare, parameters_of


@dataclass(frozen=True)
class Listing:
    """A table of what gets copied."""

    headings: Sequence[str]
    rows: Iterable[Sequence[str]]

    @classmethod
    def of(cls, items: Iterable[dict[str, Any]], *columns: str) -> Listing:
        """A row for each item with these of its members."""
        return cls(columns, ([item[name] for name in columns] for item in items))


@dataclass(frozen=True)
class Csv:
    """A table as CSV, which is printed with --json too."""

    text: str


CsvOption = Annotated[bool, typer.Option("--csv", help="Print a table as CSV.")]
# What people read: lines, a table, or what prints something else.
Text = Iterable[str] | Listing | Csv | Callable[[], None]
Shown = tuple[Any, Text]

_ADDED = (
    Parameter("server", Parameter.KEYWORD_ONLY, default=DEFAULT_SERVER, annotation=ServerOption),
    Parameter("key", Parameter.KEYWORD_ONLY, default=None, annotation=KeyOption),
    Parameter("as_json", Parameter.KEYWORD_ONLY, default=False, annotation=JsonOption),
)


class Unfinished(Exception):
    """A command failed after it made something: that is shown, then the error is raised."""

    def __init__(self, shown: Shown, error: BaseException) -> None:
        super().__init__(str(error))
        self.shown = shown
        self.error = error


def remote_command(command: Callable[..., Shown]) -> Callable[..., None]:
    """The command with the options --server, --key and --json, which reports errors.

    `command` gets a `Remote` before its own parameters, among which may be `as_json`. It returns the document that
    --json prints, and what people read instead.
    """
    _, *own = parameters_of(command)
    named = {each.name for each in own}

    def run(*, server: str, key: str | None, as_json: bool, **given: Any) -> None:
        if "as_json" in named:
            given["as_json"] = as_json
        with Remote(server, key) as remote:
            try:
                _print(command(remote, **given), as_json)
            except Unfinished as unfinished:
                _print(unfinished.shown, as_json)
                raise unfinished.error from None

    declare(run, command, [*own, *(each for each in _ADDED if each.name not in named)])
    return reports_errors(run)


def _print(shown: Shown, as_json: bool) -> None:
    document, text = shown
    if isinstance(text, Csv):
        typer.echo(text.text, nl=False)
    elif as_json:
        print_json(document)
    elif isinstance(text, Listing):
        print_listing(text.headings, text.rows)
    elif callable(text):
        text()
    else:
        for line in text:
            console.print(line, highlight=False, markup=False, soft_wrap=True)
