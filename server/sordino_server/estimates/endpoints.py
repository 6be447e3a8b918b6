"""/v1/campaigns/{id}/estimates and /v1/campaigns/{id}/rounds/{r}/estimates"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from sordino_server.context import Injected
from sordino_server.estimates import service
from sordino_server.estimates.schemas import AnyEstimate
from sordino_server.estimates.views import CSV_RESPONSES, NOT_STORED, Form, as_asked
from sordino_server.keys.authentication import Analyst
from sordino_server.keys.operator_route import OperatorRoute
from sordino_server.kit.path_parameters import DigestPath, RoundPath

router = APIRouter(prefix="/campaigns", tags=["estimates"], route_class=OperatorRoute)


@router.get("/{campaign_id}/estimates", response_model=AnyEstimate, responses=CSV_RESPONSES)
def get_campaign_estimates(
    context: Injected, _: Analyst, request: Request, campaign_id: DigestPath, form: Form = None
) -> Response:
    """The estimate that the rounds of a campaign led to, the same bytes on every read; a table with `format=csv`."""
    with context.database.read("get estimates") as session:
        content = service.stored_last(session, campaign_id, context.clock.now())
    return as_asked(request, content, form, NOT_STORED)


@router.get("/{campaign_id}/rounds/{index}/estimates", response_model=AnyEstimate, responses=CSV_RESPONSES)
def get_estimates(
    context: Injected, _: Analyst, request: Request, campaign_id: DigestPath, index: RoundPath, form: Form = None
) -> Response:
    """The estimate of a closed round, the same bytes on every read; as a table with `format=csv`."""
    with context.database.read("get estimates") as session:
        content = service.stored(session, campaign_id, index, context.clock.now())
    return as_asked(request, content, form, NOT_STORED)
