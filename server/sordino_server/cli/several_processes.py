"""Several server processes on one port: started, watched, restarted and stopped by one that serves nothing itself."""

from __future__ import annotations

import signal
import tempfile
import threading
import time
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from types import FrameType
from typing import Any

import httpx
import typer

from sordino_server.cli.server_process import address_of, listening, reserved
from sordino_server.cli.supervision import Process, start_command, supervised
from sordino_server.config import Settings
from sordino_server.kit.db import Database
from sordino_server.metrics import MULTIPROCESS_FOLDER, MergedMetrics

_READY_CHECK_S = 0.1
# Beyond draining and finishing, a process has its pool and its interpreter to take down.
_ENDING_S = 5.0


def serve_several(
    settings: Settings,
    database: Database,
    place: tuple[str, int],
    processes: int,
    worker: AbstractContextManager[Any],
) -> None:
    """Serve at (host, port) by so many processes until SIGTERM, which lets each of them drain, or Ctrl-C."""
    # Another server of this user would share the port silently; binding it alone first fails where there is one.
    with listening(*place) as alone:
        host, port = alone.getsockname()[:2]
    with ExitStack() as stack:
        # Holds the port while processes come and go; without listening it gets no connection.
        listener = stack.enter_context(reserved(host, port))
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="sordino-metrics-"))
        metrics = MergedMetrics(database, folder)
        stack.enter_context(metrics.served(settings.metrics_host, settings.metrics_port))
        stack.enter_context(worker)
        stop = _stop_on_signals()
        command = ["serve", "--host", host, "--port", str(port), "--no-worker", "--no-migrate"]
        start = partial(start_command, command, {MULTIPROCESS_FOLDER: folder, "SORDINO_METRICS_PORT": "0"})
        longest = settings.drain_s + settings.shutdown_s + _ENDING_S
        ends = [
            stack.enter_context(supervised("server process", start, longest, ended=_forgotten_by(metrics)))
            for _ in range(processes)
        ]
        if _answers(address_of(listener), stop):
            typer.echo(f"sordino is listening on {address_of(listener)}")
        stop.wait()
        # All at once: one after the other each would drain in its own time.
        for end in ends:
            end.set()


def _forgotten_by(metrics: MergedMetrics) -> Any:
    def ended(process: Process) -> None:
        metrics.forget(process.pid)

    return ended


def _stop_on_signals() -> threading.Event:
    stop = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        stop.set()

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, handle)
    return stop


def _answers(address: str, stop: threading.Event) -> bool:
    """Wait until a process answers; False where the server is stopped before."""
    while not stop.is_set():
        try:
            httpx.get(f"{address}/livez", trust_env=False)
        except httpx.TransportError:
            time.sleep(_READY_CHECK_S)
        else:
            return True
    return False
