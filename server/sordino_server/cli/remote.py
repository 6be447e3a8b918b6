"""HTTP client for the operator's side of the REST API, used by commands on a running server."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlencode

import typer

from sordino_server.cli.campaign_argument import is_id_prefix, is_whole_id, only_campaign
from sordino_server.cli.wait import Patience
from sordino_server.kit.outgoing import server_at
from sordino_server.kit.received_problem import received_problem
from sordino_server.kit.secret_files import read_secret
from sordino_shared.errors import SordinoError
from sordino_shared.http.exchange import HttpAnswer, HttpRequest

ServerOption = Annotated[str, typer.Option(envvar="SORDINO_SERVER", metavar="URL", help="Address of the server.")]


def key_or_file(key: str | None) -> str | None:
    """The key, or what the file in SORDINO_KEY_FILE has, or None."""
    file = os.environ.get("SORDINO_KEY_FILE")
    return key or (read_secret(Path(file), "SORDINO_KEY_FILE") if file else None)


KeyOption = Annotated[
    str | None,
    typer.Option(
        envvar="SORDINO_KEY", metavar="KEY", help="An operator's key.", show_default=False, callback=key_or_file
    ),
]

DEFAULT_SERVER = "http://127.0.0.1:8000"
# Of a whole request. What is sent gets as long as half a megabit a second takes.
_REQUEST_S, _LARGE_S = 120.0, 300.0
_SLOWEST_BYTES_A_S = 1 << 16
# Estimates of 65,536 queries are 40 MB of JSON, and a table may have those of many campaigns.
_MOST_JSON = _MOST_TABLE = 256 << 20
# What a long wait is told to be for.
_COMPUTING = "a worker is computing the estimates"
_NOT_TAKEN = "no worker has taken the round yet; is `sordino worker` running?"
_NO_ROUND = "the next round is not there yet: a worker is computing it, or no `sordino worker` is running"

Parameter = str | int | list[str]


def estimates_path(campaign: str, index: int | None) -> str:
    """Where the estimates of a campaign are, or those of one of its rounds."""
    of = f"/v1/campaigns/{campaign}"
    return f"{of}/estimates" if index is None else f"{of}/rounds/{index}/estimates"


class RemoteProblem(SordinoError):
    """The server rejected a request; `document` is its problem document."""

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__(f"{document.get('title', 'The server refused.')} {document.get('detail', '')}".strip())
        self.document = document

    @property
    def slug(self) -> str:
        """The problem's type without its path."""
        return str(self.document.get("type", "")).rpartition("/")[2]


class Remote:
    """HTTP client of the server at `address`; a context manager. Raises RemoteProblem, NoAnswer, OversizedDocument."""

    def __init__(self, address: str, key: str | None) -> None:
        self.address = address
        self.key = key
        self._server = server_at(address)
        if key is not None and not (key.isascii() and key.isprintable()):
            raise SordinoError("the key contains characters that keys never have; copy it again")
        self._headers = {} if key is None else {"Authorization": f"Bearer {key}"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left open between requests."""

    def get(self, path: str, **parameters: Parameter) -> Any:
        """The JSON at `path`."""
        return self._json("GET", path + _query(parameters))

    def text(self, path: str, **parameters: Parameter) -> str:
        """The table at `path`, as text."""
        answer = self._answered("GET", path + _query(parameters), _MOST_TABLE, within_s=_LARGE_S)
        if not answer.headers.get("content-type", "").startswith("text/csv"):
            raise self._unlike_sordino(path, answer, "a table")
        return answer.content().decode("utf-8", "replace")

    def content(self, path: str, limit: int, accept: str = "*/*") -> bytes:
        """The bytes at `path`, at most `limit`; in the form that `accept` names where there are several."""
        return self._answered("GET", path, limit, headers={"Accept": accept}, within_s=_LARGE_S).content()

    def post(self, path: str, body: Any = None, *, idempotency_key: str | None = None) -> Any:
        """The JSON answer to `body`."""
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        if body is None:
            return self._json("POST", path, b"", headers)
        return self._json("POST", path, _encoded(body), headers | {"Content-Type": "application/json"})

    def send(self, path: str, content: bytes, media_type: str) -> Any:
        """The JSON answer to bytes of this media type."""
        return self._json("POST", path, content, {"Content-Type": media_type})

    def patch(self, path: str, body: Any, etag: str) -> Any:
        """The JSON answer to a change of what has this ETag."""
        return self._json("PATCH", path, _encoded(body), {"Content-Type": "application/json", "If-Match": etag})

    def delete(self, path: str) -> None:
        """Delete what is at `path`."""
        self._answered("DELETE", path, _MOST_JSON).body.close()

    def listed(self, path: str, member: str, **filters: str | int) -> Iterator[Any]:
        """Every item of a list that the filters choose, page by page."""
        parameters: dict[str, str | int] = {"page_size": 200, **filters}
        while True:
            page = self.get(path, **parameters)
            yield from page[member]
            if page["next_page_token"] is None:
                return
            parameters["page_token"] = page["next_page_token"]

    def campaign_id(self, text: str) -> str:
        """The id of the campaign that `text` is the id, the beginning of the id or the name of.

        Raises SordinoError where no campaign or more than one is meant. A whole id is not looked up.
        """
        if is_whole_id(text):
            return text
        found: dict[str, str] = {row["id"]: row["name"] for row in self.listed("/v1/campaigns", "campaigns", name=text)}
        if is_id_prefix(text):
            named = self.listed("/v1/campaigns", "campaigns", id_prefix=text)
            found |= {row["id"]: row["name"] for row in named}
        return only_campaign(text, found)

    def plan_progress(self, identifier: str, patience: Patience) -> Iterator[dict[str, Any]]:
        """Poll the plan request until it is ready; raises SordinoError if it fails, or StillWaiting."""
        later = f"the plan is kept: when it is ready, use it with --plan-request {identifier}"
        while True:
            document = self.get(f"/v1/plan-requests/{identifier}")
            yield document
            if document["state"] == "ready":
                return
            if document["state"] == "cancelled":
                raise SordinoError(f"plan request {identifier} was cancelled")
            if document["state"] == "failed":
                raise SordinoError(f"the plan failed: {document['error']}")
            queued = document["state"] == "queued"
            patience.pause("no worker has taken it yet; is `sordino worker` running?" if queued else None, later)

    def awaited_round(self, campaign: str, index: int, patience: Patience) -> None:
        """Wait until the campaign's round accepts reports; raises SordinoError if the previous round failed."""
        while True:
            rounds = self.get(f"/v1/campaigns/{campaign}/status")["rounds"]
            if len(rounds) > index:
                return
            if error := rounds[-1]["error"]:
                raise SordinoError(f"round {rounds[-1]['index']} opened no further round: {error}")
            later = f"look again with: sordino campaigns show {campaign}"
            patience.pause(_NO_ROUND, later)

    def awaited_estimates(self, campaign: str, index: int | None, patience: Patience) -> Any:
        """Poll the estimates of a round or the campaign while the server computes them; raises StillWaiting."""
        asked = campaign if index is None else f"{campaign} --round {index}"
        later = f"try again with: sordino campaigns estimates {asked}"
        while True:
            try:
                return self.get(estimates_path(campaign, index))
            except RemoteProblem as problem:
                # Only an estimate that is being computed has a retry_after.
                if problem.slug != "estimate-not-ready" or "retry_after" not in problem.document:
                    raise
                leased = problem.document.get("leased", False)
            patience.pause(_COMPUTING if leased else _NOT_TAKEN, later)

    def _json(
        self, method: str, path: str, content: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        """The parsed body of an answer; raises SordinoError if it is not JSON, for example from a proxy."""
        answer = self._answered(method, path, _MOST_JSON, content, headers)
        try:
            # Every document is an object.
            return json.loads(answer.content() if answer.begins_with(b"{") else b"")
        except (ValueError, RecursionError) as error:
            raise self._unlike_sordino(path, answer, "JSON") from error

    def _answered(
        self,
        method: str,
        path: str,
        limit: int,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        within_s: float = _REQUEST_S,
    ) -> HttpAnswer:
        """The answer to a request that the server granted."""
        sent = {"Accept": "*/*", **self._headers, **(headers or {})}
        within_s += len(content or b"") / _SLOWEST_BYTES_A_S
        answer = self._server.exchange(
            HttpRequest(method=method, path=path, limit=limit, within_s=within_s, headers=sent, content=content)
        )
        if answer.is_success:
            return answer
        if answer.status == 401 and not self._headers:
            raise SordinoError("the server requires an operator's key: give --key, or set SORDINO_KEY")
        document = received_problem(answer.headers, answer.content())
        if document is not None:
            raise RemoteProblem(document)
        raise self._unlike_sordino(path, answer, "a problem document")

    def _unlike_sordino(self, path: str, answer: HttpAnswer, lacks: str) -> SordinoError:
        where = self._server.address.url(path)
        return SordinoError(f"{where} returns {answer.status} without {lacks}: is it a sordino server?")


def _query(parameters: Mapping[str, Parameter]) -> str:
    return f"?{urlencode(parameters, doseq=True)}" if parameters else ""


def _encoded(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
