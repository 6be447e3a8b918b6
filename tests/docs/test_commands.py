"""Commands that pages, scripts and the server's own messages name exist, with every option that is given to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sordino_server.cli import COMMANDS, load

ROOT = Path(__file__).parents[2]
PAGES = (
    ROOT / "README.md",
    ROOT / "docker-compose.yml",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(path for path in (ROOT / "examples").rglob("*") if path.suffix in (".md", ".sh", ".yaml")),
    *sorted((ROOT / "analysis").glob("*.md")),
    ROOT / "deploy" / "prometheus" / "alerts.yml",
)
SOURCES = sorted((ROOT / "server" / "sordino_server").rglob("*.py"))
# A command ends with its line, unless a backslash goes on, or with the code that it is quoted in.
_CALL = re.compile(r"\bsordino (?=[a-z])((?:\\\n|[^\n`])*)")
# What follows is not the command's: a comment, another command, the end of a string of Python.
_END = re.compile(r"\s#|[|;&)<>\"]")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def calls(text: str) -> Iterator[tuple[Any, str]]:
    """Each command that exists, and the rest of the words that it is called with."""
    for found in _CALL.finditer(text):
        words = _END.split(found[1].replace("\\\n", " "))[0]
        name, _, rest = words.partition(" ")
        if name not in COMMANDS:
            continue
        command = load(name)
        while hasattr(command, "commands") and (inner := rest.partition(" "))[0] in command.commands:
            command, rest = command.commands[inner[0]], inner[2]
        yield command, rest


def unknown_options(text: str) -> list[str]:
    """What is given to a command that does not take it."""
    wrong = []
    for command, rest in calls(text):
        known = {"--help"}.union(*(each.opts + each.secondary_opts for each in command.params))
        if hasattr(command, "commands") and _OPTION.search(rest):
            wrong.append(f"{command.name} has no such command: {rest}")
            continue
        wrong += [f"{command.name} {option}" for option in _OPTION.findall(rest) if option not in known]
    return wrong


def unknown_commands(text: str) -> list[str]:
    """Two words in quotes of which the first is a group of commands, and the second none of them."""
    named = re.findall(r"`sordino ([a-z-]+) ([a-z][a-z-]*)(?=[ `])", text)
    groups = {name: getattr(load(name), "commands", None) for name, _ in named if name in COMMANDS}
    return [f"{name} {inner}" for name, inner in named if groups.get(name) and inner not in groups[name]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_option_on_a_page_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not unknown_options(text)
    assert not unknown_commands(text)


def test_every_option_in_a_message_exists() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    assert not unknown_options(text)
    assert not unknown_commands(text)


def test_what_does_not_exist_is_found() -> None:
    assert sum(1 for page in PAGES for _ in calls(page.read_text(encoding="utf-8"))) > 100
    assert unknown_options("run `sordino aggregate --from URL --out sums.cbor`") == ["aggregate --out"]
    assert unknown_options("sordino campaigns closes --json\n") == ["campaigns has no such command: closes --json"]
    assert unknown_commands("`sordino campaigns retry` and `sordino campaigns list`") == ["campaigns retry"]
    assert unknown_options("sordino plan --size 5 \\\n    --epsilons 1 # --none\n") == ["plan --epsilons"]
