"""Requests of devices that are pages in a browser: which origins may send them, and the headers that say so (CORS)."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue

# In place of a list: pages of no origin, pages of every origin.
NO_ORIGIN, ANY_ORIGIN = "none", "*"
# An origin as browsers send it: RFC 6454, section 6.2.
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?")
_OWN_PORTS = {"http": ":80", "https": ":443"}
# One line for each request of a device in docs/protocol.md. What else the server has is closed to other origins' pages.
_PATHS = (
    r"/v1/campaigns/[0-9a-f]{64}(/task|/signature|/log-proof)?",
    r"/v1/campaigns/[0-9a-f]{64}/rounds/[0-9]{1,16}/(reports|sealed|tokens|log-proof)",
    r"/v1/plans/[0-9a-f]{64}",
    r"/v1/populations/[^/]+/open",
    r"/v1/log/days",
)
_PATH = re.compile("|".join(_PATHS))
# A page reads no other header of an answer: waits after 503 and 429, and the server's clock for a series.
_EXPOSED = (b"access-control-expose-headers", b"Retry-After, Date, Age")
_BEFOREHAND = (
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"content-type, authorization"),
    (b"access-control-max-age", b"86400"),
    (b"cache-control", b"no-store"),
)

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True)
class DeviceOrigins:
    """Origins whose pages may be devices; None: every origin."""

    listed: frozenset[bytes] | None

    @classmethod
    def parse(cls, text: str) -> DeviceOrigins:
        """From `none`, `*`, or origins between commas; raises InvalidValue for one that no browser sends."""
        if text.strip() == NO_ORIGIN:
            return cls(frozenset())
        if text.strip() == ANY_ORIGIN:
            return cls(None)
        origins = [part.strip() for part in text.split(",")]
        for origin in origins:
            _check(origin, text)
        if len(set(origins)) < len(origins):
            raise InvalidValue("it names an origin twice", text)
        return cls(frozenset(origin.encode() for origin in origins))

    def __bool__(self) -> bool:
        """Whether pages of any origin may be devices."""
        return self.listed is None or bool(self.listed)

    def headers(self, scope: Scope) -> Headers:
        """What an answer to this request says: that its page may read it, and that it differs between origins."""
        if self.listed is None:
            return [(b"access-control-allow-origin", b"*"), _EXPOSED]
        # A cache would otherwise hand one origin's header to a page of another.
        differs = (b"vary", b"Origin")
        origin = _header(scope, b"origin")
        if origin not in self.listed:
            return [differs]
        return [(b"access-control-allow-origin", origin), _EXPOSED, differs]


class DeviceDoor:
    """ASGI application that opens the requests of devices in `app` to pages of the listed origins, without credentials.

    Every other path and the pages of other origins get the answers that they would get without it.
    """

    def __init__(self, app: App, origins: DeviceOrigins) -> None:
        self._app = app
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a preflight; add the headers to the answer of any other request of a device."""
        if scope["type"] != "http" or _PATH.fullmatch(scope["path"]) is None:
            await self._app(scope, receive, send)
            return
        added = self._origins.headers(scope)
        if _is_preflight(scope) and _EXPOSED in added:
            headers = [header for header in added if header != _EXPOSED]
            await send({"type": "http.response.start", "status": 204, "headers": [*headers, *_BEFOREHAND]})
            await send({"type": "http.response.body", "body": b""})
            return

        async def opened(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *added]
            await send(message)

        await self._app(scope, receive, opened)


def _is_preflight(scope: Scope) -> bool:
    asked = _header(scope, b"access-control-request-method")
    return scope["method"] == "OPTIONS" and bool(asked) and bool(_header(scope, b"origin"))


def _header(scope: Scope, wanted: bytes) -> bytes:
    return next((value for name, value in scope["headers"] if name == wanted), b"")


def _check(origin: str, text: str) -> None:
    found = _ORIGIN.fullmatch(origin)
    scheme = origin.partition("://")[0]
    if found is None or int((found[2] or ":1")[1:]) > 65535 or found[2] == _OWN_PORTS.get(scheme, "no port"):
        raise InvalidValue(
            f"write {NO_ORIGIN}, {ANY_ORIGIN}, or origins between commas as browsers send them: scheme and host in "
            "lower case, the port only where it is not the scheme's own, and no path, such as https://app.example,"
            f"http://localhost:5173; {origin!r} is none",
            text,
        )
