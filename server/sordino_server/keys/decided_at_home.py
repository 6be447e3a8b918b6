"""A collector takes reports, shows its counts and refuses what its home decides."""

from __future__ import annotations

import re

from fastapi import Request

from sordino_server.errors import ServerError
from sordino_shared.protocol import Problem

# What a collector has besides the pages outside of /v1: its own keys, what devices read, what it counted.
_READ = re.compile(
    r"/v1/(campaigns|campaigns/[^/]+(/(task|signature|status))?|(protocol-)?plans/[^/]+|populations/[^/]+/open|openapi\.json)"
)
_CHANGED = re.compile(r"/v1/campaigns/[^/]+/rounds/[^/]+/(reports|retry)")
_ANY = re.compile(r"(?!/v1/).*|/v1/(keys|audit-log|version)(/.*)?")


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
