"""Tables in a window that is too narrow for them: a line goes on in the next one, and no figure is cut."""

from __future__ import annotations

import ast
import io
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

from sordino_server.cli.output import print_table

CLI = Path(__file__).parents[3] / "server" / "sordino_server" / "cli"
FIGURES = ("123,456,789", "0.123456", "-12.34 % … 101.32 %")


def printed(table: Table, width: int) -> str:
    stream = io.StringIO()
    print_table(table, Console(file=stream, width=width))
    return stream.getvalue()


@pytest.mark.parametrize("width", [1, 10, 20, 30, 40, 80])
@pytest.mark.parametrize("no_wrap", [True, False])
def test_a_figure_is_whole_at_every_width(width: int, no_wrap: bool) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("query", overflow="fold")
    for heading in ("users", "share", "interval"):
        table.add_column(heading, justify="right", no_wrap=no_wrap)
    table.add_row("a very long name of a query about delays", *FIGURES)
    text = printed(table, width)
    for figure in FIGURES if no_wrap else " ".join(FIGURES).split():
        assert figure in text
    assert "…" not in text.replace(" … ", "").replace("…\n", "") or not no_wrap


def test_a_wide_window_is_used_and_markup_takes_no_room() -> None:
    table = Table("query", "value", box=None, pad_edge=False)
    table.add_row("delay", "[bold]12[/]")
    assert printed(table, 80).splitlines()[1].rstrip() == "delay  12"


@pytest.mark.parametrize(
    "command",
    [
        ("plan", "--workload", "prefix", "--size", "8", "--epsilon", "1", "--effort", "quick", "--verbose"),
        ("size", "--workload", "prefix", "--size", "8", "--effort", "quick", "--margin", "1%", "--epsilon", "0.1"),
    ],
)
def test_a_narrow_window_shows_the_figures_of_a_wide_one(run_command: Any, command: tuple[str, ...]) -> None:
    narrow, wide = (run_command(*command, COLUMNS=width).stdout for width in ("24", "200"))
    figures = [set(re.findall(r"\d[\d.,e+-]*\d", text)) for text in (narrow, wide)]
    assert figures[0] == figures[1]


def test_every_table_is_printed_by_one_function() -> None:
    """`print_listing` is for cells that get copied, and `watch` draws its table again and again."""
    for path in CLI.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("console.print") and call.args:
                named = ast.unparse(call.args[0])
                assert not re.match(
                    r"_?(table|answers|mechanisms|protocols|campaigns|periods|windows|changes)\b", named
                ), path
