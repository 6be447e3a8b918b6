"""The door for devices: raw ASGI in front of the routes, whose own work would cost more than counting a report."""

from __future__ import annotations

import asyncio
import re

from starlette.datastructures import State
from starlette.types import ASGIApp, Receive, Scope, Send

from sordino_server import problem_details
from sordino_server.errors import ServerError
from sordino_server.identifiers import MOST_PERIODS
from sordino_server.reports.admission import Admission
from sordino_server.reports.endpoints import ROUTE
from sordino_server.reports.uploads import Overloaded, RefusedRequest, Upload
from sordino_server.reports.writer import ReportWriter
from sordino_server.tokens.redemption import Redemption
from sordino_shared.errors import OversizedDocument, ProtocolError
from sordino_shared.protocol import CBOR_MEDIA_TYPE, Problem, ReportBatch, ReportOutcomes

# What is written in another way names nothing, and the route behind the door says so.
_PATH = re.compile(r"/v1/campaigns/([0-9a-f]{64})/rounds/([0-9]{1,10})/reports")
_PLAIN_TYPE = CBOR_MEDIA_TYPE.encode()
_CONTENT_TYPE = (b"content-type", _PLAIN_TYPE)
# A phone on a slow network sends 4 MiB in this time; a slower client would hold a connection too long.
BODY_TIMEOUT_S = 60.0
_LATE = "the body is late"
# Of bodies that are not whole yet, all together; as much as may wait to be written.
MAX_ARRIVING_BYTES = 64 << 20


class UploadEndpoint:
    """ASGI application that answers uploads of reports itself, bugs included, and hands everything else to `app`.

    One request holds 1 to 4096 reports and is answered when they are committed. The `state` has the `report_writer`
    and the `admission`.
    """

    def __init__(self, app: ASGIApp, state: State, body_timeout_s: float = BODY_TIMEOUT_S) -> None:
        self._app = app
        self._state = state
        self._body_timeout_s = body_timeout_s
        self._arriving_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wanted = scope["type"] == "http" and scope["method"] == "POST"
        match = _PATH.fullmatch(scope["path"]) if wanted else None
        if match is None or int(match[2]) >= MOST_PERIODS:
            await self._app(scope, receive, send)
            return
        scope["route"] = ROUTE
        try:
            outcomes = await self._take(scope, receive, match[1], int(match[2]))
        except ServerError as error:
            await problem_details.answer(error, scope["path"])(scope, receive, send)
            return
        except Exception as error:  # what answers bugs of routes is inside
            await problem_details.answer_to_bug(error, scope["path"])(scope, receive, send)
            return
        content = outcomes.content
        headers = [(b"content-length", b"%d" % len(content)), _CONTENT_TYPE]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    async def _take(self, scope: Scope, receive: Receive, campaign: str, index: int) -> ReportOutcomes:
        """Outcomes after the commit; a refusal is counted before it is told."""
        writer: ReportWriter = self._state.report_writer
        admission: Admission = self._state.admission
        try:
            await admission.admit(scope, campaign)
            _check_query(scope)
            _check_headers(scope)
            body = await self._read_body(receive)
            upload = await self._redeemed(campaign, index, _read_batch(body))
        except ServerError as error:
            await writer.count(RefusedRequest(campaign, error.problem))
            raise
        return await writer.write(upload)

    async def _redeemed(self, campaign: str, index: int, batch: ReportBatch) -> Upload:
        """The upload, with its tokens told from its payloads where the campaign has some."""
        redemption: Redemption = self._state.redemption
        redeemed = await redemption.redeem(campaign, index, batch)
        return Upload(campaign, index, batch) if redeemed is None else Upload(campaign, index, *redeemed)

    async def _read_body(self, receive: Receive) -> bytes:
        """The whole body, given up when it is longer than a batch may be or takes too long."""
        task = asyncio.current_task()
        assert task is not None
        # As `asyncio.timeout` does it, in half the time: nearly every body is there already.
        late = asyncio.get_running_loop().call_later(self._body_timeout_s, task.cancel, _LATE)
        try:
            return await self._receive_all(receive)
        except asyncio.CancelledError as error:
            if error.args != (_LATE,):
                raise
            task.uncancel()
            raise ServerError(
                Problem.REQUEST_TIMEOUT,
                f"the body did not come within {self._body_timeout_s:g} seconds; send fewer reports",
            ) from error
        finally:
            late.cancel()

    async def _receive_all(self, receive: Receive) -> bytes:
        parts: list[bytes] = []
        size = 0
        try:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ServerError(Problem.MALFORMED_BODY, "the body broke off")
                part = message.get("body", b"")
                size += len(part)
                if size > ReportBatch.limit:
                    raise _too_large()
                if not message.get("more_body", False):
                    return b"".join([*parts, part])
                parts.append(part)
                self._arriving_bytes += len(part)
                if self._arriving_bytes > MAX_ARRIVING_BYTES:
                    raise Overloaded("too many bodies are on their way; try again later")
        finally:
            self._arriving_bytes -= sum(map(len, parts))


def _check_query(scope: Scope) -> None:
    if scope.get("query_string"):
        raise ServerError(Problem.INVALID_REQUEST, "this path takes no query parameters; send it without")


def _check_headers(scope: Scope) -> None:
    media_type, coding = b"", b"identity"
    for name, value in reversed(scope["headers"]):
        if name == b"content-type":
            media_type = value
        elif name == b"content-encoding":
            coding = value
    if media_type != _PLAIN_TYPE:
        named = media_type.decode("latin-1").partition(";")[0].strip().lower()
        if named != CBOR_MEDIA_TYPE:
            raise ServerError(Problem.UNSUPPORTED_MEDIA_TYPE, f"send reports as {CBOR_MEDIA_TYPE}, got {named!r}")
    if coding != b"identity":
        named = coding.decode("latin-1").strip().lower()
        if named != "identity":
            raise ServerError(Problem.UNSUPPORTED_MEDIA_TYPE, f"send reports without content coding, got {named!r}")


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
