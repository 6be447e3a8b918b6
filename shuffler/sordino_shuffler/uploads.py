"""The body of an upload: bounded in bytes and time, and every report of it of the campaign's one width."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from sordino_shared.errors import SordinoError
from sordino_shared.protocol import CBOR_MEDIA_TYPE, Problem, SealedReports
from sordino_shuffler.problems import RequestRefused

# A phone on a slow network sends 4 MiB in this time.
_BODY_S = 60.0


async def read_body(headers: Sequence[tuple[bytes, bytes]], receive: Callable[[], Any]) -> bytes:
    """The whole body; raises RequestRefused where it is another type, too long or too slow."""
    given = {name: value for name, value in headers if name in (b"content-type", b"content-encoding")}
    media_type = given.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if media_type != CBOR_MEDIA_TYPE.encode() or b"content-encoding" in given:
        detail = f"send the reports with Content-Type: {CBOR_MEDIA_TYPE} and no Content-Encoding"
        raise RequestRefused(Problem.UNSUPPORTED_MEDIA_TYPE, detail)
    try:
        async with asyncio.timeout(_BODY_S):
            return await _whole(receive)
    except TimeoutError:
        detail = f"the body did not come within {_BODY_S:g} seconds; send fewer reports"
        raise RequestRefused(Problem.REQUEST_TIMEOUT, detail) from None


async def _whole(receive: Callable[[], Any]) -> bytes:
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RequestRefused(Problem.MALFORMED_BODY, "the body broke off")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > SealedReports.limit:
            detail = f"the body has more than {SealedReports.limit:,} bytes; send fewer reports"
            raise RequestRefused(Problem.TOO_LARGE, detail)
        more = message.get("more_body", False)
    return b"".join(parts)


@cache
def _around_one_report(width: int) -> tuple[bytes, bytes]:
    """What stands before and behind the bytes of one report in an upload."""
    # No length before it ends as it begins.
    mark = b"\xa7" + bytes(width - 1)
    head, _, tail = SealedReports(mark, 1).content.partition(mark)
    return head, tail


def read_reports(body: bytes, width: int) -> list[bytes]:
    """The sealed reports of a body; raises RequestRefused, also for reports of another width than the campaign's."""
    head, tail = _around_one_report(width)
    if len(body) == len(head) + width + len(tail) and body.startswith(head) and body.endswith(tail):
        # Nearly every upload: there is one way to write a document, so the frame of one report is always the same.
        return [body[len(head) : len(head) + width]]
    try:
        reports = SealedReports.read(body).reports()
    except SordinoError as error:
        raise RequestRefused(Problem.MALFORMED_BODY, str(error)) from error
    if len(reports[0]) != width:
        detail = f"a sealed report of this campaign has {width} bytes, got {len(reports[0])}"
        raise RequestRefused(Problem.INVALID_REQUEST, detail)
    return reports
