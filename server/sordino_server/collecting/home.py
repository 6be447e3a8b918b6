"""The home as a collector talks to it."""

from __future__ import annotations

from time import monotonic
from typing import Any

import httpx
from pydantic import ValidationError

from sordino_analysis.archive.aggregate_document import AggregateDocument
from sordino_server.collecting.schemas import Mirror
from sordino_server.kit.received_problem import received_problem
from sordino_shared.errors import SordinoError
from sordino_shared.protocol import CBOR_MEDIA_TYPE

_CONNECT_S = 10.0
# A collector waits this long in all, whatever drips in: meanwhile it closes no round.
_ANSWER_S = 15.0
_ANSWER_BYTES = 1 << 20
# Sums of 2^24 items are 128 MiB.
_LARGE_S = 300.0
# Not about what was sent: the same may be taken later.
_PASSING = frozenset({401, 403, 408, 429})


class HomeUnreachable(SordinoError):
    """The home gave no answer, or is in trouble: the same request may succeed later."""


class HomeRefused(SordinoError):
    """The home does not take what was sent, and will not; the text says why."""


class Home:
    """One connection to the home at an address; raises HomeUnreachable or HomeRefused."""

    def __init__(self, address: str, transport: httpx.BaseTransport | None = None) -> None:
        self.address = address
        self._http = httpx.Client(base_url=address, transport=transport)

    def mirror(self, key: str) -> Mirror:
        """What the home decided for the campaign of the key."""
        content = self._answered("GET", "/v1/mirror", headers=_bearer(key))
        try:
            return Mirror.model_validate_json(content)
        except ValidationError as error:
            raise HomeUnreachable(f"{self.address} answers with no mirror: is it a sordino server?") from error

    def document(self, path: str, limit: int) -> bytes:
        """At most `limit` bytes of a public document; the caller checks their digest."""
        return self._answered("GET", path, _LARGE_S, limit, headers={"Accept": CBOR_MEDIA_TYPE})

    def send(self, key: str, sums: AggregateDocument) -> None:
        """Give the home the sums; the same document twice changes nothing there."""
        path = f"/v1/campaigns/{sums.campaign}/rounds/{sums.round}/aggregates"
        headers = _bearer(key) | {"Content-Type": CBOR_MEDIA_TYPE}
        self._answered("POST", path, _LARGE_S, headers=headers, content=sums.content)

    def _answered(
        self, method: str, path: str, within_s: float = _ANSWER_S, limit: int = _ANSWER_BYTES, **request: Any
    ) -> bytes:
        """The body of an answer that is whole within so many seconds and bytes."""
        try:
            timeout = httpx.Timeout(within_s, connect=_CONNECT_S)
            with self._http.stream(method, path, timeout=timeout, **request) as response:
                content = self._read(response, monotonic() + within_s, limit)
        except httpx.HTTPError as error:
            raise HomeUnreachable(f"{self.address} gives no answer: {error}") from error
        if response.is_success:
            return content
        problem = received_problem(response.headers, content)
        said = None if problem is None else problem.get("detail")
        if said is None or response.status_code >= 500 or response.status_code in _PASSING:
            raise HomeUnreachable(f"{self.address} answers {response.status_code}: {said or 'no problem document'}")
        raise HomeRefused(f"the home refuses: {said}")

    def _read(self, response: httpx.Response, until: float, limit: int) -> bytes:
        content = bytearray()
        for chunk in response.iter_bytes():
            content += chunk
            if len(content) > limit:
                raise HomeUnreachable(f"{self.address} answers with more than {limit:,} bytes: is it a sordino server?")
            if monotonic() > until:
                raise HomeUnreachable(f"{self.address} answers too slowly: part of it came, and then not the rest")
        return bytes(content)


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}
