"""/v1/campaigns/{campaign_id}/rounds/{index}/aggregates"""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Request, Response
from sqlalchemy.orm import Session

from sordino_analysis.archive.aggregate_document import AggregateDocument
from sordino_server.context import Injected
from sordino_server.errors import ServerError
from sordino_server.keys.authentication import Aggregator
from sordino_server.keys.idempotency import Once, PostAnswer
from sordino_server.keys.operator_route import LargeBodyRoute, OperatorRequest
from sordino_server.kit.path_parameters import DigestPath, RoundPath
from sordino_server.sources import service
from sordino_server.sources.schemas import SourceStatus
from sordino_shared.protocol import CBOR_MEDIA_TYPE, Problem

router = APIRouter(prefix="/campaigns", tags=["campaigns"], route_class=LargeBodyRoute)

_BODY = {
    "required": True,
    "content": {CBOR_MEDIA_TYPE: {"schema": {"type": "string", "format": "binary", "title": "aggregate document"}}},
}


@router.post(
    "/{campaign_id}/rounds/{index}/aggregates",
    status_code=201,
    response_model=SourceStatus,
    openapi_extra={"requestBody": _BODY},
)
def import_sums(
    context: Injected, key: Aggregator, once: Once, request: Request, campaign_id: DigestPath, index: RoundPath
) -> Response:
    """Add the sums of a source to a round: 201, or 200 where the same document is there. The body is CBOR."""
    sums = service.check(context.database, key, campaign_id, index, _document(request))

    def act(session: Session) -> PostAnswer:
        shown, new = service.take(context.database, session, campaign_id, index, sums, context.clock.now())
        path = f"{request.url.path}/{shown.source}" if new else ""
        return PostAnswer(201 if new else 200, shown.model_dump(mode="json"), changed=path)

    return once.run("import sums", act)


def _document(request: Request) -> AggregateDocument:
    assert isinstance(request, OperatorRequest)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != CBOR_MEDIA_TYPE:
        detail = f"send an aggregate document with Content-Type: {CBOR_MEDIA_TYPE}"
        raise ServerError(Problem.UNSUPPORTED_MEDIA_TYPE, detail)
    content = request.arrived.content
    return AggregateDocument.read(content.read_bytes() if isinstance(content, Path) else content)
