"""`/v1/campaigns/{id}/share-links`: links to a result for people without a key"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from sordino_server.context import Injected
from sordino_server.keys import service as keys
from sordino_server.keys.authentication import Analyst
from sordino_server.keys.operator_route import OperatorRoute
from sordino_server.kit.path_parameters import DigestPath
from sordino_server.share_links import service
from sordino_server.share_links.schemas import NewShareLink, ShareLinkDocument, ShareLinkList, ShareLinkOrder

router = APIRouter(tags=["estimates"], route_class=OperatorRoute)

LinkPath = Annotated[int, Path(ge=1, lt=2**53)]


@router.post("/campaigns/{campaign_id}/share-links", status_code=201)
def create_share_link(
    context: Injected, operator: Analyst, campaign_id: DigestPath, order: ShareLinkOrder
) -> NewShareLink:
    """Make a link to the campaign's last estimate, which opens without a key; its `path` is shown only once."""
    now = context.clock.now()
    with context.database.write("create share link") as session:
        new = service.create(session, campaign_id, order.until, operator.name, now)
        keys.record(
            session, operator, "create share link", path_of(campaign_id, new.id), now, after={"until": new.until}
        )
    return new


@router.get("/campaigns/{campaign_id}/share-links")
def list_share_links(context: Injected, _: Analyst, campaign_id: DigestPath) -> ShareLinkList:
    """All links to the campaign's estimates, revoked ones too, newest first."""
    with context.database.read("list share links") as session:
        return service.listed(session, campaign_id)


@router.delete("/campaigns/{campaign_id}/share-links/{link_id}")
def revoke_share_link(
    context: Injected, operator: Analyst, campaign_id: DigestPath, link_id: LinkPath
) -> ShareLinkDocument:
    """Take a link back at once; again, nothing changes."""
    now = context.clock.now()
    with context.database.write("revoke share link") as session:
        link, changed = service.revoke(session, campaign_id, link_id, now)
        if changed:
            path = path_of(campaign_id, link_id)
            keys.record(session, operator, "revoke share link", path, now, after={"revoked_at": now})
        return ShareLinkDocument.of(link)


def path_of(campaign: str, link: int) -> str:
    """As the audit log names a link, whose secret it never has."""
    return f"/v1/campaigns/{campaign}/share-links/{link}"
