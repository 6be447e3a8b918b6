"""`tool telemetry show|on|off|preview` for click, typer and argparse, none of which the SDK brings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sordino_client._errors import ClientError

if TYPE_CHECKING:
    from sordino_client.consent._telemetry import Telemetry

_HELP = {
    "telemetry": "Show and decide what is reported.",
    "show": "Show whether telemetry is on and why, what it asks, and all that was sent.",
    "on": "Agree to the campaigns of this version.",
    "off": "Leave all campaigns: what waits is deleted. Nothing tells the server.",
    "preview": "Show what an answer would send; nothing is spent or sent.",
}


@contextmanager
def _ending() -> Iterator[None]:
    """End the command with the sentence of an error and exit code 1, in click, typer and argparse alike."""
    try:
        yield
    except ClientError as error:
        raise SystemExit(str(error)) from None


def shown(telemetry: Telemetry, as_json: bool) -> str:
    """What `show` prints."""
    with _ending():
        return json.dumps(telemetry.account(), indent=2) if as_json else telemetry.show()


def decided(telemetry: Telemetry, on: bool) -> str:
    """What `on` and `off` do and print: a choice that the environment holds back is kept, and said to be so."""
    from sordino_client.consent._words import told

    with _ending():
        state = telemetry.turn_on() if on else telemetry.turn_off()
    said = told(telemetry.tool, state)
    if on and not state.on:
        return f"Your choice is kept. {said}"
    return said


def previewed(telemetry: Telemetry, name: str | None, value: str | None) -> str:
    """What `preview` prints: of one campaign, or of each."""
    found = []
    for each in [name] if name is not None else telemetry.campaigns:
        try:
            said = telemetry.preview(each) if value is None else telemetry.preview(each, value)
            found.append(f"{each}\n{said}")
        except ClientError as error:
            found.append(f"{each}\n{error}")
    return "\n\n".join(found)


def click_group(telemetry: Telemetry) -> Any:
    """The group, for `cli.add_command(telemetry.click_group())`."""
    import click

    group = click.Group("telemetry", help=_HELP["telemetry"])
    as_json = click.Option(["--json", "as_json"], is_flag=True, help="The account as JSON.")
    arguments = [click.Argument(["name"], required=False), click.Argument(["value"], required=False)]
    callbacks: dict[str, tuple[Any, list[Any]]] = {
        "show": (lambda as_json: click.echo(shown(telemetry, as_json)), [as_json]),
        "on": (lambda: click.echo(decided(telemetry, True)), []),
        "off": (lambda: click.echo(decided(telemetry, False)), []),
        "preview": (lambda name, value: click.echo(previewed(telemetry, name, value)), arguments),
    }
    for name, (callback, parameters) in callbacks.items():
        group.add_command(click.Command(name, callback=callback, params=parameters, help=_HELP[name]))
    return group


def typer_app(telemetry: Telemetry) -> Any:
    """The typer app."""
    import typer

    app = typer.Typer(help=_HELP["telemetry"], no_args_is_help=True)

    def show(as_json: bool = typer.Option(False, "--json", help="The account as JSON.")) -> None:
        typer.echo(shown(telemetry, as_json))

    def on() -> None:
        typer.echo(decided(telemetry, True))

    def off() -> None:
        typer.echo(decided(telemetry, False))

    def preview(name: str = typer.Argument(""), value: str = typer.Argument("")) -> None:
        typer.echo(previewed(telemetry, name or None, value or None))

    # typer reads annotations by their names in this module, where `typer` is none.
    for command in (show, on, off, preview):
        command.__annotations__ = {
            name: bool if name == "as_json" else str for name in command.__annotations__ if name != "return"
        }
        app.command(command.__name__, help=_HELP[command.__name__])(command)
    return app


def add_argparse(telemetry: Telemetry, subparsers: Any) -> None:
    """A parser `telemetry` whose arguments have a `run` that prints and returns the exit code 0."""
    parser = subparsers.add_parser("telemetry", help=_HELP["telemetry"], description=_HELP["telemetry"])
    commands = parser.add_subparsers(dest="telemetry_command", required=True)
    steps: dict[str, Any] = {
        "show": lambda given: shown(telemetry, given.json),
        "on": lambda given: decided(telemetry, True),
        "off": lambda given: decided(telemetry, False),
        "preview": lambda given: previewed(telemetry, given.name, given.value),
    }
    for name, step in steps.items():
        command = commands.add_parser(name, help=_HELP[name], description=_HELP[name])
        command.set_defaults(run=lambda given, step=step: print(step(given)) or 0)
        if name == "show":
            command.add_argument("--json", action="store_true", help="The account as JSON.")
        if name == "preview":
            command.add_argument("name", nargs="?")
            command.add_argument("value", nargs="?")
