"""/v1/campaigns/{id}/rounds/{r}/estimates"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request, Response

from sordino_server.context import Injected
from sordino_server.estimates import service
from sordino_server.estimates.document import EstimateDocument
from sordino_server.estimates.table import as_csv
from sordino_server.identifiers import DigestPath
from sordino_server.keys.authentication import Analyst
from sordino_shared.protocol.campaigns import MAX_ROUNDS

router = APIRouter(prefix="/campaigns", tags=["estimates"])

_HEADERS = {"Cache-Control": "no-store", "Vary": "Accept"}


@router.get(
    "/{campaign_id}/rounds/{index}/estimates",
    response_model=EstimateDocument,
    responses={200: {"content": {"text/csv": {}}}},
)
def get_estimates(
    context: Injected,
    _: Analyst,
    request: Request,
    campaign_id: DigestPath,
    index: Annotated[int, Path(ge=0, lt=MAX_ROUNDS, description="Number of the round, from 0.")],
    form: Annotated[Literal["json", "csv"] | None, Query(alias="format", description="Wins over Accept.")] = None,
) -> Response:
    """The estimate of a closed round, the same bytes on every read; as a table with `format=csv`."""
    with context.database.read("get estimates") as session:
        content = service.stored(session, campaign_id, index)
    if form == "csv" or (form is None and "text/csv" in request.headers.get("accept", "").lower()):
        return Response(as_csv(content), headers=_HEADERS, media_type="text/csv; header=present")
    return Response(content, headers=_HEADERS, media_type="application/json")
