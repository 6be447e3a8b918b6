"""A page for each command of `sordino`, with every option as `--help` has it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from docs.site.reference.markdown import ORPHAN, index, plain, table
from sordino_server.cli import COMMANDS, load

_LEAD = "Commands of `sordino`, each as `--help` prints it. A command that prints results takes `--json`."


def pages() -> dict[str, str]:
    """One page for each command or group, and one that lists them."""
    made, listed = {}, []
    for name in COMMANDS:
        command = load(name)
        made[f"commands/{name}.md"] = ORPHAN + "\n".join(_page(command, f"sordino {name}"))
        listed.append((name, f"sordino {name}", plain(_first_sentence(command.help or ""))))
    return made | {"commands/index.md": index("Commands", _LEAD, listed)}


def every_command() -> Iterator[tuple[str, Any]]:
    """Each command that takes arguments, by its full name."""
    for name in COMMANDS:
        yield from _leaves(load(name), f"sordino {name}")


def _leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        yield name, command
    for inner, each in getattr(command, "commands", {}).items():
        yield from _leaves(each, f"{name} {inner}")


def _page(command: Any, name: str) -> list[str]:
    if not hasattr(command, "commands"):
        return [f"# {name}", "", *_body(command, name)]
    lines = [f"# {name}", "", *_help(command.help or "")]
    for inner, each in _leaves(command, name):
        lines += [f"## {inner}", "", *_body(each, inner)]
    return lines


def _body(command: Any, name: str) -> list[str]:
    """Usage, help, arguments and options, each in the words that `--help` has for it."""
    context = typer.Context(command, info_name=name)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    lines = ["```text", usage, "```", "", *_help(command.help or "")]
    for kind in ("argument", "option"):
        of_kind = [each.get_help_record(context) for each in command.params if each.param_type_name == kind]
        rows = [(f"`{names}`", plain(meaning)) for names, meaning in filter(None, of_kind)]
        lines += table((kind, "meaning"), rows) if rows else []
    return lines


def _help(text: str) -> list[str]:
    """Paragraphs of a help, whose indented ones are examples."""
    lines: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text.replace("\b\n", "").strip("\n")):
        if paragraph.startswith("    "):
            shown = [line.removeprefix("    ") for line in paragraph.splitlines()]
            lines += ["```sh", *shown, "```", ""]
        else:
            lines += [plain(" ".join(paragraph.split())), ""]
    return lines


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.:])\s", " ".join(text.split()), maxsplit=1)[0].rstrip(".:")
