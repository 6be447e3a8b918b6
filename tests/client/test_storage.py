"""A ledger that is locked, damaged, read-only, full or something else: a clear error, nothing spent, nothing lost."""

from __future__ import annotations

import functools
import os
import signal
import sqlite3
import stat
import threading

import pytest

from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_client import AnswerStatus, Caps, LedgerUnavailable, PureEpsilon
from sordino_client import _device as device_module
from sordino_client._storage import LedgerConnection, Storage
from sordino_shared.errors import InvalidValue
from tests.patience import PATIENCE_S


@pytest.fixture
def impatient(monkeypatch):
    """A short wait for locks."""
    monkeypatch.setattr(device_module, "Storage", functools.partial(Storage, busy_timeout_s=0.05))


def test_a_locked_ledger_spends_nothing_and_works_once_it_is_free(world, make_client, ledger, impatient) -> None:
    client = make_client()
    campaign = client.join(world.campaign)
    holder = sqlite3.connect(ledger, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    for step in (lambda: client.answer(campaign, "red"), client.flush, client.account, make_client):
        with pytest.raises(LedgerUnavailable, match="locked") as caught:
            step()
        assert caught.value.path == str(ledger)
        assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
    holder.execute("ROLLBACK")
    holder.close()
    assert client.account().lifetime_nano == 0
    assert client.answer(campaign, "red").status is AnswerStatus.RECORDED


def test_a_reader_that_blocks_the_commit_leaves_nothing_half_done(world, make_client, ledger, impatient) -> None:
    client = make_client()
    campaign = client.join(world.campaign)
    client.answer(campaign, "red")
    reader = sqlite3.connect(ledger, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM debits").fetchall()
    with pytest.raises(LedgerUnavailable, match="locked"):
        client.flush()
    reader.execute("ROLLBACK")
    reader.close()
    assert client.flush().delivered == 1
    assert len(set(world.bodies)) == 1


def test_a_damaged_ledger_is_reported_and_left_as_it_is(world, make_client, ledger) -> None:
    client = make_client()
    client.answer(client.join(world.campaign), "red")
    client.close()
    content = bytearray(ledger.read_bytes())
    content[100:] = b"\xff" * (len(content) - 100)
    ledger.write_bytes(content)
    with pytest.raises(LedgerUnavailable, match="a new ledger would be a new budget"):
        make_client()
    assert ledger.read_bytes() == content


def test_a_file_that_is_no_ledger(make_client, ledger) -> None:
    content = b"this is not a database, whatever its name says" * 100
    ledger.write_bytes(content)
    with pytest.raises(LedgerUnavailable, match="not a ledger"):
        make_client()
    assert ledger.read_bytes() == content


@pytest.mark.parametrize("size", [50, 512, 4096, 4097, 20_000])
def test_a_ledger_that_was_cut_short(make_client, ledger, size) -> None:
    make_client().close()
    content = ledger.read_bytes()[:size]
    ledger.write_bytes(content)
    with pytest.raises(LedgerUnavailable, match="damaged"):
        make_client()
    assert ledger.read_bytes() == content


def test_a_database_of_something_else(make_client, ledger) -> None:
    with sqlite3.connect(ledger) as connection:
        connection.execute("CREATE TABLE songs (title TEXT)")
    with pytest.raises(LedgerUnavailable, match="database of something else"):
        make_client()


def test_a_ledger_of_a_later_version(make_client, ledger) -> None:
    make_client().close()
    with sqlite3.connect(ledger) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(LedgerUnavailable, match="format 99"):
        make_client()


def test_a_folder_that_does_not_exist(make_client, tmp_path) -> None:
    with pytest.raises(LedgerUnavailable, match="check that its folder exists"):
        make_client(ledger=tmp_path / "nowhere" / "ledger.sqlite3")


@pytest.mark.parametrize("path", ["", b"", "led\0ger"])
def test_a_ledger_without_a_file_is_refused(make_client, path) -> None:
    """SQLite takes "" for a database that is gone when it is closed: every start would be a new budget."""
    with pytest.raises(InvalidValue, match="would forget what was spent"):
        make_client(ledger=path)


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_ledger_and_journals_are_the_owners_alone(world, make_client, ledger) -> None:
    seen: dict[str, int] = {}

    class Watched(SeededRandomness):
        """Looks at the files while the transaction of an answer is open."""

        def bits(self, bits: int) -> int:
            seen.update({file.name: stat.S_IMODE(file.stat().st_mode) for file in ledger.parent.iterdir()})
            return super().bits(bits)

    before = os.umask(0)
    try:
        client = make_client(randomness=Watched(1))
        client.answer(client.join(world.campaign), "red")
        with sqlite3.connect(ledger) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("INSERT INTO marks VALUES ('x', 1)")
            seen.update({file.name: stat.S_IMODE(file.stat().st_mode) for file in ledger.parent.iterdir()})
    finally:
        os.umask(before)
    assert {"", "-journal", "-wal", "-shm"} == {name.removeprefix(ledger.name) for name in seen}
    assert set(seen.values()) == {0o600}


def test_the_mode_of_a_ledger_that_is_there_is_left_alone(make_client, ledger) -> None:
    make_client().close()
    ledger.chmod(0o640)
    make_client().close()
    assert stat.S_IMODE(ledger.stat().st_mode) == 0o640


def test_a_read_only_ledger(world, make_client, ledger, monkeypatch) -> None:
    campaign = make_client().join(world.campaign)

    class ReadOnly(Storage):
        def connect(self) -> LedgerConnection:
            return sqlite3.connect(
                f"file:{self.path}?mode=ro", uri=True, isolation_level=None, factory=LedgerConnection
            )

    monkeypatch.setattr(device_module, "Storage", ReadOnly)
    with pytest.raises(LedgerUnavailable, match="cannot be written"):
        make_client().answer(campaign, "red")
    monkeypatch.undo()
    assert make_client().account().lifetime_nano == 0


def test_a_full_disk_loses_nothing_that_was_recorded(world, make_client, monkeypatch) -> None:
    class Full(Storage):
        def connect(self) -> sqlite3.Connection:
            connection = super().connect()
            connection.execute("PRAGMA max_page_count = 48")
            return connection

    monkeypatch.setattr(device_module, "Storage", Full)
    recorded = 0

    def answer_until_full() -> None:
        nonlocal recorded
        for number in range(1000):
            other = type(world)(world.part, created_at=number)
            client = make_client(other, caps=Caps(PureEpsilon.of(900), 30, PureEpsilon.of(900)))
            recorded += client.answer(client.join(other.campaign), "red").status is AnswerStatus.RECORDED

    with pytest.raises(LedgerUnavailable, match="the disk is full"):
        answer_until_full()
    monkeypatch.undo()
    assert recorded > 3
    account = make_client().account()
    assert sum(len(campaign.entries) for campaign in account.campaigns) == recorded
    assert account.lifetime_nano == recorded * account.campaigns[0].epsilon_nano


def test_a_pinned_manifest_that_was_altered(world, make_client, ledger) -> None:
    client = make_client()
    campaign = client.join(world.campaign)
    with sqlite3.connect(ledger) as connection:
        connection.execute("UPDATE campaigns SET manifest = x'a0'")
    with pytest.raises(LedgerUnavailable, match="pinned manifest"):
        client.answer(campaign, "red")
    with pytest.raises(LedgerUnavailable, match="pinned manifest"):
        client.account()


def test_a_fork_waits_until_no_thread_is_inside_the_ledger(world, make_client) -> None:
    """A child that inherited a held lock would wait for a thread that it does not have."""
    client = make_client()
    campaign = client.join(world.campaign)
    inside, leave = threading.Event(), threading.Event()

    def work() -> None:
        with client._device._storage.write():
            inside.set()
            leave.wait(1.0)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert inside.wait(PATIENCE_S)
        child = os.fork()
        if child == 0:
            signal.alarm(int(PATIENCE_S))
            code = 1
            try:
                code = 0 if client.answer(campaign, "red").status is AnswerStatus.RECORDED else 1
            finally:
                os._exit(code)
    finally:
        leave.set()
        thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert client.answer(campaign, "red").status is AnswerStatus.ALREADY_ANSWERED


def test_a_forked_child_opens_its_own_connection(world, make_client) -> None:
    client = make_client()
    campaign = client.join(world.campaign)
    inherited = client._device._storage._connection
    child = os.fork()
    if child == 0:
        code = 1
        try:
            status = client.answer(campaign, "red").status
            own = client._device._storage._connection is not inherited
            code = 0 if own and status is AnswerStatus.RECORDED else 1
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert client.answer(campaign, "red").status is AnswerStatus.ALREADY_ANSWERED
