"""The transport of every device: the standard library's HTTP/1.1, fixed headers, one deadline for a whole request."""

from __future__ import annotations

import os
import ssl
import time
from contextlib import suppress
from http.client import BadStatusLine, HTTPException, HTTPResponse
from importlib import import_module
from io import BytesIO
from types import MappingProxyType

from sordino_client._errors import TransportFailed, WrongArgument
from sordino_client._transport import DEADLINE_S, Request, Response, check_address, headers_of, too_slow
from sordino_shared.errors import InvalidValue, NoAnswer, OversizedDocument, UnreadableBody
from sordino_shared.http.address import Address
from sordino_shared.http.body import codings_of, read_body
from sordino_shared.http.connection import Connection, Proxy, raw_chunks
from sordino_shared.http.deadline import DeadlinePassed, deadline, time_left

# Servers close a connection that waits for longer; one that is closed already costs a try.
_IDLE_S = 4.0
# What a server that closed a kept connection leaves of a request.
_CLOSED = (BadStatusLine, BrokenPipeError, ConnectionResetError, ConnectionAbortedError)


class HttpTransport:
    """Requests over one kept connection, each within `deadline_s` from its first step to the last byte of its answer.

    `trust` has the authorities of https, the system's where it is left out. `proxy` is `"http://host:port"`, or
    `"environment"` for the one that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name: it learns the server's name. Neither
    redirects nor cookies are followed.
    """

    def __init__(
        self,
        address: str,
        *,
        allow_http: bool = False,
        deadline_s: float = DEADLINE_S,
        trust: ssl.SSLContext | None = None,
        proxy: str | None = None,
    ) -> None:
        self._text = check_address(address, allow_http)
        self._address = Address.parse(self._text)
        self._deadline_s = deadline_s
        self._trust = trust
        self._proxy = _proxy(proxy, self._address)
        # By process, for a forked child must not write to its parent's connection.
        self._kept: dict[int, tuple[Connection, float]] = {}

    def send(self, request: Request) -> Response:
        return self.send_watched(request, [])

    def send_watched(self, request: Request, used: list[Connection]) -> Response:
        """`send`; each connection is added to `used` before it is waited for, so that somebody else may cut it."""
        try:
            with deadline(self._deadline_s):
                return self._exchange(request, used)
        except DeadlinePassed as error:
            raise too_slow(self._text, self._deadline_s) from error

    def _exchange(self, request: Request, used: list[Connection]) -> Response:
        try:
            if (kept := self._take()) is not None:
                # Ids make it harmless that a server may have read the request before it closed the connection.
                with suppress(*_CLOSED):
                    return self._over(kept, request, used)
            return self._over(self._connection(), request, used)
        except (UnreadableBody, NoAnswer) as error:
            raise TransportFailed(f"{self._text}: {error}") from error
        except (OSError, HTTPException, UnicodeError) as error:
            # A wait that the deadline cut ends as a timeout.
            time_left()
            detail = str(error) or type(error).__name__
            raise TransportFailed(
                f"{self._text} did not answer ({detail}); is the address right, and is there a connection?"
            ) from error

    def _connection(self) -> Connection:
        is_plain = self._address.scheme == "http"
        if not is_plain and self._trust is None:
            self._trust = trusted_authorities()
        return Connection(self._address.host, self._address.port, None if is_plain else self._trust, self._proxy)

    def _over(self, connection: Connection, request: Request, used: list[Connection]) -> Response:
        """Whatever goes wrong, the connection is closed: the rest of an answer would be read as the next one."""
        used.append(connection)
        try:
            self._write(connection, request)
            with connection.getresponse() as response:
                found = _read(response, request.limit)
                stays = not response.will_close
        except BaseException:
            connection.close()
            raise
        self._keep(connection) if stays else connection.close()
        return found

    def _write(self, connection: Connection, request: Request) -> None:
        target = self._address.target(request.path)
        headers = {"Host": self._address.authority} | headers_of(request)
        if self._address.scheme == "http" and self._proxy is not None:
            target = f"http://{self._address.authority}{target}"
            headers |= self._proxy.headers()
        connection.putrequest(request.method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        if request.body is not None:
            connection.putheader("Content-Length", str(len(request.body)))
        connection.endheaders(request.body)

    def _take(self) -> Connection | None:
        """The connection that was kept for this process, unless it has waited for too long."""
        connection, since = self._kept.pop(os.getpid(), (None, 0.0))
        if connection is not None and time.monotonic() - since > _IDLE_S:
            connection.close()
            return None
        return connection

    def _keep(self, connection: Connection) -> None:
        # Where two threads send at once, one connection is enough for the next request.
        kept, _ = self._kept.setdefault(os.getpid(), (connection, time.monotonic()))
        if kept is not connection:
            connection.close()

    def close(self) -> None:
        connection, _ = self._kept.pop(os.getpid(), (None, 0.0))
        if connection is not None:
            connection.close()


def _read(response: HTTPResponse, limit: int) -> Response:
    body = BytesIO()
    length = response.length
    if length is not None and length > limit and response.headers.get("content-encoding") is None:
        raise OversizedDocument(length, limit)
    read_body(raw_chunks(response), codings_of(response.headers.get_all("content-encoding", [])), limit, body)
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Response(response.status, MappingProxyType(headers), body.getvalue())


def _proxy(text: str | None, address: Address) -> Proxy | None:
    if text is None:
        return None
    # Imports urllib.request, which few devices need.
    from sordino_shared.http.environment import proxy_at, proxy_for

    try:
        return proxy_for(address) if text == "environment" else proxy_at(text)
    except InvalidValue as error:
        raise WrongArgument(f"proxy is http://host:port or 'environment': {error}", text) from error


def trusted_authorities() -> ssl.SSLContext:
    """A context with authorities: the system's; where it has none, truststore's, else certifi's.

    Python from python.org has none on macOS before its `Install Certificates` was run. Raises `TransportFailed`.
    """
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    if context.get_ca_certs() or paths.cafile or paths.capath:
        return context
    for package in ("truststore", "certifi"):
        try:
            module = import_module(package)
        except ImportError:
            continue
        if package == "certifi":
            return ssl.create_default_context(cafile=module.where())
        found: ssl.SSLContext = module.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        return found
    raise TransportFailed(
        "this machine has no certificate authorities for https: install the package truststore, or certifi"
    )
