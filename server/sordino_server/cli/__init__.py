"""`sordino`: one command per task. Commands that print results take `--json`; errors say what to do.

Each command is a module of this package, imported when it is run: numerical libraries take seconds to load, and most
commands need none of them. The module `name` holds either `app`, a group of commands, or a function `name`.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from sordino_server import __version__

COMMANDS = (
    "aggregate",
    "aggregates",
    "audit",
    "audit-log",
    "campaigns",
    "card",
    "conformance",
    "datasets",
    "db",
    "demo",
    "experiment",
    "export",
    "health",
    "keys",
    "log",
    "plan",
    "plan-requests",
    "pool",
    "populations",
    "publish",
    "questions",
    "release",
    "series",
    "serve",
    "simulate",
    "size",
    "text-code",
    "worker",
)

# What servers need and Windows does not have; commands that talk to a server do without.
_OF_UNIX = frozenset({"fcntl", "grp", "pwd", "resource"})


class DeferredCommand(TyperCommand):
    """Stands for the command `name` of `module` in lists; `load` imports the command when it gets its arguments."""

    def __init__(self, name: str, module: str, load: Callable[[], Any]) -> None:
        super().__init__(name, help=help_in_source(module, name.replace("-", "_")))
        self.load = load

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        return self.load().make_context(*arguments, **options)


@cache
def help_in_source(module: str, name: str) -> str | None:
    """The docstring of the function `name` in the module's source, or else the `help` of its group."""
    found = find_spec(module)
    assert found is not None, f"there is no module {module}"
    assert found.origin is not None, f"{module} is a file"
    groups = []
    for node in ast.parse(Path(found.origin).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return ast.get_docstring(node)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            groups += [word.value for word in node.value.keywords if word.arg == "help"]
    return str(ast.literal_eval(groups[0])) if groups else None


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


def _imported(name: str) -> ModuleType:
    """The module of a command; where the system lacks what servers need, a line that says so, and exit code 2."""
    try:
        return import_module(f"{__name__}.{_module(name)}")
    except ModuleNotFoundError as error:
        if error.name not in _OF_UNIX:
            raise
        from sordino_server.cli.output import fail

        fail(f"sordino {name} needs Linux or macOS: on Windows, run it in WSL or in a container", 2)


@cache
def load(name: str) -> Any:
    """The command of this name, imported."""
    module = _imported(name)
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
