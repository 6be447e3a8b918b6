"""Links to a result: forms that make and revoke them, and /shared/{token}, which anybody who holds one may read"""

from __future__ import annotations

from functools import partial
from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Path, Request, Response
from sqlalchemy.orm import Session
from starlette.datastructures import State
from starlette.responses import HTMLResponse, RedirectResponse

from sordino_server.answers.finding import finding_document
from sordino_server.answers.stored import stored_content
from sordino_server.campaigns import service as campaigns
from sordino_server.console.console_route import Analyst, ConsoleRoute, Form
from sordino_server.console.estimate_pages import result_values
from sordino_server.console.form_once import FormOnce
from sordino_server.console.rendering import HEADERS, fragment, render
from sordino_server.console.shared_texts import SharedTexts
from sordino_server.context import Context, Injected
from sordino_server.errors import ServerError
from sordino_server.keys import service as keys
from sordino_server.keys.idempotency import PostAnswer
from sordino_server.kit.path_parameters import DigestPath
from sordino_server.share_links import service
from sordino_server.share_links.endpoints import LinkPath, path_of
from sordino_server.share_links.opening_counts import OpeningCounts
from sordino_server.share_links.service import OpenedLink
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Manifest, Problem

router = APIRouter(route_class=ConsoleRoute)

# What the form offers, and days until the link ends.
ENDS = {"30": 30, "7": 7, "revoked": None}
_DAY_S = 86_400
_SHOWN_ROWS = 100
# Anyone who has the address may read the page: it is in no cache, no index, and no other site's log.
_HEADERS = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex, nofollow"}

# As long as the page of a public campaign.
_MADE_EVERY_S = 10.0
_Token = Annotated[str, Path(description="What a link is opened with.")]


def prepare(app_state: State) -> None:
    """Give the state what is shared between requests: pages by link, and openings that are not stored yet."""
    context: Context = app_state.context
    app_state.shared_results = SharedTexts(_MADE_EVERY_S)
    app_state.opening_counts = OpeningCounts(partial(service.count_openings, context.database))


@router.post("/console/campaigns/{campaign_id}/share-links")
def share(
    visitor: Analyst, request: Request, context: Injected, once: FormOnce, form: Form, campaign_id: DigestPath
) -> Response:
    """Make a link and show it, once: the form sent again makes no second link."""
    chosen, now = form.get("until", ""), context.clock.now()
    if chosen not in ENDS:
        raise InvalidValue("/until: choose one of the ends that the form offers", chosen)
    days = ENDS[chosen]

    def act(session: Session) -> PostAnswer:
        until = None if days is None else now + days * _DAY_S
        new = service.create(session, campaign_id, until, visitor.name, now)
        shown, changed = new.model_dump(mode="json"), path_of(campaign_id, new.id)
        return PostAnswer(201, shown, remembered=shown | {"path": None}, changed=changed, after={"until": until})

    link = once.answer("create share link", act).document()
    address = None if link["path"] is None else str(request.base_url).rstrip("/") + link["path"]
    shown = {"campaign": campaign_id, "link": link, "address": address}
    return render("share_link.html", "A link to the result", visitor=visitor, status=201, **shown)


@router.post("/console/campaigns/{campaign_id}/share-links/{link_id}/revoke")
def take_back(visitor: Analyst, context: Injected, campaign_id: DigestPath, link_id: LinkPath) -> Response:
    """Revoke a link; sent again, nothing changes."""
    now, action = context.clock.now(), "revoke share link"
    with context.database.write(action) as session:
        _, changed = service.revoke(session, campaign_id, link_id, now)
        if changed:
            keys.record(session, visitor.key, action, path_of(campaign_id, link_id), now, after={"revoked_at": now})
    return RedirectResponse(f"/console/campaigns/{campaign_id}/estimate#links", 303)


@router.get("/shared/{token}")
async def read_shared(request: Request, context: Injected, token: _Token) -> Response:
    """The result, for anyone with the link: sentences, picture and table, and no way into the console.

    Whether a link opens is looked up each time, so that one that was taken back is closed at once; what it shows is
    made once in ten seconds at most.
    """
    counts: OpeningCounts = request.app.state.opening_counts
    texts: SharedTexts = request.app.state.shared_results
    try:
        link = await anyio.to_thread.run_sync(_opened, context, token)
        await counts.note(link.link)
        content = await texts.get(f"{link.link}/{link.cancelled}", lambda: _result(context, link))
        response: Response = HTMLResponse(content, headers=HEADERS)
    except ServerError as error:
        if error.problem is not Problem.NOT_FOUND:
            raise
        # A page like the result's: anyone who holds an ended link has no key either, and is offered no sign-in.
        response = render("shared_gone.html", "This link shows no result", status=404, detail=error.detail)
    response.headers.update(_HEADERS)
    return response


def _opened(context: Context, token: str) -> OpenedLink:
    with context.database.read("shared link") as session:
        return service.opened(session, token, context.clock.now())


def _result(context: Context, link: OpenedLink) -> bytes:
    """The page of a link that opens."""
    with context.database.read("shared result") as session:
        campaign = campaigns.get(session, link.campaign)
        name, is_experiment = campaign.name, bool(Manifest.read(campaign.manifest).arms)
        shows_verdict = is_experiment and not link.cancelled
        told = finding_document(session, link.campaign, context.clock.now()) if shows_verdict else None
        # What all arms answered together says nothing of their difference: an experiment shows its verdict alone.
        content = None if link.cancelled or is_experiment else stored_content(session, link.round)
    values = {} if content is None else result_values(content, _SHOWN_ROWS)
    shown = {"title": name, "finding": None, "verdict": told, "cancelled": link.cancelled}
    return fragment("shared.html", **{**shown, **values}).encode()
