"""Who asks: the key in `Authorization: Bearer sdo_…`, as a dependency of the endpoints that need one."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from sordino_server.context import Injected
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
