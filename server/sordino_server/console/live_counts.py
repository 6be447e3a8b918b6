"""The counts of open campaigns for browsers that ask every two seconds: raw ASGI in front of the routes.

What a route does for a request would cost more than the counts, which are made once a second for all browsers together.
"""

from __future__ import annotations

import re
from functools import partial

from fastapi import APIRouter, Request, Response
from sqlalchemy.orm import Session
from starlette.datastructures import State
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from sordino_server.aggregates import last_reports
from sordino_server.campaigns import service as campaigns
from sordino_server.campaigns.progress import rate_of
from sordino_server.campaigns.status import status_of
from sordino_server.console import cookies, sessions
from sordino_server.console.console_route import Analyst, ConsoleRoute
from sordino_server.console.known_sessions import AliveSessions
from sordino_server.console.rendering import HEADERS, fragment
from sordino_server.console.running_campaign import KeptRates, ReportRates, RunningCampaign
from sordino_server.console.shared_texts import SharedTexts
from sordino_server.context import Context
from sordino_server.errors import ServerError
from sordino_server.kit.path_parameters import DigestPath
from sordino_shared.protocol import WHOLE_WEIGHT, DrawOneRound, Manifest

router = APIRouter(prefix="/console", route_class=ConsoleRoute)

# Caches keep such a page for a minute, and a large estimate takes long to draw.
_PUBLIC_S = 10.0
_PATH = re.compile(r"/console/campaigns/([0-9a-f]{64})/counts")
_TYPE = (b"content-type", b"text/html; charset=utf-8")
_FIXED = [_TYPE, *((name.lower().encode(), value.encode()) for name, value in HEADERS.items())]


def prepare(app_state: State) -> None:
    """Give the state what is shared between requests."""
    app_state.live_counts = SharedTexts()
    # Anybody may ask for these, and for any number of campaigns that there are not.
    app_state.public_texts = SharedTexts(_PUBLIC_S)
    app_state.report_rates = ReportRates()
    app_state.hourly_rates = KeptRates()
    app_state.alive_sessions = AliveSessions(partial(sessions.alive, app_state.context))


def running_campaign(session: Session, campaign_id: str, app_state: State) -> RunningCampaign:
    """The campaign now, and its rate; raises `not-found`."""
    context: Context = app_state.context
    rates: ReportRates = app_state.report_rates
    hourly: KeptRates = app_state.hourly_rates
    now = context.clock.now()
    row = campaigns.get(session, campaign_id)
    status = status_of(session, row, now)
    return RunningCampaign(
        campaign=status,
        last_report_at=last_reports(session, [campaign_id]).get(campaign_id),
        rate=rates.note(campaign_id, sum(each.reports for each in status.rounds)),
        first_share=_first_share(Manifest.read(row.manifest)),
        now=now,
        hourly=hourly.get(campaign_id, lambda: rate_of(session, status, now)),
    )


def _first_share(manifest: Manifest) -> float | None:
    drawn = manifest.assignment
    return drawn.weights[0] / WHOLE_WEIGHT if isinstance(drawn, DrawOneRound) and len(drawn.weights) == 2 else None


async def _counts(app_state: State, campaign_id: str) -> bytes:
    """The fragment, at most a second old; raises `not-found`."""
    context: Context = app_state.context
    texts: SharedTexts = app_state.live_counts

    def make() -> bytes:
        with context.database.read("console counts") as session:
            running = running_campaign(session, campaign_id, app_state)
        return fragment("counts.html", running=running).encode()

    return await texts.get(campaign_id, make)


@router.get("/campaigns/{campaign_id}/counts")
async def get_counts(_: Analyst, request: Request, campaign_id: DigestPath) -> Response:
    """The part of the page that changes while a campaign is open."""
    return HTMLResponse(await _counts(request.app.state, campaign_id), headers=HEADERS)


# The name under which requests are observed, in both implementations.
ROUTE = router.routes[-1]


class LiveCounts:
    """ASGI application that answers `get_counts` for sessions that are alive, and hands everything else to `app`."""

    def __init__(self, app: ASGIApp, app_state: State) -> None:
        self._app = app
        self._state = app_state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wanted = scope["type"] == "http" and scope["method"] == "GET" and not scope["query_string"]
        match = _PATH.fullmatch(scope["path"]) if wanted else None
        if match is None or not await self._may_read(scope):
            await self._app(scope, receive, send)
            return
        try:
            content = await _counts(self._state, match[1])
        except ServerError:
            # The route says it in a page.
            await self._app(scope, receive, send)
            return
        scope["route"] = ROUTE
        headers = [*_FIXED, (b"content-length", b"%d" % len(content))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    async def _may_read(self, scope: Scope) -> bool:
        """Whether the session is alive. Every session may read: an upload token has none."""
        context: Context = self._state.context
        found = cookies.given(HTTPConnection(scope), context.settings, cookies.SESSION)
        if found is None or not await sessions.is_made_here(self._state.known_keys, found):
            return False
        alive: AliveSessions = self._state.alive_sessions
        return await alive.has(sessions.hashed(found))
