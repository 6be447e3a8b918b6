"""The writer's queue: bounded, grouped by what waits, drained on closing, deaf to those who gave up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy.orm import Session

from sordino_server import aggregates
from sordino_server.kit.clock import ManualClock
from sordino_server.kit.db import Database
from sordino_server.reports import Overloaded, ReportWriter, Upload
from sordino_server.reports.ingest import Ingest, Recorded
from tests.patience import PATIENCE_S


@pytest.fixture
def database(migrated_sqlite_url: str) -> Iterator[Database]:
    database = Database(migrated_sqlite_url)
    yield database
    database.close()


def upload(stored, *numbers: int) -> Upload:
    ids = [stored.report_id(number) for number in numbers]
    return stored.upload(ids, stored.payloads(*(number % 200 for number in numbers)))


def count(database: Database, stored) -> int:
    with database.read() as session:
        return aggregates.counts_by_round(session, [stored.id])[stored.id]


def test_what_waits_is_committed_together_up_to_the_cap(database, store_round, monkeypatch):
    stored = store_round(database)
    record = Ingest.record
    commits: list[int] = []

    def counted(ingest: Ingest, session: Session, requests: list, now: int) -> Recorded:
        commits.append(len(requests))
        return record(ingest, session, requests, now)

    monkeypatch.setattr(Ingest, "record", counted)
    writer = ReportWriter(database, ManualClock())
    futures = [writer.submit(upload(stored, *range(start, start + 1500))) for start in range(0, 6000, 1500)]
    writer.start()
    assert [future.result().accepted for future in futures] == [1500] * 4
    writer.close()
    assert commits == [2, 2]
    assert count(database, stored) == 6000


def test_a_full_queue_refuses_before_it_takes_anything(database, store_round):
    stored = store_round(database)
    one = upload(stored, 1)
    writer = ReportWriter(database, ManualClock(), max_queued_bytes=2 * one.size)
    futures = [writer.submit(one), writer.submit(upload(stored, 2))]
    with pytest.raises(Overloaded):
        writer.submit(upload(stored, 3))
    writer.start()
    assert [future.result().accepted for future in futures] == [1, 1]
    assert writer.submit(upload(stored, 3)).result().accepted == 1
    writer.close()


def test_closing_writes_what_is_queued_and_takes_nothing_more(database, store_round, monkeypatch):
    """Every group of it, not only the one that is being written: fifty transactions here."""
    monkeypatch.setattr("sordino_server.reports.writer.GROUP_REPORTS", 1)
    stored = store_round(database)
    writer = ReportWriter(database, ManualClock())
    futures = [writer.submit(upload(stored, number)) for number in range(50)]
    writer.start().close()
    assert all(future.done() for future in futures)
    with pytest.raises(Overloaded):
        writer.submit(upload(stored, 99))
    assert count(database, stored) == 50


def test_a_writer_that_never_started_can_be_closed(database):
    ReportWriter(database, ManualClock()).close()


def test_an_upload_whose_sender_gave_up_is_not_written(database, store_round):
    stored = store_round(database)
    writer = ReportWriter(database, ManualClock())
    given_up, kept = writer.submit(upload(stored, 1)), writer.submit(upload(stored, 2))
    assert given_up.cancel()
    writer.start().close()
    assert kept.result().accepted == 1
    assert count(database, stored) == 1


def test_a_bug_in_a_transaction_reaches_its_requests_and_not_the_next(database, store_round, monkeypatch):
    stored = store_round(database)
    writer = ReportWriter(database, ManualClock()).start()
    with monkeypatch.context() as broken:
        broken.setattr(aggregates, "add_chunk", lambda *_: 1 / 0)
        assert isinstance(writer.submit(upload(stored, 1)).exception(timeout=PATIENCE_S), ZeroDivisionError)
    assert writer.submit(upload(stored, 1)).result(timeout=PATIENCE_S).accepted == 1
    writer.close()
    assert count(database, stored) == 1


def test_a_commit_that_cannot_be_measured_is_answered_and_so_is_the_next(database, store_round):
    def full_disk(recorded: Recorded, seconds: float) -> None:
        raise OSError(28, "No space left on device")

    stored = store_round(database)
    writer = ReportWriter(database, ManualClock(), committed=full_disk).start()
    try:
        answers = [writer.submit(upload(stored, number)).result(PATIENCE_S) for number in (1, 2)]
    finally:
        writer.close()
    assert [answer.accepted for answer in answers] == [1, 1]
    assert count(database, stored) == 2
