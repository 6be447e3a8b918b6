"""Fetch a document of the server, or the reason why there is none."""

from __future__ import annotations

import logging

from sordino_client._clock import Clock, seconds
from sordino_client._delivery import problem_slug, retry_after_s
from sordino_client._errors import PlanRefused, PlanUnavailable, TransportFailed
from sordino_client._flow import Flow
from sordino_client._transport import Request, Response
from sordino_shared.errors import OversizedDocument
from sordino_shared.protocol import CBOR_MEDIA_TYPE, CampaignId, DevicePart, Digest

_LOG = logging.getLogger("sordino_client")
TEXT_MEDIA_TYPE = "text/plain"


def fetch(what: str, path: str, limit: int, clock: Clock) -> Flow[bytes]:
    """The bytes at `path`, at most `limit`; the caller verifies them. `what` names them in errors.

    Raises `PlanUnavailable`, and `PlanRefused` for more bytes.
    """
    return (yield from fetch_response(what, path, limit, clock)).content


def fetch_text(what: str, path: str, limit: int, clock: Clock) -> Flow[bytes]:
    """As `fetch`, for a document that is text."""
    return (yield from fetch_response(what, path, limit, clock, TEXT_MEDIA_TYPE)).content


def fetch_plan(digest: Digest, limit: int, clock: Clock) -> Flow[bytes]:
    """The bytes of the device part that `digest` names, at most the `limit` that the app allows; see `fetch`."""
    try:
        return (yield from fetch("plan", f"/v1/plans/{digest}", limit, clock))
    except PlanRefused as error:
        if limit == DevicePart.limit or not isinstance(error.__cause__, OversizedDocument):
            raise
        reason = f"it is larger than the {limit:,} bytes that this app's largest_part allows its devices"
        raise PlanRefused("plan", reason) from error.__cause__


def fetch_response(what: str, path: str, limit: int, clock: Clock, media_type: str = CBOR_MEDIA_TYPE) -> Flow[Response]:
    """The whole response with the bytes at `path`, for its headers; see `fetch`."""
    try:
        response = yield Request(method="GET", path=path, limit=limit, accept=media_type)
    except TransportFailed as error:
        raise PlanUnavailable(what, str(error)) from error
    except OversizedDocument as error:
        raise PlanRefused(what, str(error)) from error
    return _read(what, response, media_type, clock)


def post(what: str, path: str, body: bytes, limit: int, clock: Clock) -> Flow[bytes]:
    """The bytes that answer a document sent to `path`, at most `limit`; see `fetch`."""
    try:
        response = yield Request(method="POST", path=path, limit=limit, body=body)
    except TransportFailed as error:
        raise PlanUnavailable(what, str(error)) from error
    except OversizedDocument as error:
        raise PlanRefused(what, str(error)) from error
    return _read(what, response, CBOR_MEDIA_TYPE, clock).content


def _read(what: str, response: Response | None, media_type: str, clock: Clock) -> Response:
    """The response if it has the document; raises `PlanUnavailable`."""
    assert response is not None
    if response.status == 200:
        _check_media_type(what, response, media_type)
        return response
    slug = problem_slug(response)
    reason = f"HTTP {response.status}{f' ({slug})' if slug else ''}"
    raise PlanUnavailable(what, reason, response.status, slug, retry_after_s(response, seconds(clock)))


def warn_offline(campaign: CampaignId, error: Exception) -> None:
    """Say in the log that answering will need a connection."""
    _LOG.warning("Campaign %s cannot be answered without a connection: %s.", campaign, error)


def _check_media_type(what: str, response: Response, expected: str) -> None:
    """Raise `PlanUnavailable` for a page in the server's place, such as the login page of a network."""
    media_type = response.headers.get("content-type", expected).partition(";")[0].strip().lower()
    if media_type != expected:
        raise PlanUnavailable(what, f"the answer is {media_type[:100]!r}, not {expected}")
