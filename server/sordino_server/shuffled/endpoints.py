"""/v1/campaigns/{campaign_id}/rounds/{index}/batch"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Request, Response
from fastapi import Path as PathParameter
from sqlalchemy.orm import Session

from sordino_server.context import Context, Injected
from sordino_server.errors import ServerError
from sordino_server.keys import service as keys
from sordino_server.keys.authentication import Analyst, Shuffler
from sordino_server.keys.operator_route import LargeBodyRoute, OperatorRequest
from sordino_server.kit.path_parameters import DigestPath, RoundPath
from sordino_server.shuffled import service
from sordino_server.shuffled.schemas import BatchStatus
from sordino_shared.protocol import CBOR_MEDIA_TYPE, Problem
from sordino_shared.protocol.sealed import MAX_PAGE, BatchStatement, ShuffledPage

router = APIRouter(prefix="/campaigns", tags=["campaigns"], route_class=LargeBodyRoute)

PagePath = Annotated[int, PathParameter(ge=0, le=MAX_PAGE)]
_Taken = Callable[[Session], tuple[BatchStatus, bool]]


def _body(title: str) -> dict[str, object]:
    content = {CBOR_MEDIA_TYPE: {"schema": {"type": "string", "format": "binary", "title": title}}}
    return {"requestBody": {"required": True, "content": content}}


@router.get("/{campaign_id}/rounds/{index}/batch")
def get_batch(context: Injected, _: Analyst, campaign_id: DigestPath, index: RoundPath) -> BatchStatus:
    """How far the batch of a shuffled round is."""
    with context.database.read("get batch") as session:
        return service.status(session, campaign_id, index)


@router.post(
    "/{campaign_id}/rounds/{index}/batch/{page}",
    status_code=201,
    response_model=BatchStatus,
    openapi_extra=_body("shuffled_page"),
)
def push_page(
    context: Injected, key: Shuffler, request: Request, campaign_id: DigestPath, index: RoundPath, page: PagePath
) -> Response:
    """Take a page of a batch from its shuffler: 201, or 200 where it is here already. The body is CBOR."""
    keys.check_shuffler(key, campaign_id)
    document = ShuffledPage.read(_content(request))
    return _answered(
        context,
        "take page",
        lambda session: service.take_page(
            context.database, session, campaign_id, index, page, document, context.clock.now()
        ),
    )


@router.put(
    "/{campaign_id}/rounds/{index}/batch",
    status_code=201,
    response_model=BatchStatus,
    openapi_extra=_body("batch_statement"),
)
def put_statement(
    context: Injected, key: Shuffler, request: Request, campaign_id: DigestPath, index: RoundPath
) -> Response:
    """Take the shuffler's signed statement after the last page: 201, or 200 where it is here already."""
    keys.check_shuffler(key, campaign_id)
    document = BatchStatement.read(_content(request))
    return _answered(
        context,
        "take statement",
        lambda session: service.take_statement(
            context.database, session, campaign_id, index, document, context.clock.now()
        ),
    )


def _answered(context: Context, name: str, take: _Taken) -> Response:
    shown, new = context.database.run(name, take)
    return Response(shown.model_dump_json(), status_code=201 if new else 200, media_type="application/json")


def _content(request: Request) -> bytes:
    assert isinstance(request, OperatorRequest)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != CBOR_MEDIA_TYPE:
        raise ServerError(Problem.UNSUPPORTED_MEDIA_TYPE, f"send the document with Content-Type: {CBOR_MEDIA_TYPE}")
    content = request.arrived.content
    return content.read_bytes() if isinstance(content, Path) else content
