"""Links that sign a browser on this machine in, once and within a minute: `sordino demo` prints one.

An operator asks for a link with a key. Its token stands behind `#`, which a browser sends to nobody; a script of the
sign-in page puts it into a form.
"""

from __future__ import annotations

import hashlib
import secrets

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel
from sqlalchemy.orm import Session

from sordino_server.console import repository
from sordino_server.console.console_route import ConsoleRoute, Form
from sordino_server.console.sign_in import check_form, limit, signed_in
from sordino_server.console.transport import check_near
from sordino_server.context import Injected
from sordino_server.errors import ServerError
from sordino_server.keys import service as keys
from sordino_server.keys.authentication import Analyst
from sordino_server.keys.operator_route import OperatorRoute
from sordino_server.models import Key, SignInLink
from sordino_shared.protocol import Problem

router = APIRouter(prefix="/console", route_class=ConsoleRoute)

LIFETIME_S = 60
_TOKEN_BYTES = 32


class NewLink(BaseModel):
    """A link just made: the part behind the server's address. Only this response contains it."""

    path: str
    expires_at: int


def create_link(operator: Analyst, context: Injected) -> NewLink:
    """A link that signs a browser in with the operator's key, once, within a minute, on the server's machine."""
    token, now = secrets.token_urlsafe(_TOKEN_BYTES), context.clock.now()
    with context.database.write("create sign-in link") as session:
        repository.add_link(
            session,
            SignInLink(token_sha256=_hash(token), key_id=operator.id, created_at=now, expires_at=now + LIFETIME_S),
        )
        keys.record(session, operator, "create sign-in link", "/console", now)
    return NewLink(path=f"/console/sign-in#{token}", expires_at=now + LIFETIME_S)


@router.post("/sign-in-link", dependencies=[Depends(limit)])
def sign_in_by_link(request: Request, context: Injected, form: Form) -> Response:
    """Begin a session with a link; from the server's machine alone."""
    check_near(request, context.settings)
    check_form(request, form)
    token, now = form.get("link", ""), context.clock.now()

    def find(session: Session) -> Key:
        key = repository.take_link(session, _hash(token), now)
        if key is None:
            raise ServerError(
                Problem.UNAUTHORIZED, "the link was used, or is older than a minute: ask for another, or enter a key"
            )
        return key

    return signed_in(request, context, find)


# With a key, as the API: no browser asks for a link.
router.add_api_route(
    "/sign-in-links", create_link, methods=["POST"], status_code=201, route_class_override=OperatorRoute
)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
