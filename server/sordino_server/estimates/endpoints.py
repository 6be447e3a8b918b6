"""/v1/campaigns/{id}/estimates and /v1/campaigns/{id}/rounds/{r}/estimates"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response

from sordino_analysis.answers.csv_text import CSV_TYPE, as_csv
from sordino_server.context import Injected
from sordino_server.estimates import service
from sordino_server.estimates.schemas import AnyEstimate
from sordino_server.estimates.stored_estimate import read_estimate
from sordino_server.keys.authentication import Analyst
from sordino_server.keys.operator_route import OperatorRoute
from sordino_server.kit.path_parameters import DigestPath, RoundPath

router = APIRouter(prefix="/campaigns", tags=["estimates"], route_class=OperatorRoute)

Form = Annotated[Literal["json", "csv"] | None, Query(alias="format", description="Overrides the Accept header.")]

CSV_RESPONSES: dict[int | str, dict[str, Any]] = {200: {"content": {"text/csv": {}}}}
_HEADERS = {"Cache-Control": "no-store", "Vary": "Accept"}


@router.get("/{campaign_id}/estimates", response_model=AnyEstimate, responses=CSV_RESPONSES)
def get_campaign_estimates(
    context: Injected, _: Analyst, request: Request, campaign_id: DigestPath, form: Form = None
) -> Response:
    """The estimate that the rounds of a campaign led to, the same bytes on every read; a table with `format=csv`."""
    with context.database.read("get estimates") as session:
        content = service.stored_last(session, campaign_id, context.clock.now())
    return _as_asked(request, content, form)


@router.get("/{campaign_id}/rounds/{index}/estimates", response_model=AnyEstimate, responses=CSV_RESPONSES)
def get_estimates(
    context: Injected, _: Analyst, request: Request, campaign_id: DigestPath, index: RoundPath, form: Form = None
) -> Response:
    """The estimate of a closed round, the same bytes on every read; as a table with `format=csv`."""
    with context.database.read("get estimates") as session:
        content = service.stored(session, campaign_id, index, context.clock.now())
    return _as_asked(request, content, form)


def wants_csv(request: Request, form: Form) -> bool:
    """Whether a table is asked for, by `format` or by the Accept header."""
    return form == "csv" or (form is None and "text/csv" in request.headers.get("accept", "").lower())


def _as_asked(request: Request, content: bytes, form: Form) -> Response:
    if wants_csv(request, form):
        return Response(as_csv(read_estimate(content).table), headers=_HEADERS, media_type=CSV_TYPE)
    return Response(content, headers=_HEADERS, media_type="application/json")
