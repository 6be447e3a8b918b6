"""PostgreSQL is stopped with SIGSTOP: nothing is acknowledged, the queue is bounded, and afterwards all counts once."""

from __future__ import annotations

import time
from concurrent.futures import Future
from typing import Any

import pytest

from sordino_server.kit import patient_connection
from sordino_server.kit.clock import ManualClock
from sordino_server.kit.database_errors import DatabaseUnavailable
from sordino_server.kit.db import Database
from sordino_server.reports import ReportWriter, Upload
from sordino_server.reports.uploads import Overloaded
from tests.patience import PATIENCE_S, slack

BATCH = 20
REQUESTS = 40


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patient_connection, "ASK_AFTER_S", 0.2)
    # The least that libpq allows.
    monkeypatch.setattr(patient_connection, "ANSWER_WITHIN_S", 2)


def flood(writer: ReportWriter, uploads: list[Upload]) -> list[Future[Any]]:
    """What of the uploads is taken before the writer refuses to hold more."""
    taken = []
    try:
        for upload in uploads:
            taken.append(writer.submit(upload))
    except Overloaded:
        return taken
    raise AssertionError("the queue takes everything")


def test_uploads_while_postgresql_is_frozen(migrated_postgres_url: str, postgres_cluster: Any, buckets: Any) -> None:
    database = Database(migrated_postgres_url)
    round_ = buckets(database)
    uploads = [round_.upload(range(first, first + BATCH)) for first in range(0, REQUESTS * BATCH, BATCH)]
    room = sum(upload.size for upload in uploads[: REQUESTS // 2])
    writer = ReportWriter(database, ManualClock(), max_queued_bytes=room).start()
    assert writer.submit(uploads[0]).result(PATIENCE_S).accepted == BATCH
    with postgres_cluster.frozen():
        begun = time.monotonic()
        taken = flood(writer, uploads[1:])
        assert time.monotonic() - begun < slack(1)
        assert 0 < len(taken) < len(uploads) - 1
        # The group that found the server frozen, and the next one that could not connect.
        assert {type(future.exception(PATIENCE_S)) for future in taken} == {DatabaseUnavailable}
        assert time.monotonic() - begun < slack(10)
        assert writer.queued_bytes == 0
    for upload in uploads:
        outcomes = writer.submit(upload).result(PATIENCE_S)
        assert outcomes.accepted + outcomes.replayed == BATCH
    writer.close()
    assert round_.counts(database) == dict.fromkeys(range(REQUESTS * BATCH), 1)
    database.close()
