"""One process that serves the API on a listening socket, until it is told to stop."""

from __future__ import annotations

import errno
import gc
import math
import os
import resource
import signal
import socket
import time
from types import FrameType

import uvicorn
from starlette.datastructures import State

from sordino_server.cli.output import fail
from sordino_server.config import Settings
from sordino_server.kit.db import Database
from sordino_server.serving.app import create_app
from sordino_server.serving.http_protocol import HttpProtocol
from sordino_server.serving.idle_connections import IdleConnections
from sordino_shared.http.senders import TrustedProxies

_CONNECTIONS_WAITING = 2048
# Each connection is a descriptor, and the usual limit is 1,024. A system that allows more allows this.
_FILES = 65_536
# A request leaves almost no reference cycles; collecting this rarely saves up to a fifth of its time.
_GC_THRESHOLD = 50_000


class ServerProcess:
    """The server of this process; `run` returns when it was stopped."""

    def __init__(self, settings: Settings, database: Database) -> None:
        app = create_app(settings, database)
        config = uvicorn.Config(
            app,
            http=_protocol(settings),
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            # SORDINO_TRUSTED_PROXIES names the trusted proxies, where addresses matter.
            proxy_headers=False,
            timeout_graceful_shutdown=settings.shutdown_s,
        )
        self.metrics = app.state.metrics
        self._server = _Server(config, app.state, settings.drain_s)

    def stop_on_signals(self) -> None:
        """Drain on SIGTERM, end on Ctrl-C; uvicorn raises its stop signal again, which must not end the process."""
        gc.collect()
        gc.freeze()
        gc.set_threshold(_GC_THRESHOLD)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._server.handle_exit)

    def run(self, listener: socket.socket) -> None:
        """Serve until stopped."""
        _allow_files()
        self._server.run(sockets=[listener])

    @staticmethod
    def stop() -> None:
        """As SIGTERM does."""
        os.kill(os.getpid(), signal.SIGTERM)


def _allow_files() -> None:
    """Raise the limit of open files towards _FILES, as far as this process may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _protocol(settings: Settings) -> type[HttpProtocol]:
    """HTTP with the limits of the settings."""
    proxies = TrustedProxies.parse(settings.trusted_proxies)
    limit = IdleConnections(settings.idle_connections, proxies) if settings.idle_connections else None

    class Limited(HttpProtocol):
        idle_connections = limit

    return Limited


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


def listening(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """A listening socket; fails with advice if the port is in use."""
    return _socket(host, port, shared, listens=True)


def reserved(host: str, port: int) -> socket.socket:
    """A socket that holds a shared port and gets no connection."""
    return _socket(host, port, shared=True, listens=False)


def _socket(host: str, port: int, shared: bool, listens: bool) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind, protocol)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            # Processes of the same user may bind it too, and the system spreads connections among them.
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.bind(address)
        if listens:
            made.listen(_CONNECTIONS_WAITING)
    except socket.gaierror:
        fail(f"{host!r} is not an address of this machine; use 127.0.0.1, 0.0.0.0 or a name of this machine", code=2)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            fail(f"port {port} of {host} is in use; stop its process, or use another --port (0: a free one)")
        fail(f"cannot listen on port {port} of {host}: {error.strerror}", code=2)
    return made


def address_of(listener: socket.socket) -> str:
    """http://host:port of a bound socket."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
