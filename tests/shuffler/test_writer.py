"""The writer's thread: answers after the commit, and to each caller its own."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from sordino_shuffler.errors import LeastFree, RoundOver, TooMuchWaits
from sordino_shuffler.mixing import Outcome, deliver, mix
from sordino_shuffler.released import Released
from sordino_shuffler.store import Added, Store, StoredRound
from sordino_shuffler.writer import MAX_WAITING_BYTES, Writer

CAMPAIGN, DEVICE = bytes(32), b"\x01" * 32
ENDS_AT = 1_000


def _bodies(count: int, seed: int = 0) -> list[bytes]:
    chosen = random.Random(seed)
    return [chosen.randbytes(81) for _ in range(count)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "shuffler.sqlite3"
    store = Store(path)
    store.pin(CAMPAIGN, 0, DEVICE, ENDS_AT)
    store.close()
    return path


@pytest.fixture
def writer(path: Path) -> Iterator[Writer]:
    writer = Writer(path, 1)
    yield writer
    writer.close()


def _count(path: Path) -> int:
    store = Store(path)
    count = store.count(store.round(CAMPAIGN, 0))
    store.close()
    return count


@pytest.mark.asyncio
async def test_what_is_answered_is_committed(path: Path, writer: Writer):
    assert await writer.add(CAMPAIGN, 0, _bodies(3), 0) == Added(3, 0)
    assert _count(path) == 3
    assert await writer.add(CAMPAIGN, 0, _bodies(4), 0) == Added(1, 3)


@pytest.mark.asyncio
async def test_each_of_many_gets_its_own_answer(path: Path, writer: Writer):
    uploads = [writer.add(CAMPAIGN, number % 2, _bodies(2, number), 0) for number in range(200)]
    answers = await asyncio.gather(*uploads, return_exceptions=True)
    assert all(answer == Added(2, 0) for answer in answers[::2])
    assert all(isinstance(answer, RoundOver) for answer in answers[1::2])
    assert _count(path) == 200


@pytest.mark.asyncio
async def test_after_its_end_a_round_knows_its_reports(writer: Writer, tmp_path: Path):
    await writer.add(CAMPAIGN, 0, _bodies(3), ENDS_AT - 1)
    for bodies in (_bodies(1, 9), [*_bodies(3), *_bodies(1, 9)]):
        with pytest.raises(RoundOver):
            await writer.add(CAMPAIGN, 0, bodies, ENDS_AT)
    assert await writer.add(CAMPAIGN, 0, _bodies(3), ENDS_AT) == Added(0, 3)

    def end(store: Store) -> None:
        with Released(tmp_path / "released") as released:
            deliver(store, mix(store, released, store.round(CAMPAIGN, 0), 1, _bodies(1, 77), _sign), ENDS_AT)

    await writer.run(end)
    assert await writer.add(CAMPAIGN, 0, _bodies(3), ENDS_AT) == Added(0, 3)


def _sign(_row: StoredRound, _outcome: Outcome) -> bytes:
    return b"signed"


@pytest.mark.asyncio
async def test_a_change_that_fails_tells_its_caller_and_nobody_else(writer: Writer):
    def fails(_store: Store) -> None:
        raise ValueError("as asked")

    with pytest.raises(ValueError, match="as asked"):
        await writer.run(fails)
    assert await writer.add(CAMPAIGN, 0, _bodies(1), 0) == Added(1, 0)


@pytest.mark.asyncio
async def test_a_full_disk_counts_nothing(path: Path):
    writer = Writer(path, 1 << 40)
    try:
        with pytest.raises(LeastFree, match="free some space"):
            await writer.add(CAMPAIGN, 0, _bodies(1), 0)
    finally:
        writer.close()
    assert _count(path) == 0


@pytest.mark.asyncio
async def test_too_much_that_waits_is_refused(writer: Writer):
    with pytest.raises(TooMuchWaits):
        await writer.add(CAMPAIGN, 0, [bytes(MAX_WAITING_BYTES + 1)], 0)
    assert await writer.add(CAMPAIGN, 0, _bodies(1), 0) == Added(1, 0)


@pytest.mark.asyncio
async def test_close_writes_what_waits(path: Path):
    writer = Writer(path, 1)
    waiting = [asyncio.ensure_future(writer.add(CAMPAIGN, 0, _bodies(1, seed), 0)) for seed in range(50)]
    await asyncio.sleep(0)
    await asyncio.to_thread(writer.close)
    assert await asyncio.gather(*waiting) == [Added(1, 0)] * 50
    assert _count(path) == 50
