"""The transport of every device for asyncio. It stands apart: asyncio takes longer to import than all of the SDK."""

from __future__ import annotations

import asyncio
import ssl

from sordino_client._http_transport import HttpTransport
from sordino_client._transport import DEADLINE_S, Request, Response
from sordino_shared.http.connection import Connection


class AsyncHttpTransport:
    """The asyncio twin of `HttpTransport`, which sends in a thread; a task that is cancelled cuts its connection."""

    def __init__(
        self,
        address: str,
        *,
        allow_http: bool = False,
        deadline_s: float = DEADLINE_S,
        trust: ssl.SSLContext | None = None,
        proxy: str | None = None,
    ) -> None:
        self._transport = HttpTransport(address, allow_http=allow_http, deadline_s=deadline_s, trust=trust, proxy=proxy)

    async def send(self, request: Request) -> Response:
        used: list[Connection] = []
        try:
            return await asyncio.to_thread(self._transport.send_watched, request, used)
        except asyncio.CancelledError:
            for connection in used:
                connection.cut()
            raise

    async def close(self) -> None:
        await asyncio.to_thread(self._transport.close)
