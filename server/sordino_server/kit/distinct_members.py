"""JSON in which no object has two members of one name."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from fastapi import Request

from sordino_server.errors import ServerError
from sordino_shared.protocol import Problem


async def check_members(request: Request) -> None:
    """A dependency of routes: refuses a body with two members of one name, of which readers take one or the other."""
    if "json" in request.headers.get("content-type", ""):
        # What is no JSON at all is refused by whoever reads it.
        with suppress(ValueError, RecursionError):
            json.loads(await request.body(), object_pairs_hook=_distinct)


def _distinct(members: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for name, _ in members:
        if name in seen:
            raise ServerError(
                Problem.MALFORMED_BODY, f"the body has two members {name[:100]!r} in one object; write one"
            )
        seen.add(name)
