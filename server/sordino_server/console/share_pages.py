"""Links to a result: forms that make and revoke them, and /shared/{token}, which anybody who holds one may read"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from sqlalchemy.orm import Session
from starlette.responses import RedirectResponse

from sordino_server.answers.finding import finding_document
from sordino_server.console.console_route import Analyst, ConsoleRoute, Form
from sordino_server.console.estimate_pages import result_values
from sordino_server.console.form_once import FormOnce
from sordino_server.console.rendering import render
from sordino_server.context import Context, Injected
from sordino_server.errors import ServerError
from sordino_server.keys import service as keys
from sordino_server.keys.idempotency import PostAnswer
from sordino_server.kit.path_parameters import DigestPath
from sordino_server.share_links import service
from sordino_server.share_links.endpoints import LinkPath, path_of
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Manifest, Problem

router = APIRouter(route_class=ConsoleRoute)

# What the form offers, and days until the link ends.
ENDS = {"30": 30, "7": 7, "revoked": None}
_DAY_S = 86_400
_SHOWN_ROWS = 100
# Anyone who has the address may read the page: it is in no cache, no index, and no other site's log.
_HEADERS = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex, nofollow"}

_Token = Annotated[str, Path(description="What a link is opened with.")]


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
def read_shared(context: Injected, token: _Token) -> Response:
    """The result, for anyone with the link: sentences, picture and table, and no way into the console."""
    try:
        response = _result(context, token)
    except ServerError as error:
        if error.problem is not Problem.NOT_FOUND:
            raise
        # A page like the result's: anyone who holds an ended link has no key either, and is offered no sign-in.
        response = render("shared_gone.html", "This link shows no result", status=404, detail=error.detail)
    response.headers.update(_HEADERS)
    return response


def _result(context: Context, token: str) -> Response:
    """The page of a link that opens; raises `not-found` for any other one."""
    now = context.clock.now()
    with context.database.read("shared result") as session:
        result = service.opened(session, token, now)
        is_experiment = bool(Manifest.read(result.campaign.manifest).arms)
        told = finding_document(session, result.campaign.id, now) if is_experiment and result.content else None
    with context.database.write("count opening") as session:
        service.count_opening(session, result.link)
    # What all arms answered together says nothing of their difference: an experiment shows its verdict alone.
    values = {} if result.content is None or is_experiment else result_values(result.content, _SHOWN_ROWS)
    shown = {"campaign": result.campaign, "verdict": told, "cancelled": result.content is None}
    return render("shared.html", result.campaign.name, **{"finding": None, **shown, **values})
