"""Output of all commands: text for people or one JSON object for programs, and errors with advice."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, NoReturn, ParamSpec, TypeVar

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from sordino_server.cli import json_lines
from sordino_shared.errors import NoAnswer, SordinoError, UnreadableBody

P = ParamSpec("P")
R = TypeVar("R")

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", help="Print the details too.")]

# Progress and errors go to standard error, so that standard output can be piped.
progress_console = Console(stderr=True)
console = Console()
_WIDEST = 10_000
# Of a text that may be folded so many letters stay together.
_FOLDED = 12
# Blanks and lines between two columns.
_BETWEEN = 3


def command_group(name: str, *, help: str) -> typer.Typer:
    """Commands of one noun, which show their help where none is named."""
    return typer.Typer(name=name, add_completion=False, pretty_exceptions_enable=False, help=help, no_args_is_help=True)


def print_json(value: Any) -> None:
    """One JSON object on standard output."""
    json.dump(value, sys.stdout, ensure_ascii=False, indent=2, allow_nan=False)
    sys.stdout.write("\n")


def print_listing(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table of what gets copied: no cell is cut or folded, and a narrow window shows a line on two."""
    table = Table(*headings, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*map(Text, row))
    Console(width=_WIDEST).print(table)


def print_table(table: Table, to: Console | None = None) -> None:
    """A table with every figure whole: where the window is too narrow its lines go on in the next one."""
    for column in table.columns:
        cells = [_plain(cell) for cell in (column.header, *column.cells)]
        pieces = cells if column.no_wrap else [word for cell in cells for word in cell.split()]
        least = max(map(cell_len, pieces), default=0)
        column.min_width = min(least, _FOLDED) if column.overflow == "fold" else least
    shown = to or console
    needed = sum((column.min_width or 0) + _BETWEEN for column in table.columns)
    if needed > shown.width:
        table.width = needed
    shown.print(table, crop=False)


def _plain(cell: object) -> str:
    return Text.from_markup(cell).plain if isinstance(cell, str) else str(cell)


def moment(unix: int) -> str:
    """Unix time for people."""
    return datetime.fromtimestamp(unix, UTC).strftime("%Y-%m-%d %H:%M UTC")


def say(message: str) -> None:
    """A line for people on standard error, as it is."""
    if json_lines.wanted(sys.stderr):
        json_lines.write(sys.stderr, "info", message)
    else:
        progress_console.print(message, highlight=False, markup=False, soft_wrap=True)


def fail(message: str, code: int = 1) -> NoReturn:
    """Say what went wrong on standard error and exit: 1 the work failed, 2 the input was wrong."""
    if json_lines.wanted(sys.stderr):
        json_lines.write(sys.stderr, "error", message)
    else:
        progress_console.print(f"[bold red]error:[/] {escape(message)}", highlight=False)
    raise typer.Exit(code)


def reports_errors(command: Callable[P, R]) -> Callable[P, R]:
    """Turn expected errors into one sentence and an exit code; other exceptions are bugs and propagate."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            result = command(*args, **kwargs)
            # A reader that has left is noticed here, and not when the interpreter ends.
            sys.stdout.flush()
            return result
        except UnreadableBody as error:
            fail(f"{error}; is it a sordino server?", code=2)
        except NoAnswer as error:
            fail(f"the server cannot be reached: {error}; is it running, and is the address right?")
        except SordinoError as error:
            fail(str(error), code=2)
        except UnicodeEncodeError as error:
            wrong = error.object[error.start : error.end]
            fail(f"{wrong!r} cannot be written in {error.encoding}; is UTF-8 what the terminal is set to?", code=2)
        except BrokenPipeError:
            # The reader closed the pipe, as `head` does: typer ends the command silently.
            raise
        except OSError as error:
            fail(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}")

    return wrapped
