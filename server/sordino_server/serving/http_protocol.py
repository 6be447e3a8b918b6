"""How the server speaks HTTP: as uvicorn does, but heads and trailers are limited in size, and heads in time too."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, ClassVar

from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from sordino_server.kit.request_observer import REQUEST_ID, enveloped
from sordino_server.problem_details import problem_response
from sordino_server.serving.idle_connections import IdleConnections
from sordino_shared.protocol import Problem

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

# The slowest phone sends its few hundred bytes in this time; a slower client would hold a connection too long.
HEAD_TIMEOUT_S = 20.0
MAX_HEAD_BYTES = 64 << 10
_ANSWERING = object()


class HttpProtocol(HttpToolsProtocol):
    """One connection; it ends when nothing is being answered and no whole head has come for `head_timeout_s`, or when
    more than MAX_HEAD_BYTES came with neither the end of a head nor a byte of a body: the parser keeps them all.

    By itself uvicorn ends a connection only where not a byte follows an answer. Here each connection is looked at
    twice in `head_timeout_s`, and ends when it is seen to wait for the same head again: a timer a request would cost
    more than everything else about the head. The first head may so take the whole time, and a later one, counted from
    the answer before it, at least half of it.
    """

    head_timeout_s: ClassVar[float] = HEAD_TIMEOUT_S
    # None: as many as there are descriptors.
    idle_connections: ClassVar[IdleConnections | None] = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        # Requests that wait behind another, or are answered before the latest.
        self._earlier: deque[RequestResponseCycle] = deque()
        self._waited_after: object = _ANSWERING
        self._fruitless_bytes = 0
        self._limited: object = None
        self._look_later()
        self._counted_as = None if self.idle_connections is None else self.idle_connections.add(self, self.client)

    def connection_lost(self, exc: Exception | None) -> None:
        self._next_look.cancel()
        if self.idle_connections is not None and self._counted_as is not None:
            self.idle_connections.remove(self, self._counted_as)
        super().connection_lost(exc)
        # uvicorn tells the latest request alone; an earlier one would write to what is closed, and that is an error.
        for cycle in self._earlier:
            cycle.disconnected = True
            cycle.message_event.set()

    def eof_received(self) -> bool:  # type: ignore[override]  # as asyncio has it
        """Whether the connection stays open: a client that sends no more reads the answers to its whole requests.

        Nothing tells it from a client that is gone, which is noticed when something is sent.
        """
        if self.is_idle or self.cycle.more_body:
            return False
        # Of the last request that came; those before it are answered first.
        self.cycle.keep_alive = False
        return True

    def on_headers_complete(self) -> None:
        before = self.cycle
        super().on_headers_complete()
        if before is not None and not before.response_complete:
            while self._earlier and self._earlier[0].response_complete:
                self._earlier.popleft()
            self._earlier.append(before)

    def data_received(self, data: bytes) -> None:
        self._fruitless_bytes += len(data)
        super().data_received(data)
        if self._fruitless_bytes > MAX_HEAD_BYTES:
            self._limit()

    def on_body(self, body: bytes) -> None:
        # What follows in the same piece is not counted, and is no more than one read.
        self._fruitless_bytes = 0
        super().on_body(body)

    def on_chunk_header(self) -> None:
        # Trailers would be put behind the headers: an address, say, that no proxy in front has seen.
        self.headers = []

    def _limit(self) -> None:
        if self.cycle is not self._limited:
            # Some of the bytes were its head; asking at every head would cost more.
            self._limited = self.cycle
            self._fruitless_bytes = 0
        elif not self.transport.is_closing():
            # Not answered: devices take any refusal of their report's size for the report's own.
            self.transport.close()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def close(self) -> None:
        """End the connection; what was answered is sent first."""
        self.transport.close()

    def _look_later(self) -> None:
        self._next_look = self.loop.call_later(self.head_timeout_s / 2, self._look)

    def _look(self) -> None:
        if self.transport.is_closing():
            return
        answered = self.is_idle
        if answered and self.cycle is self._waited_after:
            self._end()
            return
        self._waited_after = self.cycle if answered else _ANSWERING
        self._look_later()

    def _is_within_head(self) -> bool:
        """Whether a head has begun that is not complete: its scope is there already, its cycle is not."""
        return self.scope is not (None if self.cycle is None else self.cycle.scope)

    def _end(self) -> None:
        if self._is_within_head():
            detail = f"the head of the request did not come within {self.head_timeout_s:g} seconds"
            self.transport.write(_whole(problem_response(Problem.REQUEST_TIMEOUT, detail, "")))
        self.transport.close()


def _whole(response: Response) -> bytes:
    """The bytes of an answer to what is no request yet, and so has no id."""
    headers = [header for header in enveloped(response.raw_headers, b"") if header[0] != REQUEST_ID]
    lines = [b"%s: %s\r\n" % header for header in headers]
    return b"".join([STATUS_LINE[response.status_code], *lines, b"\r\n", response.body])
