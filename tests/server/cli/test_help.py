"""`--help`: it names the values there are, and its examples are commands that exist."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import Mock

import click
import pytest
from typer.main import get_command

from sordino_analysis.curator.plan import FAMILIES, NAMED_FAMILIES
from sordino_analysis.curator.projected_plan import PROJECTIONS as KNOWN_PROJECTIONS
from sordino_analysis.mechanisms.registry import mechanism_names
from sordino_analysis.pairwise.protocol_registry import NAMED_PROTOCOLS
from sordino_analysis.pairwise.protocol_registry import PROTOCOLS as KNOWN_PROTOCOLS
from sordino_server import __version__
from sordino_server.cli import COMMANDS, DeferredCommand, app, load
from sordino_server.cli.candidates import CURATOR_MECHANISMS, MECHANISMS, PROJECTIONS, PROTOCOLS

Run = Callable[..., Any]

WINDOW = 80


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command and group, by the words that call it."""
    yield path, group
    context = click.Context(group)
    for name in group.list_commands(context) if hasattr(group, "list_commands") else ():
        found = group.get_command(context, name)
        yield from commands(found.load() if isinstance(found, DeferredCommand) else found, (*path, name))


ALL = dict(commands(get_command(app)))


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_fits_the_window_and_nothing_is_cut(run_command: Run, path: tuple[str, ...]) -> None:
    text = run_command(*path, "--help", COLUMNS=str(WINDOW)).stdout
    assert max(map(len, text.splitlines())) <= WINDOW
    assert "…" not in text
    options = [each for each in ALL[path].params if each.param_type_name == "option" and not each.hidden]
    assert all(name in text for option in options for name in option.opts)


@pytest.mark.parametrize("path", [path for path in ALL if not hasattr(ALL[path], "list_commands")], ids=" ".join)
def test_every_command_takes_json(run_command: Run, path: tuple[str, ...]) -> None:
    assert "--json" in run_command(*path, "--help", COLUMNS=str(WINDOW)).stdout


def test_the_version(run_command: Run) -> None:
    assert run_command("--version").stdout == f"sordino {__version__}\n"


def test_the_names_in_the_help_are_those_that_a_plan_takes() -> None:
    assert mechanism_names() == MECHANISMS
    assert tuple(protocol.name for protocol in (*KNOWN_PROTOCOLS, *NAMED_PROTOCOLS)) == PROTOCOLS
    assert PROJECTIONS == KNOWN_PROJECTIONS
    assert (*FAMILIES, *NAMED_FAMILIES, *PROJECTIONS) == CURATOR_MECHANISMS


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_has_the_help_of_each(name: str) -> None:
    """It is read from their sources without an import."""
    listed = get_command(app).get_command(Mock(), name)  # type: ignore[attr-defined]
    assert listed.help == getattr(load(name), "help", None)


EXAMPLES = ["plan", "campaigns create", "simulate", "demo", "audit", "conformance", "keys create", "db purge", "serve"]


@pytest.mark.parametrize("command", EXAMPLES)
def test_an_example_has_only_options_that_there_are(run_command: Run, command: str) -> None:
    before, _, options = run_command(*command.split(), "--help").stdout.partition("─ Options")
    example = re.search(rf"^ +(?:export .*)?sordino {command} .*?\n\s*\n", before, re.MULTILINE | re.DOTALL)
    assert example is not None
    assert all(f" {name} " in options for name in re.findall(r"--[a-z-]+", example.group()))


def test_paragraphs_fill_the_window(run_command: Run) -> None:
    """The paragraph of `demo` that begins with "Starts" is 50 words, on lines of up to 100 columns."""
    told = re.split(r"\n\s*\n", run_command("demo", "--help", COLUMNS="100").stdout)
    lines = next(part for part in told if "Starts " in part).rstrip().splitlines()
    assert all(len(line.rstrip()) > 80 for line in lines[1:-1])
