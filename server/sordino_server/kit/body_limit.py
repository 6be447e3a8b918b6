"""No request body grows beyond a limit or takes for ever, whatever its headers say, nor grows far without a key."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# As much as any order of an operator takes but for tables of numbers. A body is parsed before its sender is known, and
# parsing 16 MiB of JSON stops everything else for a second.
UNKNOWN_LIMIT = 64 << 10

# As for reports: whoever is slower holds a connection, and not for ever.
TIMEOUT_S = 60.0

IsKnown = Callable[[Scope], Awaitable[bool]]


class BodyLimit:
    """ASGI middleware: reading a body beyond `limit` bytes raises HTTPException(413) inside the endpoint, beyond
    `UNKNOWN_LIMIT` HTTPException(401) unless the sender `is_known`, and after `timeout_s` HTTPException(408).

    Bytes are counted as they come, since a chunked body declares no length and a declared one may lie.
    """

    def __init__(self, app: ASGIApp, limit: int, is_known: IsKnown, timeout_s: float = TIMEOUT_S) -> None:
        self._app = app
        self._limit = limit
        self._is_known = is_known
        self._timeout_s = timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        await self._app(scope, self._counting(scope, receive), send)

    def _counting(self, scope: Scope, receive: Receive) -> Receive:
        taken, known, whole = 0, False, False
        end = asyncio.get_running_loop().time() + self._timeout_s

        async def counted() -> Message:
            nonlocal taken, known, whole
            if whole:
                # Only the end of the connection is still to come.
                return await receive()
            message = await self._in_time(receive, end)
            taken += len(message.get("body", b""))
            whole = not message.get("more_body", False)
            if taken > self._limit:
                raise HTTPException(413, f"the body has more than {self._limit} bytes; send less at once")
            if taken > UNKNOWN_LIMIT and not known:
                known = await self._is_known(scope)
                if not known:
                    raise HTTPException(
                        401, f"a body of more than {UNKNOWN_LIMIT} bytes is taken with a valid key only"
                    )
            return message

        return counted

    async def _in_time(self, receive: Receive, end: float) -> Message:
        try:
            async with asyncio.timeout_at(end):
                return await receive()
        except TimeoutError as error:
            raise HTTPException(408, f"the body did not come within {self._timeout_s:g} seconds") from error
