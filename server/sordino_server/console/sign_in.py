"""/console/sign-in and /console/sign-out: with a key, with a link that `sordino demo` prints, or by a proxy's headers.

A link signs a browser on this machine in, once and within a minute. An operator asks for it with a key. Its token
stands behind `#`, which a browser sends to nobody; a script of the sign-in page puts it into a form.

How often one may try is limited by address, and by address and key where the key's id is one of this server's: so a
stranger who shares an address with operators, behind one NAT, uses up the attempts with fake keys and none of theirs.
Ids are no secret.
"""

from __future__ import annotations

import hashlib
import math
import re
import secrets
from collections.abc import Callable, Mapping
from time import monotonic
from types import MappingProxyType
from typing import Annotated
from urllib.parse import urlencode, urlsplit

import anyio.to_thread
from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel
from sqlalchemy.orm import Session
from starlette.datastructures import State
from starlette.responses import RedirectResponse

from sordino_server.config import Settings
from sordino_server.console import cookies, repository, sessions
from sordino_server.console.console_route import (
    PERSON,
    SIGN_IN,
    Analyst,
    ConsoleRoute,
    Form,
    check_token,
)
from sordino_server.console.known_sessions import KnownKeys
from sordino_server.console.rendering import render
from sordino_server.console.transport import check_near, check_safe
from sordino_server.console.visits import Visit
from sordino_server.context import Context, Injected
from sordino_server.errors import ServerError
from sordino_server.keys import service as keys
from sordino_server.keys.authentication import Analyst as Operator
from sordino_server.keys.key_uses import KeyUses
from sordino_server.keys.operator_route import OperatorRoute
from sordino_server.kit.token_buckets import TokenBuckets
from sordino_server.models import Key, SignInLink
from sordino_server.people import service as people
from sordino_server.people.flow import local_page
from sordino_server.people.forwarded import forwarded_person
from sordino_server.people.person import Person
from sordino_server.people.provider import Provider
from sordino_shared.http.senders import TrustedProxies
from sordino_shared.protocol import Problem

router = APIRouter(prefix="/console", route_class=ConsoleRoute)

START = "/console/questions"
_FORM_LIFETIME_S = 3600
LINK_LIFETIME_S = 60
_TOKEN_BYTES = 32

# A person mistypes a few times; a guess of 256 random bits never succeeds, and each costs a read of the database.
ATTEMPTS_PER_S = 0.1
ATTEMPTS_AT_ONCE = 10
_PREFIX = re.compile(r"sdo_(?:analyst|admin)_([0-9a-f]{16})_")


class SignInLimit:
    """Attempts of one process."""

    def __init__(self, known: KnownKeys, *, tick: Callable[[], float] = monotonic) -> None:
        self._known = known
        self._buckets = TokenBuckets(ATTEMPTS_PER_S, ATTEMPTS_AT_ONCE, tick=tick)

    async def take(self, sender: str, key: str) -> float:
        """Take an attempt of the address with the text of a key: 0 where there is one, else the seconds until then."""
        prefix = _PREFIX.match(key)
        if prefix is not None and await self._known.secret_sha256(prefix[1]) is not None:
            return self._buckets.take(f"{sender} {prefix[1]}")
        return self._buckets.take(sender)

    def check_person(self, person: str) -> None:
        """Take an attempt of a person whom a proxy names; raises `rate-limited`."""
        if wait := self._buckets.take(f"person {person}"):
            raise ServerError(
                Problem.RATE_LIMITED,
                "too many sessions began for you: does your browser keep no cookie of this site?",
                retry_after=math.ceil(wait),
            )

    def check(self, request: Request, settings: Settings, session_key: str) -> None:
        """Take an attempt of the address, with the key of a session that it has; raises `rate-limited`."""
        sender = TrustedProxies.parse(settings.trusted_proxies).sender(request.scope)
        if wait := self._buckets.take(f"{sender} {session_key}".rstrip()):
            raise too_many(wait)


def too_many(wait_s: float) -> ServerError:
    """What is raised where an address has no attempt left."""
    return ServerError(
        Problem.RATE_LIMITED, "too many attempts to sign in from this address", retry_after=math.ceil(wait_s)
    )


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
async def sign_in_page(
    request: Request, context: Injected, to: Annotated[str, Query(max_length=2000)] = ""
) -> Response:
    """The form for a key, and the way to the OpenID provider. Whom a proxy names is let in.

    The form's token is also in a cookie, so that no other site can sign a browser in.
    """
    settings = context.settings
    check_safe(request, settings)
    if person := forwarded_person(request.scope, settings):
        return await _forwarded(request, context, person, local_page(to))
    token = secrets.token_urlsafe(32)
    provider = f"{PERSON}?{urlencode({'to': local_page(to)})}" if settings.people == "oidc" else None
    issuer = urlsplit(settings.oidc_issuer or "").netloc
    response = render("sign_in.html", "Sign in", token=token, provider=provider, issuer=issuer)
    cookies.put(response, request, settings, cookies.FORM, token, _FORM_LIFETIME_S)
    return response


async def _forwarded(request: Request, context: Context, person: Person, target: str) -> Response:
    """On the way to the page, in the session that the browser has, else in a new one.

    Every new one is a row here and in the audit log, and any page that a browser opens may ask for one: so a person has
    so many at once, and then one in ten seconds.
    """
    cookie = cookies.given(request, context.settings, cookies.SESSION)
    if cookie is not None and await sessions.is_made_here(request.app.state.known_keys, cookie):
        visit = Visit(cookie, person, is_page=True)
        try:
            key, _ = await anyio.to_thread.run_sync(visit.check, context, request.app.state.key_uses)
        except ServerError as error:
            if error.problem is not Problem.UNAUTHORIZED:
                raise
        else:
            # A browser that signed in with a key becomes the person's.
            if key.person is not None:
                return way_to(target)
    attempts: SignInLimit = request.app.state.sign_in_limit
    attempts.check_person(person.sha256)
    return await anyio.to_thread.run_sync(_let_in, request, context, person, target)


def _let_in(request: Request, context: Context, person: Person, target: str) -> Response:
    """A session of the person whom a proxy names."""
    now, settings = context.clock.now(), context.settings
    told = people.identity(person)
    return signed_in(
        request,
        context,
        lambda session: people.enter(session, person, settings, now),
        way_to(target),
        shown_name=person.subject,
        told=told,
    )


async def limit(request: Request, context: Injected, form: Form) -> None:
    """Take one of the attempts. Async, so that no two threads take the same one."""
    attempts: SignInLimit = request.app.state.sign_in_limit
    sender = TrustedProxies.parse(context.settings.trusted_proxies).sender(request.scope)
    if wait := await attempts.take(sender, form.get("key", "").strip()):
        raise too_many(wait)


@router.post("/sign-in", dependencies=[Depends(limit)])
def sign_in(request: Request, context: Injected, form: Form) -> Response:
    """Begin a session with an operator's key."""
    check_safe(request, context.settings)
    check_form(request, context.settings, form)
    text, now = form.get("key", "").strip(), context.clock.now()
    return signed_in(request, context, lambda session: keys.authenticate(session, text, now))


def check_form(request: Request, settings: Settings, form: Mapping[str, str]) -> None:
    """Raise `forbidden` unless the form came from the page that this browser loaded."""
    expected = cookies.given(request, settings, cookies.FORM)
    if not expected:
        raise ServerError(Problem.FORBIDDEN, "the form has expired, or the browser refuses cookies: load it again")
    check_token(form, expected)


def signed_in(
    request: Request,
    context: Context,
    find: Callable[[Session], Key],
    response: Response | None = None,
    *,
    shown_name: str | None = None,
    renew_at: int | None = None,
    told: Mapping[str, str] = MappingProxyType({}),
) -> Response:
    """The first page, or the response given, in a new session of the key or person that `find` raises for or returns.

    The browser's old session ends. `told` goes into an audit log that has names.
    """
    now, settings = context.clock.now(), context.settings
    before = cookies.given(request, settings, cookies.SESSION)
    after = dict(told)
    if sender := TrustedProxies.parse(settings.trusted_proxies).sender(request.scope):
        after["address"] = sender
    with context.database.write("console sign in") as session:
        if before is not None:
            sessions.end(session, before, now)
        key = find(session)
        identifier = sessions.begin(
            session, key, now, shown_name, renew_at, told=after if settings.audit_names == "on" else None
        )
    uses: KeyUses = request.app.state.key_uses
    uses.note(key)
    known: KnownKeys = request.app.state.known_keys
    known.add(key.id, key.secret_sha256)
    shown = response or RedirectResponse(START, 303)
    cookies.put(shown, request, settings, cookies.SESSION, identifier, sessions.LIFETIME_S)
    cookies.remove(shown, request, settings, cookies.FORM)
    return shown


def way_to(target: str) -> Response:
    """A page from which the browser goes on to another one by itself, with the cookies of this site."""
    return render("way.html", "Signed in", target=target)


@router.post("/sign-out")
def sign_out(request: Request, context: Injected, visitor: Analyst) -> Response:
    """End the session. A person may still be signed in at the provider."""
    with context.database.write("console sign out") as session:
        sessions.end(session, visitor.identifier, context.clock.now())
    if visitor.key.person is None:
        response: Response = RedirectResponse(SIGN_IN, 303)
    else:
        provider: Provider | None = getattr(request.app.state, "provider", None)
        elsewhere = None if provider is None else provider.sign_out()
        response = render("signed_out.html", "Signed out", elsewhere=elsewhere)
    cookies.remove(response, request, context.settings, cookies.SESSION)
    return response


class NewLink(BaseModel):
    """A link just made: the part behind the server's address. Only this response contains it."""

    path: str
    expires_at: int


def create_link(operator: Operator, context: Injected) -> NewLink:
    """A link that signs a browser in with the operator's key, once, within a minute, on the server's machine."""
    token, now = secrets.token_urlsafe(_TOKEN_BYTES), context.clock.now()
    with context.database.write("create sign-in link") as session:
        repository.add_link(
            session,
            SignInLink(token_sha256=_hash(token), key_id=operator.id, created_at=now, expires_at=now + LINK_LIFETIME_S),
        )
        keys.record(session, operator, "create sign-in link", "/console", now)
    return NewLink(path=f"/console/sign-in#{token}", expires_at=now + LINK_LIFETIME_S)


@router.post("/sign-in-link", dependencies=[Depends(limit)])
def sign_in_by_link(request: Request, context: Injected, form: Form) -> Response:
    """Begin a session with a link; from the server's machine alone."""
    check_near(request, context.settings)
    check_form(request, context.settings, form)
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
