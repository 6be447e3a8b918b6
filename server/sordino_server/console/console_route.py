"""Routes of the console: the session and its role first, then the form and its token, then the page.

A page says which role it needs by a parameter `Analyst` or `Admin`, a form by the same. What a signed-in browser posts
must carry the token of its session; there is no other way for a form to reach its endpoint.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import anyio.to_thread
from fastapi import Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.responses import RedirectResponse

from sordino_server.console import cookies, sessions
from sordino_server.console.help_links import help_for_error
from sordino_server.console.rendering import Link, render
from sordino_server.console.transport import check_safe, headers_of_tls
from sordino_server.console.visits import RenewalNeeded, Visit
from sordino_server.context import Context
from sordino_server.errors import ServerError
from sordino_server.keys import service as keys
from sordino_server.keys.authentication import wanted_role
from sordino_server.kit.arriving_body import SMALL_LIMIT, ArrivingBody
from sordino_server.models import Key, Role
from sordino_server.people.flow import local_page
from sordino_server.validation_problem import invalid_request
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import IllegalTransition, Problem

SIGN_IN = "/console/sign-in"
# The way through an OpenID provider.
PERSON = "/console/sign-in/person"
_FORM_TYPE = "application/x-www-form-urlencoded"
_MOST_FIELDS = 64
# Fields that nobody fills in, and the key of a sign-in.
_UNSEEN = frozenset({"token", "once", "key", "to"})
_REUSED = "the form was sent before with other fields: go back, reload the page and send it again"

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


@dataclass(frozen=True)
class Visitor:
    """Who asks: the key of the session, its secret id, a name, and whether the key ends within 30 days."""

    key: Key
    identifier: str = field(repr=False)
    name: str
    ends_soon: bool = False

    @property
    def form_token(self) -> str:
        """What every form of the session carries."""
        return sessions.form_token(self.identifier)

    @property
    def first_links(self) -> tuple[Link, ...]:
        """The pages that stand in the bar."""
        return _FIRST

    @property
    def links(self) -> tuple[Link, ...]:
        """The pages that the key's role may read."""
        return _LINKS[Role(self.key.role)]


_FIRST = (
    Link("/console/questions", "What we know"),
    Link("/console/new", "New question"),
    Link("/console/populations", "Budget"),
    Link("/console/activity", "Activity"),
)
_READABLE = (
    Link("/console/campaigns", "Campaigns"),
    Link("/console/compare", "Compare"),
    Link("/console/experiments", "Experiments"),
    Link("/console/plans", "Plans"),
    Link("/console/populations", "Populations"),
    Link("/console/log", "Log"),
)
_LINKS = {
    Role.ANALYST: _READABLE,
    Role.ADMIN: (*_READABLE, Link("/console/keys", "Keys"), Link("/console/audit-log", "Audit log")),
}


async def analyst(request: Request) -> Visitor:
    """A session of an analyst's or admin's key."""
    visitor: Visitor = request.state.visitor
    return visitor


async def admin(request: Request) -> Visitor:
    """A session of an admin's key."""
    visitor: Visitor = request.state.visitor
    return visitor


async def form(request: Request) -> Mapping[str, str]:
    """The fields of the posted form."""
    fields: Mapping[str, str] = request.state.form
    return fields


Analyst = Annotated[Visitor, Depends(analyst)]
Admin = Annotated[Visitor, Depends(admin)]
Form = Annotated[Mapping[str, str], Depends(form)]
_ROLES = {analyst: Role.ANALYST, admin: Role.ADMIN}


class ConsoleRoute(APIRoute):
    """A route that signs in, checks tokens, and shows errors as pages; `.json` and `.csv` have problem documents.

    A page with a session is answered only where the session does not cross a network in the clear.
    """

    def get_route_handler(self) -> Handler:
        answer, role = super().get_route_handler(), wanted_role(self.dependant, _ROLES)

        async def handle(request: Request) -> Response:
            response = await respond(request)
            response.headers.update(headers_of_tls(request, request.app.state.context.settings))
            return response

        async def respond(request: Request) -> Response:
            request.state.visitor = None
            try:
                if role is not None:
                    await _admit(request, role)
                if request.method == "POST":
                    await _take_form(request)
                return await answer(request)
            except RequestValidationError as error:
                problem = invalid_request(error.errors())
            except InvalidValue as error:
                problem = ServerError(Problem.INVALID_REQUEST, str(error))
            except IllegalTransition as error:
                problem = ServerError(Problem.ILLEGAL_TRANSITION, str(error))
            except ServerError as error:
                problem = error
            return _error_page(request, problem, await _filled_in(request, problem))

        return handle


async def _admit(request: Request, wanted: Role) -> None:
    """Put the visitor into the request's state; raises `unauthorized` or `forbidden`."""
    context: Context = request.app.state.context
    check_safe(request, context.settings)
    identifier = cookies.given(request, context.settings, cookies.SESSION)
    if identifier is None:
        raise ServerError(Problem.UNAUTHORIZED, "sign in first")
    if not await sessions.is_made_here(request.app.state.known_keys, identifier):
        raise sessions.ended()
    visit = Visit.of(request, identifier)
    key, name = await anyio.to_thread.run_sync(visit.check, context, request.app.state.key_uses)
    soon = keys.ends_soon(key, context.clock.now())
    request.state.visitor = Visitor(key, identifier, name, soon)
    keys.allow(key, wanted)


async def _take_form(request: Request) -> None:
    """Parse the small body into the request's state; a signed-in visitor's must carry the token of the session."""
    request.state.form = await _read_form(request)
    visitor = request.state.visitor
    if visitor is not None:
        check_token(request.state.form, visitor.form_token)


async def _read_form(request: Request) -> dict[str, str]:
    if request.headers.get("content-type", "").partition(";")[0].strip() != _FORM_TYPE:
        raise ServerError(Problem.UNSUPPORTED_MEDIA_TYPE, f"send a form as {_FORM_TYPE}")
    async with ArrivingBody.of(request, SMALL_LIMIT) as arrived:
        return _fields(arrived.content)


async def _filled_in(request: Request, problem: ServerError) -> dict[str, str]:
    """What a person filled in, of a form that is refused because the session is over: a browser keeps none of it.

    Nothing of a form that another site sent, whose text would stand on a page of this server.
    """
    own = request.headers.get("sec-fetch-site") == "same-origin"
    if request.method != "POST" or not own or problem.problem not in (Problem.UNAUTHORIZED, Problem.FORBIDDEN):
        return {}
    try:
        fields = getattr(request.state, "form", None) or await _read_form(request)
    except ServerError:
        return {}
    return {name: value for name, value in fields.items() if name not in _UNSEEN and value.strip()}


def _fields(content: object) -> dict[str, str]:
    try:
        text = content.decode("utf-8") if isinstance(content, bytes) else ""
        fields = dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"))
    except ValueError as error:
        raise ServerError(Problem.MALFORMED_BODY, "the body is no form in UTF-8") from error
    if any("\x00" in each for pair in fields.items() for each in pair):
        # PostgreSQL stores and compares no such text.
        raise ServerError(Problem.MALFORMED_BODY, "the form has the character U+0000, which no text has: leave it out")
    return fields


def check_token(fields: Mapping[str, str], expected: str) -> None:
    """Raise `forbidden` unless the form carries the token."""
    given = fields.get("token", "").encode()
    if not secrets.compare_digest(given, expected.encode()):
        raise ServerError(
            Problem.FORBIDDEN, "the form is not from this session: go back, reload the page and send it again"
        )


def _error_page(request: Request, problem: ServerError, filled_in: Mapping[str, str]) -> Response:
    if request.url.path.endswith((".json", ".csv", ".svg")) or problem.problem.status >= 500:
        raise problem
    if problem.problem is Problem.UNAUTHORIZED and request.method in ("GET", "HEAD"):
        return _to_sign_in(request, renews=isinstance(problem, RenewalNeeded))
    reused = problem.problem is Problem.IDEMPOTENCY_CONFLICT
    retry_after = problem.extra.get("retry_after")
    response = render(
        "error.html",
        problem.problem.title.rstrip("."),
        visitor=request.state.visitor,
        status=problem.problem.status,
        detail=_REUSED if reused else problem.detail,
        kind=help_for_error(problem.problem),
        campaign=request.path_params.get("campaign_id"),
        retry_after=retry_after,
        filled_in=filled_in,
    )
    if retry_after is not None:
        response.headers["Retry-After"] = str(retry_after)
    return response


def to_sign_in(target: str) -> str:
    """The address of the form, which leads to this page of the console."""
    return f"{SIGN_IN}?{urlencode({'to': local_page(target)})}"


def _to_sign_in(request: Request, *, renews: bool) -> Response:
    """The way to the form; a part of a page that refreshes itself takes the whole page there."""
    context: Context = request.app.state.context
    in_page = "hx-request" in request.headers
    target = SIGN_IN
    if context.settings.people != "off":
        shown = urlsplit(request.headers.get("hx-current-url", "")) if in_page else request.url
        page = f"{shown.path}?{shown.query}" if shown.query else shown.path
        silent = urlencode({"to": local_page(page), "silent": "true"})
        target = f"{PERSON}?{silent}" if renews else to_sign_in(page)
    if in_page:
        return Response(status_code=401, headers={"HX-Redirect": target})
    return RedirectResponse(target, 303)
