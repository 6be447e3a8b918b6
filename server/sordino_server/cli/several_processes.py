"""Several server processes on one port: started, watched, restarted and stopped by one that serves nothing itself."""

from __future__ import annotations

import signal
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from types import FrameType
from typing import Any

from sordino_server.cli.json_lines import announce
from sordino_server.cli.server_process import address_of, listening, reserved
from sordino_server.cli.supervision import Process, start_command, supervised
from sordino_server.config import Settings
from sordino_server.kit.clock import WallClock
from sordino_server.kit.db import Database
from sordino_server.metrics import MULTIPROCESS_FOLDER, MergedMetrics
from sordino_server.public_log.watching import LogMetrics, LogWatch
from sordino_shared.errors import NoAnswer
from sordino_shared.http.address import Address
from sordino_shared.http.exchange import HttpRequest, HttpServer

_READY_CHECK_S, _READY_WITHIN_S = 0.1, 5.0
# Beyond draining and finishing, a process has its pool and its interpreter to take down.
_ENDING_S = 5.0


def serve_several(
    settings: Settings,
    database: Database,
    place: tuple[str, int],
    processes: int,
    worker: AbstractContextManager[Any],
) -> None:
    """Serve at (host, port) by so many processes until SIGTERM, which lets each of them drain.

    Ctrl-C and a second signal end each of them without that.
    """
    # Another server of this user would share the port silently; binding it alone first fails where there is one.
    with listening(*place) as alone:
        host, port = alone.getsockname()[:2]
    with ExitStack() as stack:
        # Holds the port while processes come and go; without listening it gets no connection.
        listener = stack.enter_context(reserved(host, port))
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="sordino-metrics-"))
        metrics = MergedMetrics(database, folder, settings.raw_report_retention_days)
        metrics.registry.register(LogMetrics(LogWatch(database, WallClock(), settings)))
        stack.enter_context(metrics.served(settings.metrics_host, settings.metrics_port))
        stack.enter_context(worker)
        command = ["serve", "--host", host, "--port", str(port), "--no-worker", "--no-migrate"]
        environment = {MULTIPROCESS_FOLDER: folder, "SORDINO_METRICS_PORT": "0"}
        serving = _Serving(partial(start_command, command, environment), metrics)
        stop = _stop_on_signals(serving)
        longest = settings.drain_s + settings.shutdown_s + _ENDING_S
        ends = [
            stack.enter_context(supervised("server process", serving.start, longest, ended=serving.forget))
            for _ in range(processes)
        ]
        if _answers(address_of(listener), stop):
            announce(f"sordino is listening on {address_of(listener)}", address=address_of(listener))
        stop.wait()
        # All at once: one after the other each would drain in its own time.
        for end in ends:
            end.set()


class _Serving:
    """The processes that serve now."""

    def __init__(self, start: Callable[[], Process], metrics: MergedMetrics) -> None:
        self._start = start
        self._metrics = metrics
        self._running: dict[int, Process] = {}

    def start(self) -> Process:
        """One more."""
        process = self._start()
        self._running[process.pid] = process
        return process

    def forget(self, process: Process) -> None:
        """Leave out one that died."""
        self._running.pop(process.pid, None)
        self._metrics.forget(process.pid)

    def end_now(self) -> None:
        """Let none of them drain."""
        for process in tuple(self._running.values()):
            process.send_signal(signal.SIGINT)


def _stop_on_signals(serving: _Serving) -> threading.Event:
    stop = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT or stop.is_set():
            serving.end_now()
        stop.set()

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, handle)
    return stop


def _answers(address: str, stop: threading.Event) -> bool:
    """Wait until a process answers; False where the server is stopped before."""
    server = HttpServer(address=Address.parse(address))
    while not stop.is_set():
        try:
            server.exchange(HttpRequest(method="GET", path="/livez", limit=1024, within_s=_READY_WITHIN_S))
        except NoAnswer:
            time.sleep(_READY_CHECK_S)
        else:
            return True
    return False
