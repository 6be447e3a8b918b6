"""Authentication: the key in `Authorization: Bearer sdo_…`, checked before anything else of a request.

An endpoint says which role it needs by a parameter `Analyst` or `Admin`; its route finds that and admits the request
before its body is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import anyio.to_thread
from fastapi import Depends, Request
from fastapi.dependencies.models import Dependant
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from sordino_server.context import Context
from sordino_server.errors import ServerError
from sordino_server.keys import service
from sordino_server.keys.key_uses import KeyUses
from sordino_server.models import Key, Role
from sordino_shared.protocol import Problem

_bearer = HTTPBearer(auto_error=False, description="An operator's key: sdo_<role>_<id>_<secret>.")
# For the description of the API; what it finds was looked at before.
_Described = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]


async def analyst(request: Request, _: _Described) -> Key:
    """The key of an analyst or admin."""
    key: Key = request.state.key
    return key


async def admin(request: Request, _: _Described) -> Key:
    """The key of an admin."""
    key: Key = request.state.key
    return key


async def aggregator(request: Request, _: _Described) -> Key:
    """The key of an aggregator, bound to a campaign and a source, or of an admin."""
    key: Key = request.state.key
    return key


async def shuffler(request: Request, _: _Described) -> Key:
    """The key of a campaign's shuffler, or of an admin."""
    key: Key = request.state.key
    return key


Shuffler = Annotated[Key, Depends(shuffler)]
Aggregator = Annotated[Key, Depends(aggregator)]
Analyst = Annotated[Key, Depends(analyst)]
Admin = Annotated[Key, Depends(admin)]
_ROLES = {analyst: Role.ANALYST, admin: Role.ADMIN, aggregator: Role.AGGREGATOR, shuffler: Role.SHUFFLER}


def wanted_role(dependant: Dependant, roles: Mapping[Any, Role] = _ROLES) -> Role | None:
    """The highest role that a parameter of an endpoint names, else one of what these depend on; None: anybody may."""
    wanted = {roles[each.call] for each in dependant.dependencies if each.call in roles}
    wanted = wanted or {role for each in dependant.dependencies if (role := wanted_role(each, roles))}
    return next((role for role in Role if role in wanted), None)


async def admit(request: Request, wanted: Role) -> None:
    """Put the key of the request into its state; raises `unauthorized` or `forbidden`."""
    credentials = await _bearer(request)
    if credentials is None:
        raise ServerError(Problem.UNAUTHORIZED, "send `Authorization: Bearer sdo_…` with a key of this server")
    request.state.key = await anyio.to_thread.run_sync(
        _key_of, request.app.state.context, request.app.state.key_uses, credentials.credentials, wanted
    )


def _key_of(context: Context, uses: KeyUses, text: str, wanted: Role) -> Key:
    with context.database.read("authenticate") as session:
        key = service.authenticate(session, text, context.clock.now())
    service.allow(key, wanted)
    uses.note(key)
    return key
