"""One request to an untrusted server: bounded in bytes, in memory and in time, inflated at most once."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.client import HTTPException, HTTPResponse
from io import BytesIO
from types import MappingProxyType
from typing import IO

from sordino_shared._records import dataclass, field
from sordino_shared.errors import NoAnswer
from sordino_shared.http.address import Address
from sordino_shared.http.body import codings_of, read_body
from sordino_shared.http.connection import Connection, Proxy, raw_chunks
from sordino_shared.http.deadline import DeadlinePassed, deadline, time_left

# What is no success is a problem document, or the page of a proxy.
MOST_PROBLEM = 1 << 20


@dataclass(frozen=True, kw_only=True)
class HttpRequest:
    """A request: `path` with its query follows the address; the answer has at most `limit` bytes within `within_s`."""

    method: str
    path: str
    limit: int
    within_s: float
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None


@dataclass(frozen=True)
class HttpAnswer:
    """Status, headers by lower-case name, and the whole body in a file at its beginning."""

    status: int
    headers: Mapping[str, str]
    body: IO[bytes]

    @property
    def is_success(self) -> bool:
        """Whether the server did what it was asked for."""
        return 200 <= self.status < 300

    def begins_with(self, start: bytes) -> bool:
        """Whether the body does: what begins as no document of its kind need not be taken into memory."""
        found = self.body.read(len(start))
        self.body.seek(0)
        return found == start

    def content(self) -> bytes:
        """The body in memory; once."""
        with self.body:
            return self.body.read()


@dataclass(frozen=True, kw_only=True)
class HttpServer:
    """A server at an address; each request takes a connection of its own.

    `trust` makes the authorities of https. `room` makes the file that takes a body: where documents are large, one that
    goes to the disk, so that what is refused in the end was never in memory.
    """

    address: Address
    trust: Callable[[], ssl.SSLContext] = ssl.create_default_context
    proxy: Proxy | None = None
    room: Callable[[], IO[bytes]] = BytesIO

    def exchange(self, request: HttpRequest) -> HttpAnswer:
        """The whole answer. No redirect is followed, no cookie kept.

        Raises OversizedDocument past the limit, and NoAnswer for everything else that is no answer in time.
        """
        target = self.address.target(request.path)
        try:
            with deadline(request.within_s):
                return self._spoken(request, target)
        except DeadlinePassed as error:
            raise NoAnswer(f"it took longer than {request.within_s:g} s for one request") from error

    def _spoken(self, request: HttpRequest, target: str) -> HttpAnswer:
        try:
            return self._exchange(request, target)
        except (OSError, HTTPException, UnicodeError) as error:
            # A wait that the deadline cut ends as a timeout.
            time_left()
            raise NoAnswer(str(error) or type(error).__name__) from error

    def _exchange(self, request: HttpRequest, target: str) -> HttpAnswer:
        is_plain = self.address.scheme == "http"
        trust = None if is_plain else self.trust()
        connection = Connection(self.address.host, self.address.port, trust, self.proxy)
        headers = {"Host": self.address.authority, "Connection": "close", "Accept-Encoding": "gzip", **request.headers}
        if is_plain and self.proxy is not None:
            target = f"http://{self.address.authority}{target}"
            headers |= self.proxy.headers()
        try:
            _send(connection, request, target, headers)
            with connection.getresponse() as response:
                return self._answer(response, request)
        finally:
            connection.close()

    def _answer(self, response: HTTPResponse, request: HttpRequest) -> HttpAnswer:
        limit = request.limit if 200 <= response.status < 300 else MOST_PROBLEM
        codings = codings_of(response.headers.get_all("content-encoding", []))
        headers = {name.lower(): value for name, value in response.headers.items()}
        body = self.room()
        try:
            read_body(raw_chunks(response), codings, limit, body)
            body.seek(0)
        except BaseException:
            body.close()
            raise
        return HttpAnswer(response.status, MappingProxyType(headers), body)


def _send(connection: Connection, request: HttpRequest, target: str, headers: Mapping[str, str]) -> None:
    connection.putrequest(request.method, target, skip_host=True, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    if request.content is not None:
        connection.putheader("Content-Length", str(len(request.content)))
    connection.connect()
    # A server that refuses a large body answers before it read everything, and closes.
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.endheaders(request.content)
