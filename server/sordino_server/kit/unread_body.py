"""Who is answered before the whole body came is told that the connection ends; it would go on swallowing the rest."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
