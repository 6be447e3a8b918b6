"""Entries become a signed tree: each gets one number, each checkpoint continues the last one, and nothing changes."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError

from sordino_server.kit.db import Database
from sordino_server.models import Log, LogCheckpoint, LogEntryRow
from sordino_server.public_log import entries, repository, service, setup
from sordino_server.public_log.integration import LogAhead, integrate
from sordino_server.public_log.signing import LogSigner, make_key_file, read_key_file
from sordino_server.public_log.tree import TILE
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol.log_days import LogDays
from sordino_shared.protocol.log_keys import LogPins
from sordino_shared.protocol.log_notes import read_checkpoint
from sordino_shared.protocol.log_tree import is_consistent
from tests.server.public_log.conftest import NOW, settings_of

DAY = 86_400


def publish(database: Database, log: Log, *texts: str) -> None:
    with database.write("publish") as session:
        for each in texts:
            entries.policy_published(session, log, each, NOW)


def checkpoints(database: Database) -> list[LogCheckpoint]:
    with database.read() as session:
        return list(session.scalars(select(LogCheckpoint).order_by(LogCheckpoint.size)))


def test_entries_get_numbers_in_their_order_and_a_signed_root(
    database: Database, log: Log, signer: LogSigner, pins: LogPins
) -> None:
    assert integrate(database, signer, NOW) is None
    publish(database, log, "one", "two")
    assert integrate(database, signer, NOW) == 2
    publish(database, log, *(f"text {number}" for number in range(TILE + 3)))
    assert integrate(database, signer, NOW + 5) == TILE + 5
    assert integrate(database, signer, NOW + 6) is None
    with database.read() as session:
        rows = session.scalars(select(LogEntryRow).order_by(LogEntryRow.id)).all()
        assert [row.number for row in rows] == list(range(TILE + 5))
        note = read_checkpoint(service.newest_note(session))
        assert pins.accept(note, NOW).witnesses == ()
        found = service.consistency(session, log, 2, TILE + 5)
    first, second = checkpoints(database)
    assert (note.size, bytes(note.root)) == (second.size, second.root)
    assert is_consistent(
        (2, read_checkpoint(first.note).root), (TILE + 5, read_checkpoint(second.note).root), tuple(found)
    )


def test_what_waits_is_numbered_in_pieces(database: Database, log: Log, signer: LogSigner) -> None:
    publish(database, log, *map(str, range(7)))
    assert [integrate(database, signer, NOW, most=3) for _ in range(4)] == [3, 6, 7, None]


def test_two_workers_at_once_sign_one_tree(database: Database, log: Log, signer: LogSigner) -> None:
    publish(database, log, *map(str, range(40)))
    failed: list[BaseException] = []

    def work() -> None:
        try:
            while integrate(database, signer, NOW, most=3) is not None:
                pass
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failed
    rows = checkpoints(database)
    assert rows[-1].size == 40
    assert len(rows) == len({row.size for row in rows})
    with database.read() as session:
        for row in rows:
            path = tuple(service.consistency(session, log, row.size, 40))
            roots = read_checkpoint(row.note).root, read_checkpoint(rows[-1].note).root
            assert is_consistent((row.size, roots[0]), (40, roots[1]), path)


CHANGES = (
    "UPDATE log_entries SET content = kind",
    "UPDATE log_entries SET number = 7",
    "UPDATE log_entries SET number = NULL",
    "DELETE FROM log_entries",
    "DELETE FROM log_checkpoints",
    "UPDATE log_checkpoints SET note = ''",
    "DELETE FROM log_nodes WHERE level = 1",
)


def test_the_database_refuses_changes(database: Database, log: Log, signer: LogSigner) -> None:
    publish(database, log, *map(str, range(TILE)))
    integrate(database, signer, NOW)
    for statement in CHANGES:
        told = statement.replace("= kind", "= '7'" if database.is_sqlite else "= '\\x07'::bytea")
        with pytest.raises(DBAPIError, match="append-only"), database.write("tamper") as session:
            session.execute(text(told))
    publish(database, log, "waits")
    with pytest.raises(DBAPIError, match="append-only"), database.write("tamper") as session:
        session.execute(text("UPDATE log_entries SET at = 7 WHERE number IS NULL"))
    assert integrate(database, signer, NOW) == TILE + 1


def test_days_have_the_first_checkpoint_of_each(database: Database, log: Log, signer: LogSigner, pins: LogPins) -> None:
    midnight = NOW - NOW % DAY
    moments = [midnight + day * DAY + hour for day in range(40) for hour in (3600, 7200)]
    for moment in moments:
        publish(database, log, f"at {moment}")
        integrate(database, signer, moment)
    with database.read() as session:
        found = LogDays.read(service.days(session, 0).encode())
    assert len(found.days) == 32
    assert [each.size for each in found.days] == [2 * day + 1 for day in range(8, 40)]
    assert found.newest.size == 80
    pins.accept(found.newest, moments[-1])


def test_a_clock_that_was_set_back_begins_no_earlier_day(database: Database, log: Log, signer: LogSigner) -> None:
    for moment in (NOW, NOW - 3 * DAY, NOW + DAY):
        publish(database, log, f"at {moment}")
        integrate(database, signer, moment)
    assert [row.at for row in checkpoints(database)] == [NOW, NOW, NOW + DAY]
    with database.read() as session:
        assert [each.size for each in LogDays.read(service.days(session, 0).encode()).days] == [1, 3]


def test_a_log_that_is_longer_elsewhere_is_not_signed(database: Database, log: Log, signer: LogSigner) -> None:
    publish(database, log, "one")
    with database.write("found elsewhere") as session:
        session.get_one(Log, log.id).ahead = 5
    with pytest.raises(LogAhead, match="5 entries elsewhere and 0 here"):
        integrate(database, signer, NOW)
    assert checkpoints(database) == []


def test_another_log_needs_another_key_and_leaves_the_old_one_alone(
    database: Database, log: Log, signer: LogSigner, key: Path, tmp_path: Path
) -> None:
    publish(database, log, "one")
    integrate(database, signer, NOW)
    with pytest.raises(InvalidValue, match="needs a new key"):
        setup.begin(settings_of(key), database, key, NOW, again=True)
    other = tmp_path / "other.key"
    make_key_file(other)
    with pytest.raises(InvalidValue, match="give the new one another name"):
        setup.begin(settings_of(other), database, other, NOW, again=True)
    named = settings_of(other).model_copy(update={"log_origin": "telemetry.example/log2"})
    new = setup.begin(named, database, other, NOW, again=True)
    with database.read() as session:
        assert repository.current(session).id == new.id
        assert repository.newest_checkpoint(session, new) is None
    with pytest.raises(InvalidValue, match="has another key"):
        setup.signer_of(settings_of(key), database, new)


def test_the_name_of_a_key_is_on_the_disk_when_the_database_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(stat.S_ISDIR(os.fstat(descriptor).st_mode)))
    make_key_file(tmp_path / "log.key")
    assert synced == [False, True]


def test_keys_are_private_and_whole(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "log.key"
    make_key_file(file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(read_key_file(file)) == 32
    before = read_key_file(file)
    make_key_file(file)
    assert read_key_file(file) == before
    assert list(file.parent.iterdir()) == [file]
    file.chmod(0o640)
    with pytest.raises(InvalidValue, match="chmod 600"):
        read_key_file(file)
    for wrong in ("", "ab", "x" * 64, "00" * 33):
        file.chmod(0o600)
        file.write_text(wrong)
        with pytest.raises(InvalidValue, match="64 hexadecimal digits"):
            read_key_file(file)
    with pytest.raises(InvalidValue, match="restore the file"):
        read_key_file(tmp_path / "missing")
