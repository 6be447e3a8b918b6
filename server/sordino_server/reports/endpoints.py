"""The door for devices: one request of 1 to 4096 reports, answered when they are committed."""

from __future__ import annotations

import asyncio
from typing import NoReturn

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from sordino_server.errors import ServerError
from sordino_server.reports.uploads import RefusedRequest, Upload
from sordino_server.reports.writer import ReportWriter
from sordino_shared.errors import OversizedDocument, ProtocolError
from sordino_shared.protocol import CBOR_MEDIA_TYPE, Digest, Problem, ReportBatch, ReportOutcomes

router = APIRouter(tags=["devices"])

_BODY = {
    "required": True,
    "content": {CBOR_MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
}


@router.post(
    "/v1/campaigns/{campaign}/rounds/{index}/reports",
    summary="Count reports exactly once",
    response_class=Response,
    responses={200: {"description": "Committed; refused reports by index", "content": {CBOR_MEDIA_TYPE: {}}}},
    openapi_extra={"requestBody": _BODY},
)
async def post_reports(campaign: str, index: int, request: Request) -> Response:
    """A `report_batch` document in, a `report_outcomes` document out; anything but 200 counted nothing."""
    writer: ReportWriter = request.app.state.report_writer
    try:
        _check_campaign(campaign, index)
        _check_headers(request)
        body = await _read_body(request)
        upload = Upload.of(campaign, index, _read_batch(body))
    except ServerError as error:
        await _refuse(writer, campaign, error)
    outcomes: ReportOutcomes = await asyncio.wrap_future(writer.submit(upload))
    return Response(outcomes.content, media_type=CBOR_MEDIA_TYPE)


async def _refuse(writer: ReportWriter, campaign: str, error: ServerError) -> NoReturn:
    """Count the refusal before it is told; a campaign that does not exist has no counter."""
    if error.problem is not Problem.NOT_FOUND:
        await asyncio.wrap_future(writer.refuse(RefusedRequest(campaign, error.problem)))
    raise error


def _check_campaign(campaign: str, index: int) -> None:
    try:
        Digest.parse(campaign)
    except ValueError as error:
        raise ServerError(Problem.NOT_FOUND, str(error)) from error
    if not 0 <= index < 2**31:
        raise ServerError(Problem.NOT_FOUND, f"there is no round {index}")


def _check_headers(request: Request) -> None:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != CBOR_MEDIA_TYPE:
        raise ServerError(Problem.UNSUPPORTED_MEDIA_TYPE, f"send reports as {CBOR_MEDIA_TYPE}, got {media_type!r}")
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding != "identity":
        raise ServerError(Problem.UNSUPPORTED_MEDIA_TYPE, f"send reports without content coding, got {coding!r}")


async def _read_body(request: Request) -> bytes:
    """The whole body, given up as soon as it is longer than a batch may be."""
    parts: list[bytes] = []
    size = 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > ReportBatch.limit:
                raise _too_large()
            parts.append(part)
    except ClientDisconnect as error:
        raise ServerError(Problem.MALFORMED_BODY, "the body broke off") from error
    except HTTPException as error:
        # The limit of every body came first: one piece went beyond both, and this refusal is counted like the other.
        raise _too_large() from error
    return b"".join(parts)


def _too_large() -> ServerError:
    limit = ReportBatch.limit
    return ServerError(Problem.TOO_LARGE, f"a report batch has at most {limit} bytes; send fewer reports")


def _read_batch(body: bytes) -> ReportBatch:
    try:
        return ReportBatch.read(body)
    except OversizedDocument as error:
        raise ServerError(Problem.TOO_LARGE, str(error)) from error
    except ProtocolError as error:
        raise ServerError(Problem.MALFORMED_BODY, str(error)) from error
