"""`--help`: it names the values there are, and its examples are commands that exist."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from sordino_analysis.mechanisms.registry import mechanism_names
from sordino_analysis.pairwise.protocol_registry import PROTOCOLS as KNOWN_PROTOCOLS
from sordino_server.cli.candidates import MECHANISMS, PROTOCOLS

Run = Callable[..., Any]


def test_the_names_in_the_help_are_those_that_a_plan_takes() -> None:
    assert mechanism_names() == MECHANISMS
    assert tuple(protocol.name for protocol in KNOWN_PROTOCOLS) == PROTOCOLS


@pytest.mark.parametrize("command", ["plan", "campaigns create", "simulate", "audit", "conformance", "keys create"])
def test_an_example_has_only_options_that_there_are(run_command: Run, command: str) -> None:
    before, _, options = run_command(*command.split(), "--help").stdout.partition("─ Options")
    example = re.search(rf"^ +(?:export .*)?sordino {command} .*?\n\s*\n", before, re.MULTILINE | re.DOTALL)
    assert example is not None
    assert all(f" {name} " in options for name in re.findall(r"--[a-z-]+", example.group()))


def test_paragraphs_fill_the_window(run_command: Run) -> None:
    """The second paragraph of `demo` is 80 words, on lines of up to 100 columns."""
    told = re.split(r"\n\s*\n", run_command("demo", "--help", COLUMNS="100").stdout)
    lines = next(part for part in told if "Starts " in part).rstrip().splitlines()
    assert all(len(line.rstrip()) > 80 for line in lines[1:-1])
