"""/v1/estimates"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response

from sordino_server.context import Injected
from sordino_server.estimates.table import written
from sordino_server.exports import service
from sordino_server.exports.schemas import ResultDocument
from sordino_server.identifiers import DigestText
from sordino_server.keys.authentication import Analyst
from sordino_server.keys.operator_route import OperatorRoute

router = APIRouter(prefix="/estimates", tags=["estimates"], route_class=OperatorRoute)

_CSV: dict[int | str, dict[str, Any]] = {200: {"content": {"text/csv": {}}}}
_HEADERS = {"Cache-Control": "no-store", "Vary": "Accept"}
Campaigns = Annotated[
    list[DigestText],
    Query(min_length=1, max_length=service.MOST_CAMPAIGNS, description="Id of a campaign; repeat it for more."),
]
Form = Annotated[Literal["rows", "csv"] | None, Query(alias="format", description="Overrides the Accept header.")]


@router.get("", response_model=ResultDocument, responses=_CSV)
def export_estimates(
    context: Injected, _: Analyst, request: Request, campaign: Campaigns, form: Form = None
) -> Response:
    """The estimates of closed campaigns as one table: a row for each query or statistic, the bounds as numbers."""
    with context.database.read("export estimates") as session:
        table = service.table_of(session, campaign, context.clock.now())
    if form == "csv" or (form is None and "text/csv" in request.headers.get("accept", "").lower()):
        content = written([tuple(table.columns), *table.rows()])
        return Response(content, headers=_HEADERS, media_type="text/csv; header=present")
    shown = json.dumps(table.document(), ensure_ascii=False, allow_nan=False)
    return Response(shown, headers=_HEADERS, media_type="application/json")
