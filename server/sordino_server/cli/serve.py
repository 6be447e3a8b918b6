"""`sordino serve`: the API and, by default, one worker."""

from __future__ import annotations

import errno
import gc
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated

import structlog
import typer
import uvicorn
from starlette.datastructures import State

from sordino_server.cli.output import fail, progress_console, reports_errors
from sordino_server.cli.processes import prepare_schema, started
from sordino_server.serving.app import create_app
from sordino_server.serving.http_protocol import HttpProtocol

log = structlog.get_logger(__name__)

# Backoff between restarts of a worker that keeps dying, up to this pause.
_LONGEST_PAUSE_S = 30.0
_FIRST_PAUSE_S = 0.5
_CONNECTIONS_WAITING = 2048
# A request leaves almost no reference cycles; collecting this rarely saves up to a fifth of its time.
_GC_THRESHOLD = 50_000


@reports_errors
def serve(
    host: Annotated[
        str | None, typer.Option(metavar="HOST", help="Address to listen on; default: SORDINO_HOST.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, metavar="PORT", help="Port, 0 for a free one; default: SORDINO_PORT."),
    ] = None,
    with_worker: Annotated[
        bool, typer.Option("--worker/--no-worker", help="Also run a worker, and restart it if it dies.")
    ] = True,
    migrate: Annotated[
        bool, typer.Option("--migrate/--no-migrate", help="Migrate an SQLite database at start.")
    ] = True,
) -> None:
    """Serve the API, with one worker, until stopped (SIGTERM or Ctrl-C).

    Example:

        sordino serve --port 8000

    The command prints its address on standard output when it accepts connections.

    After SIGTERM, /readyz fails and the server ends SORDINO_DRAIN_S seconds later; Ctrl-C or a second signal ends it
    immediately. Accepted uploads are written first.
    """
    settings, database = started()
    prepare_schema(database, migrate)
    listener = _listen(host or settings.host, settings.port if port is None else port)
    app = create_app(settings, database)
    config = uvicorn.Config(
        app,
        http=HttpProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        # SORDINO_TRUSTED_PROXIES names the trusted proxies, where addresses matter.
        proxy_headers=False,
        timeout_graceful_shutdown=settings.shutdown_s,
    )
    server = _Server(config, app.state, settings.drain_s)
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GC_THRESHOLD)
    for number in (signal.SIGTERM, signal.SIGINT):
        # uvicorn raises its stop signal again when it ends; this process must still stop its worker.
        signal.signal(number, server.handle_exit)
    shown_metrics = app.state.metrics.served(settings.metrics_host, settings.metrics_port)
    with listener, shown_metrics, _supervised_worker(with_worker, settings.shutdown_s):
        bound_host, bound_port = listener.getsockname()[:2]
        shown = f"[{bound_host}]" if ":" in bound_host else bound_host
        typer.echo(f"sordino is listening on http://{shown}:{bound_port}")
        server.run(sockets=[listener])
    database.close()


class _Server(uvicorn.Server):
    """Accepts connections for `drain_s` more seconds after SIGTERM while /readyz fails, so that load balancers move
    traffic away first. Ctrl-C and a second signal close the listener immediately; accepted requests are answered.
    """

    def __init__(self, config: uvicorn.Config, state: State, drain_s: float) -> None:
        super().__init__(config)
        self._state = state
        self._drain_s = drain_s
        self._closes_at = math.inf

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if sig == signal.SIGTERM and not self._state.draining:
            self._closes_at = time.monotonic() + self._drain_s
        else:
            super().handle_exit(sig, frame)
        self._state.draining = True

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) or time.monotonic() >= self._closes_at


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket, bound before anything else starts; fails with advice if the port is in use."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_CONNECTIONS_WAITING)
    except socket.gaierror:
        fail(f"{host!r} is not an address of this machine; use 127.0.0.1, 0.0.0.0 or a name of this machine", code=2)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            fail(f"port {port} of {host} is in use; stop its process, or use another --port (0: a free one)")
        fail(f"cannot listen on port {port} of {host}: {error.strerror}", code=2)
    return listener


@contextmanager
def _supervised_worker(wanted: bool, shutdown_s: int) -> Iterator[None]:
    """Run a worker process during the block; restart it when it dies."""
    if not wanted:
        yield
        return
    done = threading.Event()
    supervisor = threading.Thread(target=_supervise, args=(done, shutdown_s), name="worker-supervisor")
    supervisor.start()
    try:
        yield
    finally:
        done.set()
        supervisor.join()


def _supervise(done: threading.Event, shutdown_s: int) -> None:
    pause = _FIRST_PAUSE_S
    while not done.is_set():
        process = _start_worker()
        while process.poll() is None and not done.wait(_FIRST_PAUSE_S):
            pass
        if done.is_set():
            _stop(process, shutdown_s)
            return
        log.error("the worker died and is restarted", exit_code=process.returncode, pause_s=pause)
        done.wait(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_S)


def _start_worker() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "sordino_server", "worker", "--parent", str(os.getpid())]
    # In its own session: Ctrl-C reaches only the server, which then stops the worker in order.
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno(), start_new_session=True)


def _stop(process: subprocess.Popen[bytes], shutdown_s: int) -> None:
    process.terminate()
    try:
        process.wait(timeout=shutdown_s)
    except subprocess.TimeoutExpired:
        progress_console.print("the worker does not stop and is killed; the next worker takes over its work")
        process.kill()
        process.wait()
