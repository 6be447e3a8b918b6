"""/console/sign-in/person and /console/sign-in/callback: the way of a person through an OpenID provider and back.

Cookies of sessions are `SameSite=Strict`, and a browser sends none where another site began the navigation, also not
after redirects. So the way ends in a page of this server, from which the browser goes on by itself.
"""

from __future__ import annotations

import asyncio
from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Query, Request, Response
from sqlalchemy.orm import Session
from starlette.datastructures import State
from starlette.responses import RedirectResponse

from sordino_server.console import cookies, sessions
from sordino_server.console.console_route import ConsoleRoute, to_sign_in
from sordino_server.console.rendering import render
from sordino_server.console.sign_in import SignInLimit, signed_in, too_many, way_to
from sordino_server.console.transport import check_safe, is_secure
from sordino_server.context import Context, Injected
from sordino_server.errors import ServerError
from sordino_server.kit.token_buckets import TokenBuckets
from sordino_server.models import Key
from sordino_server.people import service as people
from sordino_server.people.flow import DIGITS, LIFETIME_S, Flow, local_page
from sordino_server.people.installed import check_installed
from sordino_server.people.person import Person
from sordino_server.people.provider import IssuerFailed, Provider, RelyingParty
from sordino_shared.http.senders import TrustedProxies
from sordino_shared.protocol import Problem

router = APIRouter(prefix="/console", route_class=ConsoleRoute)
# Its parameters are the provider's.
callback = APIRouter(prefix="/console", route_class=ConsoleRoute)

CALLBACK = "/console/sign-in/callback"
RENEWED_S = 900
# What a browser may have begun at once.
_MOST_FLOWS = 8
# A provider that hangs has no more threads of this process than these.
_MOST_EXCHANGES = 4
# Of an address: enough for 600 people behind one, whose sessions are renewed every ten minutes.
EXCHANGES_PER_S = 1.0
EXCHANGES_AT_ONCE = 30
# What a provider says where it would have to ask the person, and may not.
_WOULD_ASK = frozenset({"login_required", "interaction_required", "consent_required", "account_selection_required"})


def prepare(app_state: State) -> None:
    """Give the state the provider, where people sign in through one; raises InvalidValue where PyJWT is missing."""
    context: Context = app_state.context
    settings = context.settings
    check_installed(settings)
    if settings.people != "oidc":
        return
    secret = settings.oidc_client_secret
    client = RelyingParty(
        issuer=settings.oidc_issuer or "",
        client_id=settings.oidc_client_id or "",
        secret=None if secret is None else secret.get_secret_value(),
        scopes=settings.oidc_scopes,
    )
    app_state.provider = Provider(client)
    app_state.exchanges = asyncio.Semaphore(_MOST_EXCHANGES)
    app_state.exchange_limit = TokenBuckets(EXCHANGES_PER_S, EXCHANGES_AT_ONCE)


def _provider(request: Request) -> Provider:
    provider: Provider | None = getattr(request.app.state, "provider", None)
    if provider is None:
        raise ServerError(Problem.NOT_FOUND, "people sign in here without an OpenID provider")
    return provider


@router.get("/sign-in/person")
async def begin(
    request: Request,
    context: Injected,
    to: Annotated[str, Query(max_length=2000)] = "",
    silent: Annotated[bool, Query()] = False,
) -> Response:
    """Send the browser to the provider; `silent` where a session is only renewed."""
    check_safe(request, context.settings)
    provider = _provider(request)
    cookie = cookies.given(request, context.settings, cookies.SESSION) or ""
    known = await sessions.is_made_here(request.app.state.known_keys, cookie)
    flow = Flow(local_page(to), sessions.hashed(cookie) if known else "", silent and known)
    # Who renews counts alone: many may share an address, each with a session of an own.
    attempts: SignInLimit = request.app.state.sign_in_limit
    attempts.check(request, context.settings, cookie[: sessions.KEY_DIGITS] if flow.silent else "")

    def address() -> str:
        return provider.authorization(_callback(request), flow.state, flow.nonce, flow.challenge, silent=flow.silent)

    try:
        async with request.app.state.exchanges:
            asked = await anyio.to_thread.run_sync(address)
    except IssuerFailed as error:
        return _failed(error)
    response = RedirectResponse(asked, 303, {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})
    begun = cookies.begun(request, context.settings)
    for name in begun[: max(len(begun) - _MOST_FLOWS + 1, 0)]:
        cookies.remove(response, request, context.settings, name)
    cookies.put(response, request, context.settings, _cookie(flow.state), flow.cookie, LIFETIME_S, "lax")
    return response


@callback.get("/sign-in/callback")
async def finish(request: Request, context: Injected) -> Response:
    """Where the provider sends the browser back to, with a code or an error. It may add parameters of its own."""
    check_safe(request, context.settings)
    provider = _provider(request)
    flow = _flow_of(request, context)
    asked = request.query_params
    _check_issuer(provider, asked.getlist("iss"))
    if len(asked.getlist("error")) + len(asked.getlist("code")) != 1:
        raise ServerError(Problem.INVALID_REQUEST, "the provider answers with one code, or with one error")
    try:
        if "error" in asked:
            response = await anyio.to_thread.run_sync(_not_signed_in, context, flow, asked["error"])
        else:
            _take_exchange(request, context)
            async with request.app.state.exchanges:
                person = await anyio.to_thread.run_sync(_identified, context, provider, flow, request)
            response = await anyio.to_thread.run_sync(_entered, request, context, flow, person)
    except IssuerFailed as error:
        response = _failed(error)
    except ServerError as error:
        if error.problem is not Problem.FORBIDDEN:
            raise
        response = await anyio.to_thread.run_sync(_refused, context, flow, error.detail)
    # A flow ends once, however it ends: what comes again with its state finds no cookie.
    cookies.remove(response, request, context.settings, _cookie(flow.state))
    return response


def _take_exchange(request: Request, context: Context) -> None:
    """Raise `rate-limited` for an address that asks too often: anybody can make up a flow with a code."""
    limit: TokenBuckets = request.app.state.exchange_limit
    if wait := limit.take(TrustedProxies.parse(context.settings.trusted_proxies).sender(request.scope)):
        raise too_many(wait)


def _cookie(state: str) -> str:
    """The name of a flow's cookie: each tab that signs in has its own."""
    return cookies.FLOW + state[:DIGITS]


def _flow_of(request: Request, context: Context) -> Flow:
    """The flow of the state; raises `forbidden` where it began in another browser, or ended."""
    states = request.query_params.getlist("state")
    value = cookies.given(request, context.settings, _cookie(states[0])) if len(states) == 1 else None
    flow = None if value is None else Flow.of_cookie(value, states[0])
    if flow is None:
        raise ServerError(
            Problem.FORBIDDEN,
            "this sign-in did not begin in this browser, or is finished, or older than 10 minutes: begin again",
        )
    return flow


def _check_issuer(provider: Provider, named: list[str]) -> None:
    """Raise unless the answer is of this provider, where it says of whom it is (RFC 9207)."""
    if named not in ([], [provider.client.issuer]):
        raise ServerError(Problem.FORBIDDEN, "the answer is of another OpenID provider than this server's")


def _identified(context: Context, provider: Provider, flow: Flow, request: Request) -> Person:
    # Imported here: only servers with a provider have PyJWT.
    from sordino_server.people import id_tokens

    token = provider.exchange(request.query_params["code"], flow.verifier, _callback(request))
    return id_tokens.person_of(provider, token, flow.nonce, context.settings.oidc_groups_claim)


def _entered(request: Request, context: Context, flow: Flow, person: Person) -> Response:
    """On the way to the page, in the session that is renewed or in a new one."""
    now, settings = context.clock.now(), context.settings

    def enter(session: Session) -> Key:
        return people.enter(session, person, settings, now)

    def enter_anew(session: Session) -> Key:
        # The browser sends no Strict cookie on the way back.
        sessions.end_hashed(session, flow.before, now)
        return enter(session)

    if flow.silent:
        with context.database.write("renew console session") as session:
            if sessions.renew(session, flow.before, enter(session), now, now + RENEWED_S):
                return way_to(flow.target)
    return signed_in(
        request,
        context,
        enter_anew,
        way_to(flow.target),
        shown_name=person.name or person.email or person.subject,
        renew_at=now + RENEWED_S,
        told=people.identity(person),
    )


def _not_signed_in(context: Context, flow: Flow, error: str) -> Response:
    """The form, where the provider would have to ask; else a page."""
    shown = error if error.isascii() and error.replace("_", "").isalnum() else "an error"
    page = _refused(context, flow, f"The OpenID provider answers with {shown[:60]}: you are not signed in.")
    return RedirectResponse(to_sign_in(flow.target), 303) if flow.silent and error in _WOULD_ASK else page


def _refused(context: Context, flow: Flow, detail: str) -> Response:
    """A page with the reason. A session that was to be renewed ends: nobody vouches for its person any more."""
    if flow.silent:
        with context.database.write("end console session") as session:
            sessions.end_hashed(session, flow.before, context.clock.now())
    return render("error.html", "Not signed in", status=403, detail=detail, campaign=None, retry_after=None)


def _failed(error: IssuerFailed) -> Response:
    return render("error.html", "Not signed in", status=503, detail=error.detail, campaign=None, retry_after=None)


def _callback(request: Request) -> str:
    """The address of this server's callback as the browser knows it, which the provider has registered."""
    context: Context = request.app.state.context
    scheme = "https" if is_secure(request, context.settings) else "http"
    return f"{scheme}://{request.headers['host']}{CALLBACK}"
