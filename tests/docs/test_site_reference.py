"""Generated pages have the whole program: every command and option, operation, public name and error code."""

from __future__ import annotations

import json
import re
from importlib import import_module

import pytest
import typer

from docs.site.contents import DOCS
from docs.site.nitpicks import _WITHOUT_ENTRY
from docs.site.reference import commands, http, markdown, problems, python
from sordino_server.cli import COMMANDS
from sordino_shared.protocol import Problem


@pytest.fixture(scope="module")
def command_pages() -> dict[str, str]:
    return commands.pages()


def test_every_command_and_option_is_on_its_page(command_pages: dict[str, str]) -> None:
    found = list(commands.every_command())
    assert len(found) > 60
    missing = []
    for name, command in found:
        text = command_pages[f"commands/{name.split()[1]}.md"]
        options = [option for each in command.params if not each.hidden for option in each.opts if option[:1] == "-"]
        missing += [f"{name} {option}" for option in options if option not in text]
        missing += [] if f"\n{name} [OPTIONS]" in text or not options else [name]
    assert missing == []


def test_the_list_of_commands_says_what_each_does(command_pages: dict[str, str]) -> None:
    lines = [line for line in command_pages["commands/index.md"].splitlines() if line.startswith("- ")]
    assert len(lines) == len(COMMANDS)
    assert all(": " in line for line in lines)


def test_a_page_has_the_words_of_the_help() -> None:
    """A command whose help changes has another page: nothing is kept from before."""
    app = typer.Typer()

    @app.command()
    def count(path: str, most: int = typer.Option(3, help="Most <lines> that are read.")) -> None:
        """Count lines.

        Example:

            count file | sort
        """

    text = "\n".join(commands._body(typer.main.get_command(app), "count"))
    assert "Count lines.\n\nExample:\n\n```sh\ncount file | sort\n```" in text
    assert re.search(
        r"^\| `--most \S+` \| Most \\<lines\\> that are read\. +\\\[default: 3\\\] \|$", text, re.MULTILINE
    )


def test_every_operation_is_on_a_page() -> None:
    text = "".join(http.pages().values())
    paths = json.loads((DOCS / "openapi.json").read_text(encoding="utf-8"))["paths"]
    operations = [f"## {method.upper()} {markdown.plain(path)}\n" for path, each in paths.items() for method in each]
    assert len(operations) > 70
    assert [each for each in operations if each not in text] == []


def test_every_error_code_has_an_anchor() -> None:
    text = problems.pages()["problems.md"]
    assert all(f'<span id="problem-{each.slug}"></span>' in text for each in Problem)
    assert all(f'<span id="{code}"></span>' in text for code in ("plan-refused", "invalid-value", "sordino-error"))
    assert text.count('<span id="') == len(set(text.split('<span id="'))) - 1


def test_every_public_name_is_on_the_page_of_its_package() -> None:
    pages = python.pages()
    names = python.public_names()
    assert len(names) > 100
    for name in names:
        package = name.rpartition(".")[0]
        assert f":: {name}\n" in pages[f"python/{package}.md"]


def test_every_type_without_an_entry_exists() -> None:
    """A name that is no more would hide a broken reference."""
    places = ("sordino_shared.protocol", "sordino_shared.domains")
    named = {name for place in places for name in vars(import_module(place))}
    for name in (name for names in _WITHOUT_ENTRY.values() for name in names if "." in name):
        module, _, last = name.rpartition(".")
        assert hasattr(import_module(module), last), name
    plain = [name for names in _WITHOUT_ENTRY.values() for name in names if "." not in name]
    assert plain
    assert [name for name in plain if name not in named] == []


def test_a_cell_and_prose_of_the_program_mean_themselves() -> None:
    assert markdown.table(("a",), [("x | y\nz",)])[2] == "| x \\| y z |"
    assert markdown.plain("<id> and `a*b` *c*") == "\\<id\\> and `a*b` \\*c\\*"
