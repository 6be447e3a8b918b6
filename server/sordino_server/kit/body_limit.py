"""No request body grows beyond a limit, whatever its headers say, nor far for somebody who has no key."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# As much as any order of an operator takes but for tables of numbers. A body is parsed before its sender is known, and
# parsing 16 MiB of JSON stops everything else for a second.
UNKNOWN_LIMIT = 64 << 10

IsKnown = Callable[[Scope], Awaitable[bool]]


class BodyLimit:
    """ASGI middleware: reading a body beyond `limit` bytes raises HTTPException(413) inside the endpoint, and
    HTTPException(401) beyond `UNKNOWN_LIMIT` unless the sender `is_known`.

    Bytes are counted as they come, since a chunked body declares no length and a declared one may lie.
    """

    def __init__(self, app: ASGIApp, limit: int, is_known: IsKnown) -> None:
        self._app = app
        self._limit = limit
        self._is_known = is_known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        await self._app(scope, self._counting(scope, receive), send)

    def _counting(self, scope: Scope, receive: Receive) -> Receive:
        taken, known = 0, False

        async def counted() -> Message:
            nonlocal taken, known
            message = await receive()
            if message["type"] == "http.request":
                taken += len(message.get("body", b""))
                if taken > self._limit:
                    raise HTTPException(413, f"the body has more than {self._limit} bytes; send less at once")
                if taken > UNKNOWN_LIMIT and not known:
                    known = await self._is_known(scope)
                    if not known:
                        detail = f"a body of more than {UNKNOWN_LIMIT} bytes is taken with a valid key only"
                        raise HTTPException(401, detail)
            return message

        return counted
