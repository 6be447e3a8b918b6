"""A request's body as it comes: counted and hashed, in memory while it is small, else in a file that goes with it.

An answer before the whole body came ends the connection: otherwise the rest would have to be read and thrown away.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Self

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sordino_server.errors import ServerError
from sordino_shared.protocol import Problem

# As much as any order of an operator takes but for tables of numbers; more than this is kept in a file.
SMALL_LIMIT = 64 << 10
# As for reports: a slower client would hold a connection too long.
TIMEOUT_S = 60.0


class ArrivingBody:
    """At most `limit` bytes that come within `timeout_s`; more than `in_memory` are in a file until it is closed.

    Bytes are counted as they come, since a chunked body declares no length and a declared one may lie; one that
    declares too much is refused before a byte of it is read.
    """

    def __init__(self, limit: int, timeout_s: float = TIMEOUT_S, *, in_memory: int = SMALL_LIMIT) -> None:
        self._limit = limit
        self._in_memory = in_memory
        self._timeout_s = timeout_s
        self._digest = hashlib.sha256()
        self._content = bytearray()
        self._file: IO[bytes] | None = None
        self.size = 0

    @property
    def sha256(self) -> str:
        """The digest of what has come."""
        return self._digest.hexdigest()

    @property
    def content(self) -> bytes | Path:
        """What has come: its bytes, or the file that has them."""
        if self._file is None:
            return bytes(self._content)
        self._file.flush()
        return Path(self._file.name)

    @classmethod
    @asynccontextmanager
    async def of(cls, request: Request, limit: int, *, in_memory: int = SMALL_LIMIT) -> AsyncIterator[Self]:
        """The whole body of a request, up to `limit` bytes, until the block ends; `in_memory` is in bytes, as above."""
        arrived = cls(limit, in_memory=in_memory)
        try:
            await arrived.read(request.receive, request.headers.get("content-length"))
            yield arrived
        finally:
            arrived.close()

    async def read(self, receive: Receive, declared: str | None) -> None:
        """Take all of it; raises `too-large`, `request-timeout`, or `malformed-body` where the sender goes away."""
        if declared is not None and declared.isdecimal() and int(declared) > self._limit:
            raise self._too_large()
        try:
            async with asyncio.timeout(self._timeout_s):
                while self._take(await receive()):
                    pass
        except TimeoutError as error:
            raise ServerError(
                Problem.REQUEST_TIMEOUT, f"the body did not come within {self._timeout_s:g} seconds"
            ) from error

    def close(self) -> None:
        """Forget the bytes, and the file if there is one."""
        if self._file is not None:
            self._file.close()
            os.unlink(self._file.name)
            self._file = None

    def _take(self, message: Message) -> bool:
        """Whether more is to come after this."""
        if message["type"] == "http.disconnect":
            raise ServerError(Problem.MALFORMED_BODY, "the body broke off")
        part: bytes = message.get("body", b"")
        self.size += len(part)
        if self.size > self._limit:
            raise self._too_large()
        self._digest.update(part)
        if self._file is None and self.size > self._in_memory:
            self._file = tempfile.NamedTemporaryFile(prefix="sordino-body-", delete=False)  # noqa: SIM115
            self._file.write(self._content)
            self._content.clear()
        if self._file is None:
            self._content += part
        else:
            self._file.write(part)
        return bool(message.get("more_body", False))

    def _too_large(self) -> ServerError:
        return ServerError(Problem.TOO_LARGE, f"the body may have {self._limit} bytes here; send less at once")


_CLOSE = (b"connection", b"close")


class UnreadBody:
    """ASGI middleware that adds `Connection: close` to answers that come before the end of a body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _has_body(scope):
            await self._app(scope, receive, send)
            return
        whole = False

        async def received() -> Message:
            nonlocal whole
            message = await receive()
            whole = not message.get("more_body", False)
            return message

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and not whole:
                kept = [header for header in message.get("headers", ()) if header[0].lower() != _CLOSE[0]]
                message["headers"] = [*kept, _CLOSE]
            await send(message)

        await self._app(scope, received, sent)


def _has_body(scope: Scope) -> bool:
    headers = dict(scope["headers"])
    return headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
