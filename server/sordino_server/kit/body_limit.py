"""No request body grows beyond a limit, whatever its headers say."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BodyLimit:
    """ASGI middleware: reading a body beyond `limit` bytes raises HTTPException(413) inside the endpoint.

    Bytes are counted as they come, since a chunked body declares no length and a declared one may lie.
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        await self._app(scope, self._counting(receive), send)

    def _counting(self, receive: Receive) -> Receive:
        taken = 0

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            if message["type"] == "http.request":
                taken += len(message.get("body", b""))
                if taken > self._limit:
                    raise HTTPException(413, f"the body has more than {self._limit} bytes; send less at once")
            return message

        return counted
