"""/console/sign-in and /console/sign-out"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping

from fastapi import APIRouter, Depends, Request, Response
from sqlalchemy.orm import Session
from starlette.datastructures import State
from starlette.responses import RedirectResponse

from sordino_server.console import sessions
from sordino_server.console.console_route import COOKIE, SIGN_IN, Analyst, ConsoleRoute, Form, check_token
from sordino_server.console.known_keys import KnownKeys
from sordino_server.console.rendering import render
from sordino_server.console.sign_in_limit import SignInLimit
from sordino_server.console.transport import check_safe, is_secure
from sordino_server.context import Context, Injected
from sordino_server.errors import ServerError
from sordino_server.keys import service as keys
from sordino_server.keys.key_uses import KeyUses
from sordino_server.kit.addresses import TrustedProxies
from sordino_server.models import Key
from sordino_shared.protocol import Problem

router = APIRouter(prefix="/console", route_class=ConsoleRoute)

START = "/console/campaigns"
_FORM_COOKIE = "sordino_sign_in"
_FORM_LIFETIME_S = 3600


def prepare(app_state: State) -> None:
    """Give the state what is shared between requests."""
    context: Context = app_state.context

    def find() -> dict[str, str]:
        with context.database.read("console keys that sign in") as session:
            return keys.operators(session, context.clock.now())

    app_state.known_keys = KnownKeys(find)
    app_state.sign_in_limit = SignInLimit(app_state.known_keys)


@router.get("")
async def start() -> Response:
    """The first page."""
    return RedirectResponse(START, 303)


@router.get("/sign-in")
async def sign_in_page(request: Request, context: Injected) -> Response:
    """The form for a key. Its token is also in a cookie, so that no other site can sign a browser in."""
    check_safe(request, context.settings)
    token = secrets.token_urlsafe(32)
    response = render("sign_in.html", "Sign in", token=token)
    _set_cookie(response, _FORM_COOKIE, token, _FORM_LIFETIME_S, is_secure(request, context.settings))
    return response


async def limit(request: Request, context: Injected, form: Form) -> None:
    """Take one of the attempts. Async, so that no two threads take the same one."""
    attempts: SignInLimit = request.app.state.sign_in_limit
    sender = TrustedProxies.parse(context.settings.trusted_proxies).sender(request.scope)
    if wait := await attempts.take(sender, form.get("key", "").strip()):
        raise ServerError(
            Problem.RATE_LIMITED, "too many attempts to sign in from this address", retry_after=math.ceil(wait)
        )


@router.post("/sign-in", dependencies=[Depends(limit)])
def sign_in(request: Request, context: Injected, form: Form) -> Response:
    """Begin a session with an operator's key."""
    check_safe(request, context.settings)
    check_form(request, form)
    text, now = form.get("key", "").strip(), context.clock.now()
    return signed_in(request, context, lambda session: keys.authenticate(session, text, now))


def check_form(request: Request, form: Mapping[str, str]) -> None:
    """Raise `forbidden` unless the form came from the page that this browser loaded."""
    expected = request.cookies.get(_FORM_COOKIE, "")
    if not expected:
        raise ServerError(Problem.FORBIDDEN, "the form has expired, or the browser refuses cookies: load it again")
    check_token(form, expected)


def signed_in(request: Request, context: Context, find: Callable[[Session], Key]) -> Response:
    """The first page, in a new session of the key that `find` raises for or returns; the browser's old one ends."""
    before, now = request.cookies.get(COOKIE), context.clock.now()
    with context.database.write("console sign in") as session:
        if before is not None:
            sessions.end(session, before, now)
        key = find(session)
        identifier = sessions.begin(session, key, now)
    uses: KeyUses = request.app.state.key_uses
    uses.note(key)
    known: KnownKeys = request.app.state.known_keys
    known.add(key.id, key.secret_sha256)
    response = RedirectResponse(START, 303)
    _set_cookie(response, COOKIE, identifier, sessions.LIFETIME_S, is_secure(request, context.settings))
    response.delete_cookie(_FORM_COOKIE, path="/console")
    return response


@router.post("/sign-out")
def sign_out(request: Request, context: Injected, _: Analyst) -> Response:
    """End the session."""
    with context.database.write("console sign out") as session:
        sessions.end(session, request.cookies[COOKIE], context.clock.now())
    response = RedirectResponse(SIGN_IN, 303)
    response.delete_cookie(COOKIE, path="/console")
    return response


def _set_cookie(response: Response, name: str, value: str, seconds: int, secure: bool) -> None:
    response.set_cookie(name, value, max_age=seconds, path="/console", secure=secure, httponly=True, samesite="strict")
