"""What `sordino serve` believes of whoever sends reports, and that its log tells nothing of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from sordino_server.keys import service as keys
from sordino_server.kit.db import Database
from sordino_server.models import Role
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import CBOR_MEDIA_TYPE
from sordino_shared.randomizers import RandomizedResponse
from tests.patience import PATIENCE_S

LISTENING = re.compile(r"listening on (http://[\w.:]+)[\n\x22]")
# All of 127.0.0.0/8 is this machine: an address that occurs nowhere else.
PROXY, FORWARDED, ELSEWHERE = "127.0.0.77", "198.51.100.9", "198.51.100.44"
# One upload at once, and the next one much later than any test.
ONE_UPLOAD = {"SORDINO_ANONYMOUS_UPLOADS_PER_S": "0.001", "SORDINO_ANONYMOUS_UPLOADS_BURST": "1"}
PAYLOADS = b"v!a!l!u!e!s!"


@pytest.fixture
def database(migrated_sqlite_url: str) -> Iterator[Database]:
    database = Database(migrated_sqlite_url)
    yield database
    database.close()


class Sender:
    """Uploads from `source` of ids and payloads that can be read; every one on a new connection."""

    def __init__(self, address: str, source: str) -> None:
        self._server = urlsplit(address)
        self._source = source
        self.ports: list[int] = []

    def post(self, round_: Any, **headers: str) -> int:
        """Status of six reports of a round."""
        ids = [round_.epoch.to_bytes(2, "big") + b"known-report-%d" % number for number in range(6)]
        payloads = np.frombuffer(PAYLOADS, dtype=np.uint8).reshape(6, 2)
        place = (str(self._server.hostname), self._server.port)
        connection = HTTPConnection(*place, timeout=PATIENCE_S, source_address=(self._source, 0))
        try:
            connection.connect()
            self.ports.append(connection.sock.getsockname()[1])
            named = {"Content-Type": CBOR_MEDIA_TYPE} | {name.replace("_", "-"): text for name, text in headers.items()}
            path = f"/v1/campaigns/{round_.campaign}/rounds/0/reports"
            connection.request("POST", path, round_.upload(ids, payloads).batch.content, named)
            return connection.getresponse().status
        finally:
            connection.close()


@pytest.fixture
def round_of(store_round: Callable[..., Any], database: Database) -> Callable[[], Any]:
    """Makes a campaign with an open round for payloads of two bytes."""
    return lambda: store_round(database, RandomizedResponse.for_guarantee(10_000, PureEpsilon(10**9)))


def test_uploads_that_are_taken_or_limited_leave_no_trace_of_their_sender(
    installation: Any, database: Database, round_of: Callable[[], Any], written: Callable[..., str]
) -> None:
    """At the lowest level, from a sender whose address a trusted proxy states, with a token and without."""
    settings = {"SORDINO_LOG_LEVEL": "debug", "SORDINO_LOG_FORMAT": "json", "SORDINO_TRUSTED_PROXIES": PROXY}
    settings |= ONE_UPLOAD | {"SORDINO_DATABASE_URL": str(database.url)}
    process, log = installation.start("serve", "--port", "0", "--no-worker", **settings)
    sender = Sender(written(process, log, LISTENING), PROXY)
    private, public = round_of(), round_of()
    with database.write("token") as session:
        token = keys.create(session, "test", Role.UPLOADER, 1, private.campaign).text
    forwarded = {"X_Forwarded_For": FORWARDED, "User_Agent": "a-known-device"}
    with_token = forwarded | {"Authorization": f"Bearer {token}"}
    statuses = [sender.post(private, X_Request_Id=name, **with_token) for name in ("first", "known")]
    statuses += [sender.post(public, X_Request_Id=name, **forwarded) for name in ("limited", "again")]
    statuses += [sender.post(public, X_Request_Id="other", **forwarded | {"X_Forwarded_For": ELSEWHERE})]
    assert statuses == [200, 200, 429, 429, 200]
    process.terminate()
    assert process.wait(PATIENCE_S) == 0
    logged = log.read_text()
    events = [json.loads(line) for line in logged.splitlines() if line.startswith("{")]
    finished = {event["request_id"]: event["status"] for event in events if event["event"] == "request"}
    assert finished == dict(zip(("first", "known", "limited", "again", "other"), statuses, strict=True))
    hidden = [PROXY, FORWARDED, ELSEWHERE, "a-known-device", token, token.rpartition("_")[2], token.split("_")[2]]
    hidden += ["known-report", b"known-report".hex(), PAYLOADS.decode(), PAYLOADS.hex()]
    assert not [text for text in hidden if text in logged]
    # Digits of times and durations may happen to be a port's.
    assert not [port for port in sender.ports if re.search(rf"(?<![.\d]){port}(?!\d)", logged)]


def test_a_forged_sender_is_not_believed(installation: Any, database: Database, round_of: Callable[[], Any]) -> None:
    """Not even from this very machine, which servers of HTTP like to trust by themselves."""
    _, address = installation.serve("--no-worker", **ONE_UPLOAD, SORDINO_DATABASE_URL=str(database.url))
    sender, round_ = Sender(address, "127.0.0.1"), round_of()
    assert sender.post(round_, X_Forwarded_For=FORWARDED) == 200
    assert sender.post(round_, X_Forwarded_For=ELSEWHERE, Forwarded=f"for={ELSEWHERE}") == 429
