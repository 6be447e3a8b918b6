"""What every response carries besides its content: an id of the request, and headers that keep browsers careful."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from random import getrandbits
from time import perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sordino_server.kit.logs import logger, request_id

REQUEST_ID = b"x-request-id"
# Nothing here is a page: whatever a browser takes for one may load nothing and be framed by nobody.
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
)
# Whatever says nothing about caches is an answer to an operator.
_ALWAYS = (*SECURITY_HEADERS, (b"cache-control", b"no-store"))
# An id goes into logs as it is, so that it must be harmless there.
_ACCEPTED_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")

# Method, route (a template, never a path), status, seconds.
Observe = Callable[[str, str, int, float], None]


class RequestObserver:
    """ASGI middleware; `observe` hears of every answered request.

    A request keeps the `X-Request-Id` that it came with, or gets one; every event that is logged meanwhile has it.
    """

    def __init__(self, app: ASGIApp, observe: Observe) -> None:
        self._app = app
        self._observe = observe
        # Bound once: below its level an event then costs nothing.
        self._log = logger(__name__).bind()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        identifier, status, start = _request_id(scope), 500, perf_counter()
        # Not reset at the end: each request has a context of its own.
        request_id.set(identifier.decode())

        async def sealed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = enveloped(message.get("headers", ()), identifier)
            await send(message)

        try:
            await self._app(scope, receive, sealed)
        finally:
            seconds, route = perf_counter() - start, _route(scope)
            self._observe(scope["method"], route, status, seconds)
            self._log.debug("request", method=scope["method"], route=route, status=status, seconds=round(seconds, 6))


def enveloped(headers: Iterable[tuple[bytes, bytes]], identifier: bytes) -> list[tuple[bytes, bytes]]:
    """The headers (names in lower case, as ASGI has them) with those of every response; what is there already stays."""
    given = list(headers)
    names = {name for name, _ in given}
    added = [header for header in _ALWAYS if header[0] not in names]
    return [*given, *added] if REQUEST_ID in names else [*given, *added, (REQUEST_ID, identifier)]


def _route(scope: Scope) -> str:
    """The whole template of the path that was asked."""
    template: str | None = getattr(scope.get("route"), "path", None)
    if template is None:
        return "unknown"
    # A router included under a prefix has only its own part of the path; the prefix has no parameters.
    missing = scope["path"].count("/") - template.count("/")
    return "/".join(scope["path"].split("/")[: missing + 1]) + template if missing else template


def _request_id(scope: Scope) -> bytes:
    for name, value in scope["headers"]:
        if name == REQUEST_ID and _ACCEPTED_ID.fullmatch(value):
            given: bytes = value
            return given
    # Ids must differ, not be secret: asking the system for bytes lets another thread in, in the middle of each request.
    return b"%032x" % getrandbits(128)
