"""How the door for devices is described: the front door answers its requests before routes are looked at."""

from __future__ import annotations

from fastapi import APIRouter, Response

from sordino_server.errors import ServerError
from sordino_shared.protocol import CBOR_MEDIA_TYPE, Problem

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
async def post_reports(campaign: str, index: int) -> Response:
    """Takes a `report_batch`, returns `report_outcomes` after the commit. With any other status nothing counted."""
    raise ServerError(
        Problem.NOT_FOUND,
        "a campaign is named by 64 lower-case hexadecimal digits, a round or period by a number below 2^32; "
        f"there is none like {campaign!r} and {index!r}",
    )


# The name under which requests are observed, in both implementations.
ROUTE = router.routes[-1]
