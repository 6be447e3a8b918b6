"""HTTP client for the operator's side of the REST API, used by commands on a running server."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Annotated, Any, Self

import httpx
import typer

from sordino_server.cli.campaign_argument import is_id_prefix, is_whole_id, only_campaign
from sordino_server.cli.wait import Patience
from sordino_server.kit.received_problem import received_problem
from sordino_shared.errors import SordinoError

ServerOption = Annotated[str, typer.Option(envvar="SORDINO_SERVER", metavar="URL", help="Address of the server.")]
KeyOption = Annotated[
    str | None, typer.Option(envvar="SORDINO_KEY", metavar="KEY", help="An operator's key.", show_default=False)
]

DEFAULT_SERVER = "http://127.0.0.1:8000"
_TIMEOUT_S = 60.0
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
    """HTTP client of the server at `address`; a context manager. Raises RemoteProblem and httpx.TransportError."""

    def __init__(self, address: str, key: str | None) -> None:
        if not address.startswith(("http://", "https://")):
            raise SordinoError(f"the server's address starts with http:// or https://, got {address!r}")
        if key is not None and not (key.isascii() and key.isprintable()):
            raise SordinoError("the key contains characters that keys never have; copy it again")
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._http = httpx.Client(base_url=address, headers=headers, timeout=_TIMEOUT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def get(self, path: str, **parameters: Parameter) -> Any:
        """The JSON at `path`."""
        return _json(self._checked(self._http.get(path, params=parameters)))

    def text(self, path: str, **parameters: Parameter) -> str:
        """The text at `path`."""
        return self._checked(self._http.get(path, params=parameters)).text

    def content(self, path: str) -> bytes:
        """The bytes at `path`."""
        return self._checked(self._http.get(path)).content

    def post(self, path: str, body: Any = None, *, idempotency_key: str | None = None) -> Any:
        """The JSON answer to `body`."""
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        return _json(self._checked(self._http.post(path, json=body, headers=headers)))

    def send(self, path: str, content: bytes, media_type: str) -> Any:
        """The JSON answer to bytes of this media type."""
        return _json(self._checked(self._http.post(path, content=content, headers={"Content-Type": media_type})))

    def patch(self, path: str, body: Any, etag: str) -> Any:
        """The JSON answer to a change of what has this ETag."""
        return _json(self._checked(self._http.patch(path, json=body, headers={"If-Match": etag})))

    def delete(self, path: str) -> None:
        """Delete what is at `path`."""
        self._checked(self._http.delete(path))

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

    def _checked(self, response: httpx.Response) -> httpx.Response:
        if response.is_success:
            return response
        if response.status_code == 401 and "Authorization" not in self._http.headers:
            raise SordinoError("the server requires an operator's key: give --key, or set SORDINO_KEY")
        document = received_problem(response.headers, response.content)
        if document is not None:
            raise RemoteProblem(document)
        raise SordinoError(
            f"{response.url} returns {response.status_code} without a problem document: is it a sordino server?"
        )


def _json(response: httpx.Response) -> Any:
    """The parsed body; raises SordinoError if it is not JSON, for example from a proxy."""
    try:
        return response.json()
    except (ValueError, RecursionError) as error:
        raise SordinoError(
            f"{response.url} returns {response.status_code} without JSON: is it a sordino server?"
        ) from error
