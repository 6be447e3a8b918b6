"""`sordino serve`: the API and, by default, one worker."""

from __future__ import annotations

import os
import socket
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, Any

import typer

from sordino_server.cli.json_lines import LogAsJsonOption, announce, log_as_json
from sordino_server.cli.kept_defaults import warn_at_start
from sordino_server.cli.output import reports_errors
from sordino_server.cli.processes import prepare_log, prepare_schema, started
from sordino_server.cli.server_process import ServerProcess, address_of, listening
from sordino_server.cli.supervision import start_command, stop_without, supervised
from sordino_server.config import Settings
from sordino_server.kit.db import Database
from sordino_server.people.installed import check_installed
from sordino_shared.errors import InvalidValue

CollectForOption = Annotated[
    str | None,
    typer.Option(
        metavar="HOME",
        help="Only collect reports for the server at this address, with the keys of the settings; default: "
        "SORDINO_COLLECT_FOR.",
    ),
]
CollectorSourceOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="With --collect-for: this server's name in manifests; default: SORDINO_SOURCE."),
]


def set_collector(collect_for: str | None, source: str | None) -> None:
    """Make the options settings of this process and of those that it starts."""
    for setting, value in (("SORDINO_COLLECT_FOR", collect_for), ("SORDINO_SOURCE", source)):
        if value is not None:
            os.environ[setting] = value


@reports_errors
def serve(
    host: Annotated[
        str | None, typer.Option(metavar="HOST", help="Address to listen on; default: SORDINO_HOST.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, metavar="PORT", help="Port, 0 for a free one; default: SORDINO_PORT."),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(min=1, max=1024, metavar="N", help="Processes that serve; default: SORDINO_PROCESSES."),
    ] = None,
    with_worker: Annotated[
        bool, typer.Option("--worker/--no-worker", help="Also run a worker, and restart it if it dies.")
    ] = True,
    migrate: Annotated[
        bool, typer.Option("--migrate/--no-migrate", help="Migrate an SQLite database at start.")
    ] = True,
    collect_for: CollectForOption = None,
    source: CollectorSourceOption = None,
    parent: Annotated[
        int | None, typer.Option(hidden=True, help="Serve as one of several, and stop without this parent.")
    ] = None,
    as_json: LogAsJsonOption = False,
) -> None:
    """Serve the API, with one worker, until stopped (SIGTERM or Ctrl-C).

    Example:

        sordino serve --port 8000

    The command prints its address on standard output when it accepts connections.

    After SIGTERM, /readyz fails and the server ends SORDINO_DRAIN_S seconds later; Ctrl-C or a second signal ends it
    immediately. Accepted uploads are written first. Several processes need PostgreSQL; one that dies is started again.
    """
    set_collector(collect_for, source)
    if as_json:
        log_as_json()
    settings, database = started()
    if host is not None:
        # Whether other machines reach the server decides what it takes for granted.
        settings = settings.model_copy(update={"host": host})
    number = 1 if parent else _processes(processes or settings.processes, database)
    prepare_schema(database, migrate)
    if not parent:
        _prepare(settings, database)
    place = settings.host, settings.port if port is None else port
    worker = _worker(settings) if with_worker else nullcontext()
    if parent is not None:
        _serve_as_one_of_several(settings, database, listening(*place, shared=True), parent)
    elif number > 1:
        # Imported here: one process watches no others.
        from sordino_server.cli.several_processes import serve_several

        serve_several(settings, database, place, number, worker)
    else:
        _serve_alone(settings, database, listening(*place), worker)
    database.close()


def _prepare(settings: Settings, database: Database) -> None:
    """What the first process does once: checks, warnings and the public log."""
    check_installed(settings)
    warn_at_start(settings, database)
    prepare_log(settings, database)


def _processes(number: int, database: Database) -> int:
    """The number of processes; raises InvalidValue for several on SQLite."""
    if number > 1 and database.is_sqlite:
        raise InvalidValue(
            f"--processes {number} needs PostgreSQL: SQLite takes one writer at a time, so a second process would wait "
            "for the first; set SORDINO_DATABASE_URL, or serve with one process",
            number,
        )
    return number


def _serve_alone(
    settings: Settings, database: Database, listener: socket.socket, worker: AbstractContextManager[Any]
) -> None:
    server = ServerProcess(settings, database)
    server.stop_on_signals()
    with listener, server.metrics.served(settings.metrics_host, settings.metrics_port), worker:
        announce(f"sordino is listening on {address_of(listener)}", address=address_of(listener))
        server.run(listener)


def _serve_as_one_of_several(settings: Settings, database: Database, listener: socket.socket, parent: int) -> None:
    server = ServerProcess(settings, database)
    server.stop_on_signals()
    stop_without(parent, server.stop)
    with listener:
        server.run(listener)


def _worker(settings: Settings) -> AbstractContextManager[Any]:
    return supervised("worker", lambda: start_command(["worker"]), settings.shutdown_s)
