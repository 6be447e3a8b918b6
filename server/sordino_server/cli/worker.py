"""`sordino worker`: compute plans and estimates in the background."""

from __future__ import annotations

import signal
import threading
from contextlib import AbstractContextManager, nullcontext
from types import FrameType
from typing import Annotated, Any

import typer

from sordino_server.cli.json_lines import LogAsJsonOption, log_as_json
from sordino_server.cli.output import reports_errors
from sordino_server.cli.processes import prepare_schema, started
from sordino_server.cli.supervision import stop_without
from sordino_server.config import Settings
from sordino_server.jobs.log_keeper import LogKeeper
from sordino_server.jobs.planning_process import PlanningProcess
from sordino_server.jobs.pulse import Pulse
from sordino_server.jobs.search_process import SearchProcess
from sordino_server.jobs.worker import Worker
from sordino_server.jobs.worker_metrics import WorkerMetrics
from sordino_server.kit.clock import WallClock
from sordino_server.kit.db import Database


@reports_errors
def worker(
    parent: Annotated[
        int | None, typer.Option(hidden=True, help="Stop when this process is no longer the parent.")
    ] = None,
    as_json: LogAsJsonOption = False,
) -> None:
    """Compute plans and estimates in the background until stopped (SIGTERM).

    Any number of workers may run. If a worker is killed, another one takes over its work when the lease expires.
    """
    if as_json:
        log_as_json()
    settings, database = started()
    prepare_schema(database, migrate=False)
    metrics = WorkerMetrics(database, kept=settings.raw_report_retention_days)
    if settings.worker_metrics_port:
        # Imported here: most workers serve no metrics.
        from sordino_server.public_log.watching import LogMetrics, LogWatch

        metrics.registry.register(LogMetrics(LogWatch(database, WallClock(), settings)))
    work = _work(settings, database, metrics)
    _stop_on_signals(work.stop)
    if parent is not None:
        stop_without(parent, work.stop.set)
    with metrics.served(settings.metrics_host, settings.worker_metrics_port), _keeping_log(settings, database):
        work.run()
    database.close()


def _work(settings: Settings, database: Database, metrics: WorkerMetrics) -> Worker:
    """The worker that the settings are for: of a collector, or of a server that decides."""
    pulse = Pulse(settings.heartbeat_file)
    if settings.collecting is not None:
        # Imported here: a worker that decides talks to no other server.
        from sordino_server.collecting.home import Home
        from sordino_server.jobs.collector import Collector

        home = Home(settings.collecting.home)
        return Collector.for_home(home, database, WallClock(), settings, metrics.finished, pulse)
    planner = PlanningProcess(settings.planning_memory_mb, settings.planning_time_limit_s)
    search = SearchProcess(settings.search_memory_mb, settings.search_time_limit_s)
    return Worker.of(database, WallClock(), settings, planner.compute, metrics.finished, pulse, search)


def _keeping_log(settings: Settings, database: Database) -> AbstractContextManager[Any]:
    if settings.log == "off" or settings.collecting is not None:
        return nullcontext()
    # Its own connections: a log that waits for a witness or a lock keeps no plan or estimate waiting.
    return LogKeeper(database, WallClock(), settings).running()


def _stop_on_signals(stop: threading.Event) -> None:
    def handle(number: int, frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, handle)
    signal.signal(signal.SIGINT, handle)
