"""The collector as a shuffler talks to it: public documents are read, pages and a statement are pushed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Protocol

from sordino_shared.errors import NoAnswer, OversizedDocument, SordinoError
from sordino_shared.http.exchange import HttpAnswer, HttpRequest, HttpServer
from sordino_shared.protocol import (
    CBOR_MEDIA_TYPE,
    PROBLEM_MEDIA_TYPE,
    CampaignId,
    Problem,
    ShuffledPage,
    TokenEvaluations,
    TokenRequest,
)
from sordino_shuffler.errors import CollectorTrouble
from sordino_shuffler.settings import ShuffledEntry

_READ_S, _PUSH_S = 60.0, 300.0
_ANSWER_BYTES = 1 << 20
_MOST_SAID = 300
_LONGEST_WAIT_S = 3600.0


class Exchange(Protocol):
    """Sends one request; `HttpServer` does, and tests replace it."""

    def exchange(self, request: HttpRequest) -> HttpAnswer: ...


class CollectorLink:
    """The collector of one campaign; every method blocks, and raises CollectorTrouble."""

    def __init__(self, entry: ShuffledEntry, server: Exchange | None = None) -> None:
        self._campaign = entry.campaign
        self._name = entry.collector.url("")
        self._key = entry.key
        self._server: Exchange = HttpServer(address=entry.collector) if server is None else server

    def document(self, path: str, limit: int, media_type: str = CBOR_MEDIA_TYPE) -> bytes | None:
        """The bytes of a public document; None where there is none."""
        answer = self._ask("GET", path, {"Accept": media_type}, limit=limit, within_s=_READ_S)
        if answer.status == 404:
            answer.body.close()
            return None
        return self._granted(answer).content()

    def push_page(self, page: ShuffledPage) -> None:
        """Hand over one page; the same page again changes nothing there."""
        self._push("POST", f"{self._batch(page.campaign, page.round)}/{page.page}", page.content)

    def push_statement(self, campaign: CampaignId, number: int, statement: bytes) -> None:
        """Hand over the statement, after the last page."""
        self._push("PUT", self._batch(campaign, number), statement)

    def tokens(self, campaign: CampaignId, number: int, request: TokenRequest) -> TokenEvaluations:
        """What the issuer makes of blinded elements; who asked for them, it is not told."""
        path = f"/v1/campaigns/{campaign}/rounds/{number}/tokens"
        headers = {
            "Accept": f"{CBOR_MEDIA_TYPE}, {PROBLEM_MEDIA_TYPE}",
            "Authorization": f"Bearer {self._key}",
            "Content-Type": CBOR_MEDIA_TYPE,
        }
        limit = _ANSWER_BYTES
        answer = self._ask("POST", path, headers, limit=limit, within_s=_READ_S, content=request.content)
        try:
            evaluations = TokenEvaluations.read(self._granted(answer).content())
        except SordinoError as error:
            raise CollectorTrouble(f"{self._name} gives tokens that are none: {error}") from error
        if len(evaluations.evaluated) != len(request.blinded):
            raise CollectorTrouble(f"{self._name} gives another number of tokens than it was asked for")
        return evaluations

    def refusal(self, path: str, content: bytes) -> str:
        """Post what should be refused: the slug of the problem that it is answered with, or the status."""
        headers = {"Accept": PROBLEM_MEDIA_TYPE, "Content-Type": CBOR_MEDIA_TYPE}
        answer = self._ask("POST", path, headers, limit=_ANSWER_BYTES, within_s=_READ_S, content=content)
        return _problem(answer)[0] or str(answer.status)

    def _batch(self, campaign: CampaignId, number: int) -> str:
        return f"/v1/campaigns/{campaign}/rounds/{number}/batch"

    def _push(self, method: str, path: str, content: bytes) -> None:
        headers = {
            "Accept": PROBLEM_MEDIA_TYPE,
            "Authorization": f"Bearer {self._key}",
            "Content-Type": CBOR_MEDIA_TYPE,
        }
        answer = self._ask(method, path, headers, limit=_ANSWER_BYTES, within_s=_PUSH_S, content=content)
        self._granted(answer).body.close()

    def _ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        *,
        limit: int,
        within_s: float,
        content: bytes | None = None,
    ) -> HttpAnswer:
        request = HttpRequest(
            method=method, path=path, limit=limit, within_s=within_s, headers=headers, content=content
        )
        try:
            return self._server.exchange(request)
        except NoAnswer as error:
            raise CollectorTrouble(f"{self._name} gives no answer: {error}") from error
        except OversizedDocument as error:
            raise CollectorTrouble(f"{self._name} answers with more than {error.limit:,} bytes to {path}") from error

    def _granted(self, answer: HttpAnswer) -> HttpAnswer:
        if answer.is_success:
            return answer
        slug, detail = _problem(answer)
        said = f": {detail}" if detail else ""
        raise CollectorTrouble(
            f"{self._name} answers {answer.status}{f' ({slug})' if slug else ''}{said}",
            _wait(answer),
            problem=next((problem for problem in Problem if problem.slug == slug), None),
            detail=detail,
        )


def _problem(answer: HttpAnswer) -> tuple[str | None, str | None]:
    """(slug, detail) of a problem document; None for what it does not say."""
    content = answer.content()
    if "json" not in answer.headers.get("content-type", ""):
        return None, None
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None, None
    kind, detail = (found.get("type"), found.get("detail")) if isinstance(found, dict) else (None, None)
    known = {problem.slug for problem in Problem}
    slug = kind.rpartition("/")[2] if isinstance(kind, str) else None
    shown = None if not isinstance(detail, str) else "".join(c if c.isprintable() else " " for c in detail)
    return slug if slug in known else None, shown and shown[:_MOST_SAID]


def _wait(answer: HttpAnswer) -> float | None:
    text = answer.headers.get("retry-after", "").strip()
    return min(float(text), _LONGEST_WAIT_S) if text.isascii() and text.isdigit() and len(text) < 9 else None
