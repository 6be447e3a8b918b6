"""Clients that load real servers while these are killed, and that know which reports were acknowledged."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any
from urllib.parse import urlsplit

import pytest

from sordino_shared.protocol import CBOR_MEDIA_TYPE, ReportOutcomes
from tests.patience import PATIENCE_S

BATCH = 20
_PAUSE_S = 0.01
_TIMEOUT_S = 120.0


def post(address: str, path: str, body: bytes, media_type: str = CBOR_MEDIA_TYPE) -> tuple[int, bytes]:
    """Status and body of the answer; raises OSError or HTTPException where there is none."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=_TIMEOUT_S)
    try:
        connection.request("POST", path, body, {"Content-Type": media_type})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


@dataclass
class Load:
    """Clients that send each its own reports, a batch at a time until it is acknowledged, then all of them again.

    `addresses` may change while they run: each takes the next one after every trouble, which is no answer or a 503.
    With `closing` set a client ends when it hears that the round is closed.
    """

    round: Any
    addresses: list[str]
    clients: int = 4
    batches: int = 20
    closing: bool = False
    acknowledged: set[int] = field(default_factory=set)
    answers: int = 0
    troubles: int = 0
    wrong: list[object] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Load while the block runs; what any client got must have been right."""
        threads = [threading.Thread(target=self._client, args=(number,)) for number in range(self.clients)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()
        assert self.wrong == []

    def await_answers(self, more: int = 20) -> float:
        """Seconds until `more` batches are acknowledged after this call."""
        begun, wanted = time.monotonic(), self.answers + more
        while self.answers < wanted and not self.wrong:
            assert time.monotonic() - begun < PATIENCE_S, "the servers answer no more"
            time.sleep(0.002)
        return time.monotonic() - begun

    def await_troubles(self, more: int = 1) -> None:
        """Until clients have noticed that something is wrong."""
        deadline, wanted = time.monotonic() + PATIENCE_S, self.troubles + more
        while self.troubles < wanted:
            assert time.monotonic() < deadline, "no client noticed anything"
            time.sleep(0.002)

    def all_numbers(self) -> range:
        """The reports of all clients."""
        return range(self.clients * self.batches * BATCH)

    def _client(self, number: int) -> None:
        address = number
        for batch in cycle(range(number * self.batches, (number + 1) * self.batches)):
            numbers = range(batch * BATCH, (batch + 1) * BATCH)
            while (status := self._send(self.addresses[address % len(self.addresses)], numbers)) != 200:
                if status == 409 or self._stop.wait(_PAUSE_S):
                    return
                address += 1
            if self._stop.is_set():
                return

    def _send(self, address: str, numbers: range) -> int:
        try:
            status, content = post(address, self.round.path, self.round.body(numbers))
        except (OSError, http.client.HTTPException):
            status, content = 503, b""
        with self._lock:
            if status == 200:
                self._note(ReportOutcomes.read(content), numbers)
            elif status == 503:
                self.troubles += 1
            elif status != 409 or not self.closing:
                self.wrong.append((status, content))
        return status

    def _note(self, outcomes: ReportOutcomes, numbers: range) -> None:
        known = self.acknowledged.issuperset(numbers)
        if outcomes.accepted + outcomes.replayed != BATCH or (known and outcomes.accepted):
            self.wrong.append((numbers, outcomes))
        self.acknowledged.update(numbers)
        self.answers += 1


@pytest.fixture(scope="session")
def load() -> Callable[..., Load]:
    """Makes clients for a round of buckets and the addresses of servers."""
    return Load


@pytest.fixture(scope="session")
def post_reports() -> Callable[..., tuple[int, bytes]]:
    """Posts one body on a connection of its own."""
    return post
