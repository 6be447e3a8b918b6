"""Routes of operators: authenticate before reading the body, and limit the body.

An upload token, which ships in every app, so opens no route that reads JSON. The body is parsed once, in a thread; more
than `SMALL_LIMIT` bytes are taken by a `LargeBodyRoute` alone, which parses nothing: its endpoint does that elsewhere.
A collector answers a part of these routes; the others are of its home, which decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from typing import Any

import anyio.to_thread
from fastapi import Request, Response
from fastapi.routing import APIRoute

from sordino_server.errors import ServerError
from sordino_server.keys.authentication import admit, wanted_role
from sordino_server.kit.arriving_body import SMALL_LIMIT, ArrivingBody
from sordino_server.kit.json_body import read_json
from sordino_shared.protocol import Problem

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class OperatorRequest(Request):
    """A request whose body has come; `json()` is what was parsed of it."""

    arrived: ArrivingBody

    async def take(self, arrived: ArrivingBody, parse: bool) -> None:
        """Take a body that has come; `parse` small JSON."""
        self.arrived = arrived
        content = arrived.content
        self._body = content if isinstance(content, bytes) else b""
        if self._body and self.is_json and parse:
            self._json = await anyio.to_thread.run_sync(read_json, self._body)

    @property
    def is_json(self) -> bool:
        """Whether the Content-Type is JSON."""
        return "json" in self.headers.get("content-type", "")

    def check_json(self) -> None:
        """Raise `unsupported-media-type` unless the Content-Type is JSON."""
        if not self.is_json:
            detail = "send a JSON body with Content-Type: application/json"
            raise ServerError(Problem.UNSUPPORTED_MEDIA_TYPE, detail)


class OperatorRoute(APIRoute):
    """A route with a small body, or none."""

    def body_limit(self, request: Request) -> int:
        """Largest body of this request in bytes, for any sender."""
        return SMALL_LIMIT

    def most_in_memory(self, request: Request) -> int:
        """Bytes of a body beyond which it is kept in a file while the request is answered."""
        return SMALL_LIMIT

    def get_route_handler(self) -> Handler:
        answer, role = super().get_route_handler(), wanted_role(self.dependant)

        async def handle(request: Request) -> Response:
            if role is not None:
                await admit(request, role)
            check_decided_here(request)
            if request.method in ("GET", "HEAD"):
                return await answer(request)
            in_memory = self.most_in_memory(request)
            async with ArrivingBody.of(request, self.body_limit(request), in_memory=in_memory) as arrived:
                loaded = OperatorRequest(request.scope, request.receive)
                await loaded.take(arrived, parse=in_memory <= SMALL_LIMIT)
                return await answer(loaded)

        return handle


class LargeBodyRoute(OperatorRoute):
    """A route whose body may have `SORDINO_MAX_BODY_BYTES`; its endpoint finds it at `request.arrived`, not parsed."""

    def body_limit(self, request: Request) -> int:
        limit: int = request.app.state.context.settings.max_body_bytes
        return limit


class PrivateBodyRoute(LargeBodyRoute):
    """A route whose body holds people's rows: it is never in a file, and never parsed in this process."""

    def most_in_memory(self, request: Request) -> int:
        return self.body_limit(request)


# What a collector has besides the pages outside of /v1: its own keys, what devices read, what it counted.
_READ = re.compile(
    r"/v1/(campaigns|campaigns/[^/]+(/(task|signature|status))?|(protocol-)?plans/[^/]+|populations/[^/]+/open|openapi\.json)"
)
_CHANGED = re.compile(r"/v1/campaigns/[^/]+/rounds/[^/]+/(reports|retry)")
_ANY = re.compile(r"(?!/v1/|/log/|/witness/).*|/v1/(keys|audit-log|version)(/.*)?")


def check_decided_here(request: Request) -> None:
    """Raise `decided-at-home` on a collector for a request that only its home answers."""
    home = request.app.state.context.settings.collect_for
    path = request.url.path
    own = _READ if request.method in ("GET", "HEAD") else _CHANGED
    if home is None or own.fullmatch(path) or _ANY.fullmatch(path):
        return
    raise ServerError(
        Problem.DECIDED_AT_HOME,
        f"send the request to {home}",
        home=home,
    )
