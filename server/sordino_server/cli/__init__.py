"""`sordino`: one command a job; every command takes `--json` and says what to do when it fails."""

from __future__ import annotations

import typer

app = typer.Typer(
    name="sordino",
    help="Local-differential-privacy telemetry: plan a mechanism, run the aggregator, read the estimates.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Entry point of the `sordino` command."""
    app()
