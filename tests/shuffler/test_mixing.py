"""A round's life at the shuffler: collected, mixed once, delivered, forgotten; and nothing leaves a second time."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sordino_shuffler import mixing, writer
from sordino_shuffler.errors import PlanChanged, RoundOver, StoreInUse, StoreOfAnotherVersion
from sordino_shuffler.mixing import (
    EMPTY_ROOT,
    Outcome,
    deliver,
    forget_missed,
    give_up,
    may_leave,
    mix,
    purge,
    root_of,
    stated,
)
from sordino_shuffler.released import Released
from sordino_shuffler.store import MOVES, Added, State, Store, StoredRound, apart, id_of
from tests.patience import PATIENCE_S

CAMPAIGN, DEVICE = bytes(32), b"\x01" * 32
ENDS_AT = 1_000


def _bodies(count: int, seed: int = 0) -> list[bytes]:
    chosen = random.Random(seed)
    return [chosen.randbytes(81) for _ in range(count)]


def _sign(row: StoredRound, outcome: Outcome) -> bytes:
    return f"{row.number} {outcome.ended} {outcome.received} {outcome.blanket} {outcome.reports}".encode()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "shuffler.sqlite3")
    yield opened
    opened.close()


@pytest.fixture
def released(tmp_path: Path) -> Iterator[Released]:
    with Released(tmp_path / "released") as opened:
        yield opened


@pytest.fixture
def collecting(store: Store) -> StoredRound:
    return store.pin(CAMPAIGN, 0, DEVICE, ENDS_AT)


def test_the_same_bytes_count_once(store: Store, collecting: StoredRound):
    bodies = _bodies(5)
    assert store.add(collecting, [*bodies[:3], bodies[0]]) == Added(3, 1)
    assert store.add(collecting, bodies) == Added(2, 3)
    assert store.count(collecting) == 5


def test_a_batch_is_in_the_order_of_its_digests(store: Store, released: Released, collecting: StoredRound):
    devices, blanket = _bodies(50), _bodies(20, seed=1)
    store.add(collecting, devices)
    row = mix(store, released, collecting, 10, blanket, _sign)
    assert (row.state, row.received, row.statement) == (State.MIXED, 50, b"0 time 50 20 70")
    pages, after = [], None
    while page := store.page(row, after, 16):
        pages += page
        after = page[-1][0]
    assert [body for _, body in pages] == sorted(devices + blanket, key=lambda body: hashlib.sha256(body).digest())
    assert all(identity == id_of(body) for identity, body in pages)
    assert root_of(identity for identity, _ in pages) == root_of(store.ids(row))


def test_a_round_below_its_floor_is_deleted_unopened(store: Store, released: Released, collecting: StoredRound):
    store.add(collecting, _bodies(47))
    row = mix(store, released, collecting, 48, _bodies(20, seed=1), _sign)
    assert (row.state, row.received, row.statement) == (State.MISSED, 40, b"0 missed 40 0 0")
    assert not forget_missed(store, row)
    assert store.count(row) == 0


def test_a_floor_that_the_last_report_meets_is_no_batch_without_a_blanket(
    store: Store, released: Released, collecting: StoredRound
):
    """It came after the count that found no blanket to be needed, and before the mixing."""
    store.add(collecting, _bodies(10))
    assert mix(store, released, collecting, 10, [], _sign).state is State.COLLECTING
    assert mix(store, released, collecting, 10, _bodies(3, seed=1), _sign).state is State.MIXED


def test_delivered_bodies_go_and_ids_stay_for_thirty_days(
    store: Store, released: Released, collecting: StoredRound, monkeypatch: pytest.MonkeyPatch
):
    bodies = _bodies(10)
    store.add(collecting, bodies)
    row = mix(store, released, collecting, 1, _bodies(5, seed=1), _sign)
    assert may_leave(store, released, row, _sign)
    after: bytes | None = b""
    for left in (8, 1, 0):
        after = store.forget_bodies(row, after or b"", 7)
        assert sum(body is not None for _, body in store.page(row, None, 100)) == left
    assert store.forget_bodies(row, after or b"", 7) is None
    deliver(store, row, ENDS_AT)
    row = store.round(CAMPAIGN, 0)
    assert row.state is State.DELIVERED
    assert store.known(row, bodies) == 10
    assert not purge(store, ENDS_AT + 30 * 86400 - 1)
    monkeypatch.setattr(mixing, "SLICE", 8)
    for left in (7, 0):
        assert purge(store, ENDS_AT + 30 * 86400)
        assert (store.round(CAMPAIGN, 0).state, store.count(row)) == (State.DELIVERED, left)
    assert purge(store, ENDS_AT + 30 * 86400)
    assert not purge(store, ENDS_AT + 30 * 86400)
    assert store.round(CAMPAIGN, 0).state is State.DELETED
    assert store.count(row) == 0


def test_a_missed_round_is_forgotten_in_slices_that_uploads_get_between(
    store: Store, collecting: StoredRound, monkeypatch: pytest.MonkeyPatch
):
    """The statement says at once that the round is missed; a process that dies meanwhile goes on deleting."""
    bodies = _bodies(20)
    store.add(collecting, bodies)
    monkeypatch.setattr(mixing, "SLICE", 8)
    row = give_up(store, collecting, "abandoned", _sign)
    assert (row.state, store.count(row)) == (State.MISSED, 20)
    with pytest.raises(RoundOver):
        writer._add(CAMPAIGN, 0, bodies[:1], ENDS_AT, store, {})
    assert [forget_missed(store, row) for _ in range(2)] == [True, True]
    assert (store.count(row), purge(store, ENDS_AT), store.count(row)) == (4, True, 0)
    assert (purge(store, ENDS_AT), store.round(CAMPAIGN, 0)) == (False, row)


def test_two_that_delete_ids_at_once_are_in_nobodys_way(
    store: Store, collecting: StoredRound, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """An operator's `purge` beside the one of `serve`: each looks at all rounds, and the other one is first."""
    store.add(collecting, _bodies(3))
    stated(store, give_up(store, collecting, "abandoned", _sign), ENDS_AT)
    other, look = Store(tmp_path / "shuffler.sqlite3"), Store.rounds

    def outrun(looking: Store) -> list[StoredRound]:
        found = look(looking)
        while looking is store and purge(other, ENDS_AT + 30 * 86400):
            pass
        return found

    monkeypatch.setattr(Store, "rounds", outrun)
    while purge(store, ENDS_AT + 30 * 86400):
        pass
    other.close()
    assert store.round(CAMPAIGN, 0).state is State.DELETED


def test_a_plan_is_pinned_with_the_round(store: Store, collecting: StoredRound):
    assert store.pin(CAMPAIGN, 0, DEVICE, ENDS_AT) == collecting
    for device, ends_at in ((b"\x02" * 32, ENDS_AT), (DEVICE, ENDS_AT + 1)):
        with pytest.raises(PlanChanged, match="another plan or end for round 0"):
            store.pin(CAMPAIGN, 0, device, ends_at)


@pytest.mark.parametrize("when", ["collecting", "mixed"])
def test_a_folder_restored_to_before_it_mixed_sends_nothing(tmp_path: Path, when: str):
    """The copy has the same devices' reports and would draw another blanket: the two batches' common part is theirs."""
    path, copy = tmp_path / "shuffler.sqlite3", tmp_path / "copy.sqlite3"
    devices = _bodies(30)
    store = Store(path)
    row = store.pin(CAMPAIGN, 0, DEVICE, ENDS_AT)
    store.add(row, devices)
    store.truncate_log()
    shutil.copy(path, copy)
    with Released(tmp_path / "released") as released:
        if when == "mixed":
            # A twin that mixed before the first one released.
            twin = Store(copy)
            with Released(tmp_path / "elsewhere") as elsewhere:
                mix(twin, elsewhere, twin.round(CAMPAIGN, 0), 1, _bodies(9, seed=2), _sign)
            twin.close()
        assert may_leave(store, released, mix(store, released, row, 1, _bodies(9, seed=1), _sign), _sign)
    store.close()
    restored = Store(copy)
    with Released(tmp_path / "released") as released:
        row = restored.round(CAMPAIGN, 0)
        assert not purge(restored, ENDS_AT)
        if when == "collecting":
            row = mix(restored, released, row, 1, _bodies(9, seed=2), _sign)
        else:
            assert not may_leave(restored, released, row, _sign)
            row = restored.round(CAMPAIGN, 0)
        assert row.state is State.MISSED
        assert purge(restored, ENDS_AT)
        assert restored.page(row, None, 100) == []
    restored.close()


def test_killed_between_mixing_and_the_first_page_the_same_batch_leaves(tmp_path: Path):
    store = Store(tmp_path / "shuffler.sqlite3")
    row = store.pin(CAMPAIGN, 0, DEVICE, ENDS_AT)
    store.add(row, _bodies(30))
    with Released(tmp_path / "released") as released:
        mixed = mix(store, released, row, 1, _bodies(9, seed=1), _sign)
        assert may_leave(store, released, mixed, _sign)
    store.close()
    again = Store(tmp_path / "shuffler.sqlite3")
    with Released(tmp_path / "released") as released:
        assert may_leave(again, released, again.round(CAMPAIGN, 0), _sign)
        assert released.root(CAMPAIGN, 0) == root_of(again.ids(row))
    again.close()


def test_rounds_take_legal_moves_only(store: Store, released: Released, collecting: StoredRound):
    assert {state for to in MOVES.values() for state in to} == set(State) - {State.COLLECTING}
    row = give_up(store, collecting, "abandoned", _sign)
    assert (row.state, row.statement) == (State.MISSED, b"0 abandoned 0 0 0")
    with pytest.raises(AssertionError, match="does not go from missed to mixed"):
        store.move(row, State.MIXED)
    # Given up by an operator while its blanket was drawn.
    assert mix(store, released, collecting, 0, _bodies(3), _sign) == row


def test_a_statement_of_nothing_has_the_root_of_nothing():
    assert root_of([]) == EMPTY_ROOT


def test_a_count_apart_waits_for_no_other_one(
    tmp_path: Path, store: Store, collecting: StoredRound, monkeypatch: pytest.MonkeyPatch
):
    """Emptying the log would wait for the other reader, and no upload is written meanwhile."""
    monkeypatch.setattr("sordino_shuffler.store._BUSY_TIMEOUT_S", 10 * PATIENCE_S)
    path = tmp_path / "shuffler.sqlite3"
    store.add(collecting, _bodies(3))
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM sealed").fetchone()
    store.add(collecting, _bodies(4))
    found: list[int] = []
    counting = threading.Thread(
        target=lambda: found.append(apart(path, lambda other: other.count(collecting))), daemon=True
    )
    counting.start()
    counting.join(PATIENCE_S / 5)
    reader.close()
    assert found == [4]


class TestReleasedFile:
    def test_one_shuffler_holds_it(self, tmp_path: Path, released: Released):
        with pytest.raises(StoreInUse):
            Released(tmp_path / "released")

    def test_a_line_cut_short_by_a_crash_was_never_released(self, tmp_path: Path):
        path = tmp_path / "released"
        with Released(path) as released:
            released.claim(CAMPAIGN, 0, DEVICE)
        whole = path.read_bytes()
        for cut in range(1, len(whole)):
            path.write_bytes(whole + whole.replace(b" 0 ", b" 1 ")[:cut])
            with Released(path) as released:
                assert released.root(CAMPAIGN, 0) == DEVICE
                assert released.root(CAMPAIGN, 1) is None
            assert path.read_bytes() == whole

    def test_a_full_disk_leaves_no_part_of_a_line(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        path, write = tmp_path / "released", os.write
        with Released(path) as released:
            released.claim(CAMPAIGN, 0, DEVICE)
            monkeypatch.setattr(os, "write", lambda file, content: write(file, content[:50]))
            with pytest.raises(OSError, match="was not written whole"):
                released.claim(CAMPAIGN, 1, DEVICE)
            monkeypatch.undo()
            assert released.root(CAMPAIGN, 1) is None
            released.claim(CAMPAIGN, 2, DEVICE)
        with Released(path) as released:
            assert [released.root(CAMPAIGN, number) for number in range(3)] == [DEVICE, None, DEVICE]

    @pytest.mark.parametrize("line", [b"nothing", b"00 0 00", b"%s x %s" % ((b"0" * 64,) * 2), b"\xff 0 0"])
    def test_other_files_are_refused(self, tmp_path: Path, line: bytes):
        path = tmp_path / "released"
        path.write_bytes(line + b"\n")
        with pytest.raises(StoreOfAnotherVersion):
            Released(path)

    def test_two_roots_of_a_round_are_refused(self, tmp_path: Path):
        path = tmp_path / "released"
        path.write_bytes(b"".join(b"%s 0 %s\n" % (CAMPAIGN.hex().encode(), root * 64) for root in (b"a", b"b")))
        with pytest.raises(StoreOfAnotherVersion, match="two roots"):
            Released(path)


class TestStoreFile:
    def test_it_is_readable_by_its_owner_alone(self, tmp_path: Path, store: Store):
        assert os.stat(tmp_path / "shuffler.sqlite3").st_mode & 0o777 == 0o600

    def test_no_column_tells_when_or_whence_a_report_came(self, tmp_path: Path, store: Store):
        written = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"
        tables = sqlite3.connect(tmp_path / "shuffler.sqlite3").execute(written).fetchall()
        columns = {row[1] for row in store._connection.execute("PRAGMA table_info(sealed)")}
        assert columns == {"round_id", "id", "body"}
        assert not any(word in sql for (sql,) in tables for word in ("address", "arrived", "received_at", "created"))

    @pytest.mark.parametrize("content", ["CREATE TABLE other (id INTEGER)", "PRAGMA user_version = 7"])
    def test_other_databases_are_refused(self, tmp_path: Path, content: str):
        path = tmp_path / "other.sqlite3"
        sqlite3.connect(path).executescript(content)
        with pytest.raises(StoreOfAnotherVersion, match="name a new folder"):
            Store(path)

    def test_a_file_that_is_no_database_is_refused(self, tmp_path: Path):
        (tmp_path / "text").write_bytes(b"not a database at all" * 99)
        with pytest.raises(StoreOfAnotherVersion):
            Store(tmp_path / "text")


def test_the_log_is_emptied_without_waiting_for_those_who_read(store: Store, collecting: StoredRound, tmp_path: Path):
    """Counting ten million reports holds the log for seconds; nobody's upload waits for it."""
    log = tmp_path / "shuffler.sqlite3-wal"
    reading = Store(tmp_path / "shuffler.sqlite3")
    store.add(collecting, _bodies(2000))
    ids = reading.ids(collecting)
    next(ids)
    store.add(collecting, _bodies(2000, seed=1))
    began = time.monotonic()
    store.truncate_log()
    # Far below the minute that a writer waits for another one.
    assert time.monotonic() - began < 20
    assert log.stat().st_size > 0
    assert len(list(ids)) == 1999
    reading.leave()
    store.truncate_log()
    assert log.stat().st_size == 0
