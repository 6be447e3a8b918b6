"""`sordino`: one command a job; every command takes `--json` and says what to do when it fails."""

from __future__ import annotations

import typer

from sordino_server.cli import campaigns, db, keys
from sordino_server.cli.audit import audit
from sordino_server.cli.demo import demo
from sordino_server.cli.plan import plan
from sordino_server.cli.serve import serve
from sordino_server.cli.simulate import simulate
from sordino_server.cli.worker import worker

app = typer.Typer(
    name="sordino",
    help="Local-differential-privacy telemetry: plan a mechanism, run the aggregator, read the estimates.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

app.add_typer(campaigns.app)
app.add_typer(db.app)
app.add_typer(keys.app)
app.command()(audit)
app.command()(demo)
app.command()(plan)
app.command()(serve)
app.command()(simulate)
app.command()(worker)


def main() -> None:
    """Entry point of the `sordino` command."""
    app()
