"""Several processes add up a log to the bytes of one, also where one of them is killed."""

from __future__ import annotations

import multiprocessing as mp
import threading
from collections.abc import Iterator

import numpy as np
import pytest
from sqlalchemy.orm import Session

from sordino_analysis.progress import Progress
from sordino_analysis.vectorized.arrays import array_of
from sordino_server import aggregates
from sordino_server.aggregates import log_pool
from sordino_server.aggregates.repository import ChunkIds
from sordino_server.kit.clock import ManualClock
from sordino_server.kit.db import Database
from sordino_server.reports.writer import ReportWriter
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import Coarsened, FieldLabel, GridPartition, Level, RandomizedResponse, SeededDirection

CHUNKS, REPORTS = 60, 50
DIRECTION = SeededDirection(
    60, array_of(np.eye(3, dtype=np.int32), "<i4"), array_of(np.full(3, 7 << 57, dtype=np.uint64), "<u8")
)


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    database = Database(request.getfixturevalue(f"migrated_{request.param}_url"))
    yield database
    database.close()


def fill(session: Session, *round_ids: int) -> None:
    """Chunks of the rounds in turns, each of random directions."""
    randomness = np.random.default_rng(5)
    for _ in range(CHUNKS):
        for round_id in round_ids:
            payloads = randomness.integers(0, 256, (REPORTS, DIRECTION.payload_bytes), dtype=np.uint8)
            payloads[:, -1] &= 1
            aggregates.add_chunk(session, round_id, REPORTS, payloads.tobytes(), 0)


@pytest.mark.parametrize("after", [0, 7])
@pytest.mark.parametrize("length", [0, 1, 5, 1000])
@pytest.mark.parametrize("ranges", [1, 3, 8])
def test_ranges_hold_every_chunk_once(after, length, ranges):
    parts = ChunkIds(after, after + length).split(ranges)
    ids = [each for part in parts for each in range(part.after + 1, part.until + 1)]
    assert ids == list(range(after + 1, after + length + 1))
    assert len(parts) <= ranges


@pytest.fixture
def logged(database, store_round, monkeypatch):
    """A round with 3,000 directions whose chunks lie between another round's, and what they add up to."""
    monkeypatch.setattr(log_pool, "LEAST_POOLED_REPORTS", 1)
    stored, other = store_round(database, DIRECTION), store_round(database, DIRECTION)
    with database.write("log") as session:
        fill(session, stored.id, other.id)
    return stored.id, aggregates.re_aggregate(database, stored.id, DIRECTION, CHUNKS * REPORTS)


@pytest.fixture
def fallbacks(monkeypatch):
    """Hears of every log that one process adds up."""
    heard: list[int] = []
    add_up = log_pool.add_up

    def one_process(*asked: object) -> object:
        heard.append(1)
        return add_up(*asked)

    monkeypatch.setattr(log_pool, "add_up", one_process)
    return heard


def test_two_processes_give_the_bytes_of_one(database, logged, fallbacks):
    round_id, alone = logged
    steps: list[Progress] = []
    whole = aggregates.re_aggregate(database, round_id, DIRECTION, alone.count, steps.append, processes=2)
    assert (whole.count, whole.to_bytes()) == (CHUNKS * REPORTS, alone.to_bytes())
    assert len(steps) > 2
    assert steps[-1].fraction == 1.0
    assert fallbacks == []


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_killed_processes_cost_no_report(database, logged, fallbacks):
    """They are killed as soon as they are there: starting takes longer than to add up these few."""
    round_id, alone = logged
    ended = threading.Event()

    def kill() -> None:
        while not fallbacks and not ended.wait(0.002):
            for process in mp.active_children():
                process.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        survived = aggregates.re_aggregate(database, round_id, DIRECTION, alone.count, processes=2)
    finally:
        ended.set()
        killer.join()
    assert fallbacks == [1]
    assert (survived.count, survived.to_bytes()) == (alone.count, alone.to_bytes())


def test_only_what_takes_long_gets_a_pool():
    one = PureEpsilon(10**9)
    level = Level(1 << 32, GridPartition((1,)), FieldLabel(2), b"\x01")
    many = log_pool.LEAST_POOLED_REPORTS
    assert log_pool.worth_a_pool(DIRECTION, many)
    assert not log_pool.worth_a_pool(DIRECTION, many - 1)
    assert not log_pool.worth_a_pool(RandomizedResponse.for_guarantee(64, one), 1000 * many)
    assert not log_pool.worth_a_pool(Coarsened.for_guarantee((1 << 18,), (level,), one), many)


def test_sums_of_directions_are_kept_on_ingest_where_the_server_is_set_to_it(database, store_round):
    """A round whose servers were set differently is added up from the log."""
    payload = np.r_[np.arange(16), 1].astype(np.uint8)
    for settings, kept in ((["all"], True), (["cheap"], False), (["all", "cheap"], False)):
        stored = store_round(database, DIRECTION)
        for number, setting in enumerate(settings):
            writer = ReportWriter(database, ManualClock(), sum_on_ingest=setting).start()
            sent = writer.submit(stored.upload([stored.report_id(number)], payload))
            assert sent.result().accepted == 1
            writer.close()
        with database.read() as session:
            shards = aggregates.repository.shards(session, stored.id)
        assert all(sums for _, sums in shards) == kept
        total = aggregates.aggregate(database, stored.id, DIRECTION)
        logged = aggregates.re_aggregate(database, stored.id, DIRECTION, len(settings))
        assert (total.count, total.to_bytes()) == (len(settings), logged.to_bytes())
