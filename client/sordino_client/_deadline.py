"""httpx over connections that obey the deadline of the whole request: name, connection, handshake, head and body."""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import httpcore
import httpx

from sordino_shared.http.deadline import addresses, time_left


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
        for address in _resolved(host, port, timeout):
            try:
                return _Stream(
                    self._plain.connect_tcp(address, port, time_left(timeout), local_address, socket_options)
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure


def _resolved(host: str, port: int, timeout: float | None) -> list[str]:
    try:
        return addresses(host, port, time_left(timeout))
    except TimeoutError as error:
        raise httpcore.ConnectTimeout(str(error)) from error
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(str(error)) from error


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
