"""`sordino`: one command per task. Commands that print results take `--json`; errors say what to do.

Each command is a module of this package, imported when it is run: numerical libraries take seconds to load, and most
commands need none of them. The module `name` holds either `app`, a group of commands, or a function `name`.
"""

from __future__ import annotations

import os
from functools import partial
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from sordino_server import __version__
from sordino_server.cli.deferred_command import DeferredCommand

COMMANDS = (
    "aggregate",
    "aggregates",
    "audit",
    "audit-log",
    "campaigns",
    "conformance",
    "datasets",
    "db",
    "demo",
    "export",
    "health",
    "keys",
    "plan",
    "plan-requests",
    "pool",
    "populations",
    "release",
    "series",
    "serve",
    "simulate",
    "size",
    "worker",
)


class _Commands(TyperGroup):
    """The commands by name, each imported on first use."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        return DeferredCommand(cmd_name, f"{__name__}.{_module(cmd_name)}", partial(load, cmd_name))


def _module(name: str) -> str:
    """The module of a command, and the function in it."""
    return name.replace("-", "_")


def load(name: str) -> Any:
    """The command of this name, imported."""
    module = import_module(f"{__name__}.{_module(name)}")
    group = getattr(module, "app", None)
    if group is None:
        group = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        group.command(name)(getattr(module, _module(name)))
    # Paragraphs of the help fill the window, whatever the lines of the source are.
    group.rich_markup_mode = "markdown"
    return typer.main.get_command(group)


app = typer.Typer(
    name="sordino",
    cls=_Commands,
    help="Local-differential-privacy telemetry: plan a mechanism, run the server, read the estimates.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sordino {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options of `sordino` itself."""


# One thread of linear algebra by default: a worker must not take every core from the API process, and threads that
# spin for a core they do not get make planning many times slower.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def main() -> None:
    """Entry point of the `sordino` command."""
    for name, threads in _ONE_THREAD.items():
        os.environ.setdefault(name, threads)
    app()
