"""Who asks: the key in `Authorization: Bearer sdo_…`, as a dependency of the endpoints that need one."""

from __future__ import annotations

from typing import Annotated

import anyio.to_thread
from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.types import Scope

from sordino_server.context import Context, Injected
from sordino_server.errors import ServerError
from sordino_server.keys import service
from sordino_server.models import Key, Role
from sordino_shared.protocol import Problem

_bearer = HTTPBearer(auto_error=False, description="An operator's key: sdo_<role>_<id>_<secret>.")


def authenticated(
    context: Injected, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> Key:
    """The key of the request; raises `unauthorized`."""
    if credentials is None:
        raise ServerError(Problem.UNAUTHORIZED, "send `Authorization: Bearer sdo_…` with a key of this server")
    with context.database.read("authenticate") as session:
        return service.authenticate(session, credentials.credentials)


async def is_known(context: Context, scope: Scope) -> bool:
    """Whether the request has any valid key; what it may do with it is for its endpoint to say."""
    credentials = await _bearer(Request(scope))
    try:
        await anyio.to_thread.run_sync(authenticated, context, credentials)
    except ServerError:
        return False
    return True


def analyst(key: Annotated[Key, Depends(authenticated)]) -> Key:
    """The key of an analyst or admin."""
    service.allow(key, Role.ANALYST)
    return key


def admin(key: Annotated[Key, Depends(authenticated)]) -> Key:
    """The key of an admin."""
    service.allow(key, Role.ADMIN)
    return key


Analyst = Annotated[Key, Depends(analyst)]
Admin = Annotated[Key, Depends(admin)]
