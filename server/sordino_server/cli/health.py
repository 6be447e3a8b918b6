"""`sordino health`: whether the server or the worker of this machine is healthy; exit code 0 or 1."""

from __future__ import annotations

from typing import Annotated

import typer

from sordino_server.cli.output import JsonOption, print_json, reports_errors
from sordino_server.kit.health_check import server_health, worker_health


@reports_errors
def health(
    worker: Annotated[
        bool, typer.Option("--worker", help="Ask for a worker, by the age of its last poll of the database.")
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, metavar="PORT", help="Port of the server; default: SORDINO_PORT."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check the server or the worker of this machine; exit code 0 if it is healthy, 1 if not.

    Example:

        sordino health
        sordino health --worker

    The server is asked for /readyz at SORDINO_HOST and SORDINO_PORT. A worker touches SORDINO_HEARTBEAT_FILE after each
    poll of the database and while it computes: one that has not for a minute is not healthy.
    """
    found = worker_health() if worker else server_health(port)
    if as_json:
        print_json({"healthy": found.healthy, "said": found.said})
    else:
        typer.echo(found.said)
    if not found.healthy:
        raise typer.Exit(1)
