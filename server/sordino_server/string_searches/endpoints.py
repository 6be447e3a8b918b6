"""`/v1/campaigns/{id}/strings`: search the reports of a campaign of strings again, with a wider beam."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from sordino_analysis.documents.string_queries import MAX_BEAM
from sordino_server.answers.stored import RETRY_AFTER_S
from sordino_server.context import Injected
from sordino_server.keys import service as keys
from sordino_server.keys.authentication import Analyst
from sordino_server.keys.operator_route import OperatorRoute
from sordino_server.kit.path_parameters import DigestPath
from sordino_server.string_searches import service
from sordino_server.string_searches.follow_up import FollowUpDocument, document_of
from sordino_server.string_searches.schemas import UNFINISHED, SearchDocument, SearchOrder

_USUAL_LIMIT = 1000

router = APIRouter(tags=["estimates"], route_class=OperatorRoute)


@router.post("/campaigns/{campaign_id}/strings", status_code=202)
def begin_string_search(
    context: Injected, operator: Analyst, response: Response, campaign_id: DigestPath, order: SearchOrder
) -> SearchDocument:
    """Search the reports again with a wider beam: a job of a worker. The estimate stays as it is.

    200 where it is done. 409 where the reports were purged, and while another search of the campaign is not finished.
    """
    now = context.clock.now()
    with context.database.write("begin string search") as session:
        search, begins = service.order(session, campaign_id, order.beam, now)
        if begins:
            path = f"/v1/campaigns/{campaign_id}/strings"
            keys.record(session, operator, "search strings", path, now, after={"beam": order.beam})
        document = SearchDocument.of(search, now, _USUAL_LIMIT)
    return _answered(response, document)


@router.get("/campaigns/{campaign_id}/strings")
def get_string_search(
    context: Injected,
    _: Analyst,
    response: Response,
    campaign_id: DigestPath,
    beam: Annotated[int, Query(ge=2, le=MAX_BEAM, description="Of the search.")],
    limit: Annotated[int, Query(ge=1, le=MAX_BEAM, description="Most paths to list.")] = _USUAL_LIMIT,
) -> SearchDocument:
    """A wider search: 202 until it has ended, then its paths or its error."""
    now = context.clock.now()
    with context.database.read("get string search") as session:
        document = SearchDocument.of(service.get(session, campaign_id, beam, now), now, limit)
    return _answered(response, document)


@router.get("/campaigns/{campaign_id}/strings/follow-up")
def get_follow_up(context: Injected, _: Analyst, campaign_id: DigestPath) -> FollowUpDocument:
    """A workload that asks other devices for the certified strings of an estimate, with smaller errors."""
    with context.database.read("get follow-up") as session:
        return document_of(session, campaign_id, context.clock.now())


def _answered(response: Response, document: SearchDocument) -> SearchDocument:
    response.status_code = 202 if document.state in UNFINISHED else 200
    if document.state in UNFINISHED:
        response.headers["Retry-After"] = str(RETRY_AFTER_S)
    return document
