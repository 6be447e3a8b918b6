"""What devices ask a shuffler for: an ASGI application, without a framework that an auditor would have to read."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from sordino_shared.errors import SordinoError
from sordino_shared.protocol import (
    CBOR_MEDIA_TYPE,
    PROBLEM_MEDIA_TYPE,
    CampaignId,
    EveryRound,
    OpenCampaigns,
    Problem,
    SealedOutcomes,
    SealedReports,
)
from sordino_shuffler.admission import AddressRates
from sordino_shuffler.documents import CheckedCampaign, LogTexts
from sordino_shuffler.metrics import ShufflerCounts
from sordino_shuffler.mirror import CampaignMirror
from sordino_shuffler.problems import Headers, RequestRefused, refusal_of
from sordino_shuffler.tokens import TokenDesk
from sordino_shuffler.writer import Writer

# A phone on a slow network sends 4 MiB in this time.
_BODY_S = 60.0
_LOG = logging.getLogger("sordino_shuffler")

Scope = Mapping[str, Any]
Receive = Callable[[], Any]
Send = Callable[[Any], Any]

_UPLOAD = re.compile(r"/v1/campaigns/([0-9a-f]{64})/rounds/([0-9]{1,16})/(sealed|reports|tokens)")
_DOCUMENT = re.compile(r"/v1/campaigns/([0-9a-f]{64})(/task|/signature)?")
_PLAN = re.compile(r"/v1/plans/([0-9a-f]{64})")
_HEALTH = re.compile(r"/health")
_PROOF = re.compile(r"/v1/campaigns/([0-9a-f]{64})/log-proof")
_DAYS = re.compile(r"/v1/log/days")
_OF_CAMPAIGN = re.compile(rb"campaign=([0-9a-f]{64})")
_LIST = re.compile(r"/v1/populations/([^/]{1,2000})/open")
_CBOR = CBOR_MEDIA_TYPE.encode()
_IMMUTABLE = b"public, max-age=31536000, immutable"
_NOT_STORED = [(b"content-type", _CBOR), (b"cache-control", b"no-store")]


class ShufflerApp:
    """Documents of the campaigns in `mirrors`, and uploads of sealed reports. It logs and stores no address."""

    def __init__(
        self,
        mirrors: Mapping[CampaignId, CampaignMirror],
        writer: Writer,
        rates: AddressRates,
        counts: ShufflerCounts,
        tokens: TokenDesk,
        *,
        clock: Callable[[], float],
        task_age_s: int,
    ) -> None:
        self._mirrors = mirrors
        self._writer = writer
        self._rates = rates
        self._counts = counts
        self._tokens = tokens
        self._clock = clock
        self._shared = b"public, max-age=%d" % task_age_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise RuntimeError(f"a connection of kind {scope['type']!r} is not served")
        path = scope["path"]
        try:
            content, headers = await self._answer(scope, receive, path)
        except RequestRefused as refusal:
            await self._refuse(refusal, path, send)
        except Exception as error:
            if (known := refusal_of(error)) is not None:
                await self._refuse(known, path, send)
                return
            _LOG.exception("a request met a mistake of this program")
            detail = "the shuffler made a mistake, which is in its log; nothing was counted"
            await self._refuse(RequestRefused(Problem.INTERNAL_ERROR, detail), path, send)
        else:
            await _respond(send, 200, content, headers)

    async def _refuse(self, refusal: RequestRefused, path: str, send: Send) -> None:
        self._counts.refused[refusal.problem.slug] += 1
        headers = [(b"content-type", PROBLEM_MEDIA_TYPE.encode()), *refusal.headers()]
        await _respond(send, refusal.problem.status, refusal.content(path), headers)

    async def _answer(self, scope: Scope, receive: Receive, path: str) -> tuple[bytes, Headers]:
        if (found := _UPLOAD.fullmatch(path)) is not None:
            _check_method(scope, "POST")
            return await self._upload(scope, receive, found)
        if _DAYS.fullmatch(path) is not None:
            _check_method(scope, "GET", "HEAD")
            return self._days(scope.get("query_string", b""))
        for pattern, answer in (
            (_DOCUMENT, self._document),
            (_PLAN, self._plan),
            (_PROOF, self._proof),
            (_LIST, self._list),
            (_HEALTH, self._health),
        ):
            if (found := pattern.fullmatch(path)) is not None:
                _check_method(scope, "GET", "HEAD")
                return await answer(found)
        raise RequestRefused(Problem.NOT_FOUND, "the path names nothing at this shuffler")

    # Documents

    async def _document(self, found: re.Match[str]) -> tuple[bytes, Headers]:
        (mirror, documents), kind = self._served(found[1]), found[2]
        if kind is None:
            return documents.manifest.content, _cbor(_IMMUTABLE)
        if kind == "/signature":
            if mirror.signatures is None:
                raise RequestRefused(Problem.NOT_FOUND, "the manifest has no signature")
            return mirror.signatures, _cbor(self._shared)
        if mirror.task is None:
            raise RequestRefused(Problem.UNAVAILABLE, "the campaign's task was not fetched yet; try again later")
        return mirror.task.content, _cbor(self._shared)

    async def _plan(self, found: re.Match[str]) -> tuple[bytes, Headers]:
        for mirror in self._mirrors.values():
            if mirror.documents is not None and found[1] == str(mirror.documents.plan):
                return mirror.documents.part.content, _cbor(_IMMUTABLE)
        raise RequestRefused(Problem.NOT_FOUND, "no campaign of this shuffler has this plan")

    async def _proof(self, found: re.Match[str]) -> tuple[bytes, Headers]:
        """That the manifest, which names the plan of every round, is in the collector's public log."""
        mirror, _ = self._served(found[1])
        return _log_of(mirror).proof, _text(self._shared)

    def _days(self, query: bytes) -> tuple[bytes, Headers]:
        """The days of the log of `?campaign=`; without it those of the one log that all campaigns are in."""
        if query:
            asked = _OF_CAMPAIGN.fullmatch(query)
            if asked is None:
                raise RequestRefused(Problem.INVALID_REQUEST, "write ?campaign= and the id of a campaign, or nothing")
            return _log_of(self._served(asked[1].decode())[0]).days, _text(self._shared)
        logs = [mirror.log for mirror in self._mirrors.values() if mirror.log is not None]
        if len({each.origin for each in logs}) > 1:
            detail = "campaigns of several logs are shuffled here; write ?campaign= and the id of one"
            raise RequestRefused(Problem.INVALID_REQUEST, detail)
        if not logs:
            raise RequestRefused(Problem.NOT_FOUND, "no campaign of this shuffler has a proof of a public log")
        return logs[0].days, _text(self._shared)

    async def _list(self, found: re.Match[str]) -> tuple[bytes, Headers]:
        """The campaigns of one round that are open here for a population."""
        population = found[1]
        changes = await self._writer.run(lambda store: store.changes_of(population))
        campaigns = sorted(
            campaign for campaign, mirror in self._mirrors.items() if self._is_listed(mirror, population)
        )
        try:
            listed = OpenCampaigns(population=population, number=changes, campaigns=tuple(campaigns))
            return listed.content, _cbor(self._shared)
        except ValueError as error:
            raise RequestRefused(Problem.INVALID_REQUEST, str(error)) from error

    def _is_listed(self, mirror: CampaignMirror, population: str) -> bool:
        documents, task = mirror.documents, mirror.task
        if documents is None or task is None or task.round is None or documents.manifest.population != population:
            return False
        end = documents.route.end
        return isinstance(documents.manifest.assignment, EveryRound) and end is not None and self._clock() < end

    async def _health(self, _: re.Match[str]) -> tuple[bytes, Headers]:
        """200 where every campaign is served, else 503: not whether its collector can be reached now."""
        missing = sum(mirror.documents is None for mirror in self._mirrors.values())
        if missing:
            detail = f"{missing} of {len(self._mirrors)} campaigns are not served yet: see `sordino-shuffler status`"
            raise RequestRefused(Problem.UNAVAILABLE, detail)
        content = json.dumps({"status": "ok", "campaigns": len(self._mirrors)}).encode()
        return content, [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]

    def _served(self, campaign: str) -> tuple[CampaignMirror, CheckedCampaign]:
        mirror = self._mirrors.get(_campaign_id(campaign))
        if mirror is None:
            raise RequestRefused(Problem.NOT_FOUND, "this shuffler has no such campaign")
        if mirror.documents is None:
            raise RequestRefused(Problem.UNAVAILABLE, "the campaign's documents are not proved yet; try again later")
        return mirror, mirror.documents

    # Uploads

    async def _upload(self, scope: Scope, receive: Receive, found: re.Match[str]) -> tuple[bytes, Headers]:
        headers = scope["headers"]
        self._rates.admit(scope)
        if found[3] == "reports":
            raise RequestRefused(Problem.WRONG_ROUTE, "reports are sealed, and go to …/sealed")
        (mirror, documents), number = self._served(found[1]), int(found[2])
        if found[3] == "tokens":
            return await self._token(scope, mirror, documents, number, await read_body(headers, receive)), _NOT_STORED
        reports = read_reports(await read_body(headers, receive), documents.width)
        added = await self._writer.add(bytes(mirror.entry.campaign), number, reports, int(self._clock()))
        self._counts.reports["accepted"] += added.accepted
        self._counts.reports["replayed"] += added.replayed
        return _outcomes(added.accepted, added.replayed), _NOT_STORED

    async def _token(
        self, scope: Scope, mirror: CampaignMirror, documents: CheckedCampaign, number: int, body: bytes
    ) -> bytes:
        task, end = mirror.task, documents.route.end
        if task is None or task.round != number or (end is not None and self._clock() >= end):
            raise RequestRefused(Problem.ROUND_NOT_OPEN, f"round {number} takes no reports, and has no tokens to give")
        issuer = documents.manifest.issuer
        return await self._tokens.answer(scope, mirror.link, issuer, (mirror.entry.campaign, number), body)


# Of the last campaigns that were asked for: each upload names one.
_campaign_id = lru_cache(1024)(CampaignId.parse)


@lru_cache(1024)
def _outcomes(accepted: int, replayed: int) -> bytes:
    return SealedOutcomes(accepted, replayed).content


def _check_method(scope: Scope, *allowed: str) -> None:
    if scope["method"] not in allowed:
        raise RequestRefused(Problem.METHOD_NOT_ALLOWED, f"{scope['method']} is not known here: {', '.join(allowed)}")


def _log_of(mirror: CampaignMirror) -> LogTexts:
    """What the mirror has of the collector's log."""
    if mirror.log is not None:
        return mirror.log
    if not mirror.keeps_log:
        raise RequestRefused(Problem.NOT_FOUND, "the collector has no proof of a public log for the campaign")
    raise RequestRefused(Problem.UNAVAILABLE, "the proof of the public log was not fetched yet; try again later")


def _text(cache: bytes) -> Headers:
    return [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", cache)]


def _cbor(cache: bytes) -> Headers:
    return [(b"content-type", _CBOR), (b"cache-control", cache)]


async def _respond(send: Send, status: int, content: bytes, headers: Headers) -> None:
    headers = [*headers, (b"content-length", b"%d" % len(content))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


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
