"""The home as a collector talks to it."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from sordino_analysis.archive.aggregate_document import AggregateDocument
from sordino_server.collecting.schemas import Mirror
from sordino_server.kit.outgoing import Exchanger, server_at
from sordino_server.kit.received_problem import received_problem
from sordino_shared.errors import NoAnswer, OversizedDocument, SordinoError
from sordino_shared.http.exchange import HttpAnswer, HttpRequest
from sordino_shared.protocol import CBOR_MEDIA_TYPE, Digest

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
    """The home at an address; raises HomeUnreachable or HomeRefused. `exchanger` stands for the network in tests."""

    def __init__(self, address: str, exchanger: Exchanger | None = None) -> None:
        self.address = address
        self._exchanger = server_at(address) if exchanger is None else exchanger

    def mirror(self, key: str) -> Mirror:
        """What the home decided for the campaign of the key."""
        answer = self._granted("GET", "/v1/mirror", {"Accept": "application/json", **_bearer(key)})
        try:
            return Mirror.model_validate_json(answer.content())
        except ValidationError as error:
            raise HomeUnreachable(f"{self.address} answers with no mirror: is it a sordino server?") from error

    def document(self, path: str, limit: int, digest: Digest) -> bytes:
        """A public document of at most `limit` bytes; raises DigestMismatch before others are in memory."""
        answer = self._granted("GET", path, {"Accept": CBOR_MEDIA_TYPE}, within_s=_LARGE_S, limit=limit)
        with answer.body:
            digest.check_file(answer.body)
            return answer.body.read()

    def send(self, key: str, sums: AggregateDocument) -> None:
        """Give the home the sums; the same document twice changes nothing there."""
        path = f"/v1/campaigns/{sums.campaign}/rounds/{sums.round}/aggregates"
        headers = _bearer(key) | {"Content-Type": CBOR_MEDIA_TYPE}
        self._granted("POST", path, headers, within_s=_LARGE_S, content=sums.content).body.close()

    def _granted(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        *,
        within_s: float = _ANSWER_S,
        limit: int = _ANSWER_BYTES,
        content: bytes | None = None,
    ) -> HttpAnswer:
        """An answer that grants what was asked for, whole within so many seconds and bytes."""
        request = HttpRequest(
            method=method, path=path, limit=limit, within_s=within_s, headers=headers, content=content
        )
        try:
            answer = self._exchanger.exchange(request)
        except NoAnswer as error:
            raise HomeUnreachable(f"{self.address} gives no answer: {error}") from error
        except OversizedDocument as error:
            raise HomeUnreachable(
                f"{self.address} answers with more than {error.limit:,} bytes: is it a sordino server?"
            ) from error
        if answer.is_success:
            return answer
        problem = received_problem(answer.headers, answer.content())
        said = None if problem is None else problem.get("detail")
        if said is None or answer.status >= 500 or answer.status in _PASSING:
            raise HomeUnreachable(f"{self.address} answers {answer.status}: {said or 'no problem document'}")
        raise HomeRefused(f"the home refuses: {said}")


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}
