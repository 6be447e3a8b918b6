"""The home as a collector talks to it."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

import httpx
from pydantic import ValidationError

from sordino_analysis.archive.aggregate_document import AggregateDocument
from sordino_server.collecting.schemas import Mirror
from sordino_shared.errors import SordinoError
from sordino_shared.protocol import CBOR_MEDIA_TYPE, PROBLEM_MEDIA_TYPE

# Sums of 2^24 items are 128 MiB.
_TIMEOUT_S = 300.0
_CONNECT_S = 10.0
# Not about what was sent: the same may be taken later.
_PASSING = frozenset({401, 403, 408, 429})


class HomeUnreachable(SordinoError):
    """The home gave no answer, or is in trouble: the same request may succeed later."""


class HomeRefused(SordinoError):
    """The home does not take what was sent, and will not; the text says why."""


class Home:
    """One connection to the home at an address; raises HomeUnreachable or HomeRefused."""

    def __init__(self, address: str, transport: httpx.BaseTransport | None = None) -> None:
        timeout = httpx.Timeout(_TIMEOUT_S, connect=_CONNECT_S)
        self.address = address
        self._http = httpx.Client(base_url=address, timeout=timeout, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def mirror(self, key: str) -> Mirror:
        """What the home decided for the campaign of the key."""
        response = self._answered("GET", "/v1/mirror", headers=_bearer(key))
        try:
            return Mirror.model_validate_json(response.content)
        except ValidationError as error:
            raise HomeUnreachable(f"{self.address} answers with no mirror: is it a sordino server?") from error

    def document(self, path: str) -> bytes:
        """The bytes of a public document; the caller checks their digest."""
        return self._answered("GET", path, headers={"Accept": CBOR_MEDIA_TYPE}).content

    def send(self, key: str, sums: AggregateDocument) -> None:
        """Give the home the sums; the same document twice changes nothing there."""
        path = f"/v1/campaigns/{sums.campaign}/rounds/{sums.round}/aggregates"
        headers = _bearer(key) | {"Content-Type": CBOR_MEDIA_TYPE}
        self._answered("POST", path, headers=headers, content=sums.content)

    def _answered(self, method: str, path: str, **request: Any) -> httpx.Response:
        try:
            response = self._http.request(method, path, **request)
        except httpx.HTTPError as error:
            raise HomeUnreachable(f"{self.address} gives no answer: {error}") from error
        if response.is_success:
            return response
        said = _detail(response)
        if said is None or response.status_code >= 500 or response.status_code in _PASSING:
            raise HomeUnreachable(f"{self.address} answers {response.status_code}: {said or 'no problem document'}")
        raise HomeRefused(f"the home refuses: {said}")


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def _detail(response: httpx.Response) -> str | None:
    """What a problem document says; None for anything else, such as a proxy's page."""
    if not response.headers.get("content-type", "").startswith(PROBLEM_MEDIA_TYPE):
        return None
    try:
        return str(response.json()["detail"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
