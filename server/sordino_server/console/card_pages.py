"""/console/campaigns/{id}/card and /status/{id}/card: the card as a page that prints"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from starlette.responses import HTMLResponse

from sordino_server.cards.schemas import Card
from sordino_server.console.console_route import Analyst, ConsoleRoute
from sordino_server.console.shared_texts import SharedTexts
from sordino_server.console.status_pages import check_public, shared
from sordino_server.context import Context, Injected
from sordino_server.kit.path_parameters import DigestPath

router = APIRouter(route_class=ConsoleRoute)

# The campaigns of the same population are not public because this one is.
_NOT_PUBLIC = ("accounting",)


@router.get("/console/campaigns/{campaign_id}/card")
def get_card(_: Analyst, context: Injected, campaign_id: DigestPath) -> Response:
    """The card of a campaign, as `sordino card --html` writes it."""
    return _response(_card(context, campaign_id))


@router.get("/status/{campaign_id}/card")
async def get_public_card(request: Request, context: Injected, campaign_id: DigestPath) -> Response:
    """The card of a public campaign, without what its population has spent; 404 for any other."""
    texts: SharedTexts = request.app.state.public_texts
    content = await texts.get(f"/status/{campaign_id}/card", lambda: _public_page(context, campaign_id))
    return shared(HTMLResponse(content, headers=_headers()))


def _response(card: Card) -> Response:
    # Imported here: cards are rare, and the API process is small.
    from sordino_server.cards import page

    return HTMLResponse(page.page(card), headers=_headers())


def _headers() -> dict[str, str]:
    from sordino_server.cards import page

    return {"Content-Security-Policy": f"{page.POLICY}; frame-ancestors 'none'", "Cache-Control": "no-store"}


def _public_page(context: Context, campaign_id: str) -> bytes:
    from sordino_server.cards import page

    check_public(context, campaign_id)
    return page.page(_card(context, campaign_id).without(*_NOT_PUBLIC)).encode()


def _card(context: Context, campaign_id: str) -> Card:
    from sordino_server.cards import service

    with context.database.read("card") as session:
        return service.of_campaign(session, context.settings, campaign_id, context.clock.now())
