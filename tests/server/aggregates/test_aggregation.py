"""Which sums are kept on ingest, and that paging through the log neither skips nor repeats a chunk."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest

from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.progress import Progress
from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_server import aggregates
from sordino_server.aggregates import log_pages
from sordino_server.kit.db import Database
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import Coarsened, FieldLabel, GridPartition, Level, RandomizedResponse, SeededDirection

ONE = PureEpsilon(10**9)
DIRECTION = SeededDirection(
    60, array_of(np.eye(3, dtype=np.int32), "<i4"), array_of(np.full(3, 7 << 57, dtype=np.uint64), "<u8")
)


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    database = Database(request.getfixturevalue(f"migrated_{request.param}_url"))
    yield database
    database.close()


def test_long_statistics_and_directions_are_summed_when_the_round_ends():
    assert aggregates.summed_on_ingest(RandomizedResponse.for_guarantee(1 << 14, ONE))
    assert not aggregates.summed_on_ingest(RandomizedResponse.for_guarantee((1 << 14) + 1, ONE))
    assert not aggregates.summed_on_ingest(DIRECTION)


@pytest.mark.parametrize("chunks", [1, 2, 3, 6, 7])
def test_every_chunk_of_the_log_is_read_once(database, store_round, monkeypatch, chunks):
    monkeypatch.setattr(log_pages, "_PAGE_BYTES", 3 * 4096)
    stored, other = store_round(database), store_round(database)
    with database.write("log") as session:
        for chunk in range(chunks):
            for round_id in (stored.id, other.id):
                aggregates.add_chunk(session, round_id, 2, bytes([chunk, 100 + chunk]), 0)
    steps: list[Progress] = []
    total = aggregates.re_aggregate(database, stored.id, stored.part.randomizer, 2 * chunks, steps.append)
    assert np.flatnonzero(total.sums == 1).tolist() == [*range(chunks), *range(100, 100 + chunks)]
    assert total.count == total.sums.sum() == 2 * chunks
    fractions = [step.fraction for step in steps]
    assert fractions == sorted(fractions)
    assert steps[-1].fraction == 1.0


def test_the_log_of_a_large_domain_is_added_up_in_one_table(database, store_round, monkeypatch):
    """Page after page into the same 2 MiB: one table more for every page, as a sum of aggregates needs, is too much."""
    level = Level(1 << 32, GridPartition((1,)), FieldLabel(2), b"\x01")
    randomizer = Coarsened.for_guarantee((1 << 18,), (level,), ONE)
    assert not aggregates.summed_on_ingest(randomizer)
    monkeypatch.setattr(log_pages, "_PAGE_BYTES", 4096)
    stored = store_round(database, randomizer)
    payloads = randomize_many(randomizer, np.arange(400), SeededRandomness(1))
    with database.write("log") as session:
        for chunk in np.split(payloads, 8):
            aggregates.add_chunk(session, stored.id, 50, chunk.tobytes(), 0)
    tracemalloc.start()
    total = aggregates.re_aggregate(database, stored.id, randomizer, 400)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (total.count, total.to_bytes()) == (400, Aggregate(400, accumulate(randomizer, payloads)).to_bytes())
    assert total.sums.nbytes < peak < 1.5 * total.sums.nbytes


def test_an_empty_round_has_an_empty_aggregate(database, store_round):
    for randomizer in (None, DIRECTION):
        stored = store_round(database, randomizer)
        total = aggregates.aggregate(database, stored.id, stored.part.randomizer)
        assert (total.count, total.to_bytes()) == (0, Aggregate.empty(stored.part.randomizer).to_bytes())


def test_shares_replace_themselves_and_add_up_to_the_round(database, store_round):
    stored = store_round(database)
    size = stored.part.randomizer.accumulator_size
    ones, twos = (Aggregate(value * size, np.full(size, value)) for value in (1, 2))
    with database.write("shares") as session:
        for shard, share in (("a", ones), ("b", ones), ("a", twos)):
            aggregates.put_shard(session, stored.id, shard, share.count, share.to_bytes())
        aggregates.add_chunk(session, stored.id, 3 * size, bytes(3 * size), 0)
    total = aggregates.aggregate(database, stored.id, stored.part.randomizer)
    assert (total.count, set(total.sums.tolist())) == (3 * size, {3})


@pytest.mark.parametrize("randomizer", [DIRECTION, RandomizedResponse.for_guarantee(3, ONE)])
def test_sums_whose_log_lost_a_chunk_are_refused_and_nothing_is_purged(database, store_round, randomizer):
    """Also where the sums were kept on ingest, and the log is not needed for them."""
    stored = store_round(database, randomizer)
    sums = Aggregate.empty(randomizer).to_bytes() if aggregates.summed_on_ingest(randomizer) else b""
    with database.write("shares") as session:
        aggregates.put_shard(session, stored.id, "a", 2, sums)
        aggregates.add_chunk(session, stored.id, 1, bytes(randomizer.payload_bytes), 0)
    for adds_up in (aggregates.aggregate, lambda *asked: aggregates.purge(*asked, 1)):
        with pytest.raises(aggregates.AggregateMismatch) as caught:
            adds_up(database, stored.id, randomizer)
        assert (caught.value.counted, caught.value.logged) == (2, 1)
    with database.read() as session:
        assert aggregates.log_bytes(session, stored.id) == randomizer.payload_bytes
