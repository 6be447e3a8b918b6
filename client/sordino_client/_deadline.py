"""A deadline for a whole blocking request: name, connection, handshake, head and body together.

The timeouts of HTTP libraries restart with every byte, so a server that sends one per second holds a caller for
as long as it likes. Here every wait on the network is cut to what is left of the request's time.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar

import httpcore
import httpx

_end: ContextVar[float | None] = ContextVar("end of the request", default=None)


class DeadlinePassed(Exception):
    """The request took longer than it may."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Everything within that waits on the network of this module ends after `seconds`, by `DeadlinePassed`."""
    token = _end.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _end.reset(token)


def time_left(timeout: float | None = None) -> float | None:
    """Seconds, the shorter of `timeout` and what is left of the deadline; raises `DeadlinePassed` when nothing is."""
    end = _end.get()
    if end is None:
        return timeout
    left = end - time.monotonic()
    if left <= 0:
        raise DeadlinePassed
    return left if timeout is None else min(left, timeout)


class _Stream(httpcore.NetworkStream):
    """A connection whose waits end with the deadline."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, time_left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), 64 << 10):
            self._stream.write(buffer[start : start + (64 << 10)], time_left(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, time_left(timeout)))

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)


class _Network(httpcore.NetworkBackend):
    """Connects to the addresses of a name one after the other, within the deadline for all of them."""

    def __init__(self) -> None:
        self._plain = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        failure: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in _addresses(host, port, time_left(timeout)):
            try:
                return _Stream(
                    self._plain.connect_tcp(address, port, time_left(timeout), local_address, socket_options)
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure


def _addresses(host: str, port: int, timeout: float | None) -> list[str]:
    """The addresses of a name. A resolver takes no time limit, so it is asked in a thread that is not waited for."""
    answer: Future[list[str]] = Future()
    threading.Thread(target=_resolve, args=(host, port, answer), daemon=True, name=f"resolve {host}").start()
    try:
        return answer.result(timeout)
    except TimeoutError as error:
        raise httpcore.ConnectTimeout(f"the name {host} was not resolved in time") from error
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(str(error)) from error


def _resolve(host: str, port: int, answer: Future[list[str]]) -> None:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        answer.set_result([str(address[0]) for *_, address in found])
    except Exception as error:
        answer.set_exception(error)


class DeadlineTransport(httpx.BaseTransport):
    """httpx's own network transport, reduced to HTTP/1.1 without proxies, over connections that obey `deadline`."""

    def __init__(self, trust: ssl.SSLContext) -> None:
        self._pool = httpcore.ConnectionPool(
            ssl_context=trust, max_connections=100, max_keepalive_connections=20, keepalive_expiry=5.0,
            network_backend=_Network(),
        )  # fmt: skip

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = httpcore.URL(
            scheme=request.url.raw_scheme,
            host=request.url.raw_host,
            port=request.url.port,
            target=request.url.raw_path,
        )
        content = request.read()
        with _as_httpx():
            reply = self._pool.handle_request(
                httpcore.Request(
                    request.method, url, headers=request.headers.raw, content=content, extensions=request.extensions
                )
            )
        return httpx.Response(reply.status, headers=reply.headers, stream=_Reply(reply), extensions=reply.extensions)

    def close(self) -> None:
        self._pool.close()


class _Reply(httpx.SyncByteStream):
    """The body of a reply, chunk by chunk."""

    def __init__(self, reply: httpcore.Response) -> None:
        self._reply = reply

    def __iter__(self) -> Iterator[bytes]:
        with _as_httpx():
            yield from self._reply.iter_stream()

    def close(self) -> None:
        self._reply.close()


@contextmanager
def _as_httpx() -> Iterator[None]:
    """What goes wrong below httpx, as httpx says it."""
    try:
        yield
    except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError) as error:
        raise httpx.TransportError(str(error) or type(error).__name__) from error
