"""The folder that workers keep the log in: it follows the log, and stops a database that is behind it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sordino_server.cli.log import app
from sordino_server.config import Settings
from sordino_server.jobs.log_keeper import LogKeeper
from sordino_server.kit.clock import WallClock
from sordino_server.kit.db import Database
from sordino_server.models import Log
from sordino_server.public_log import repository, restoring, service
from sordino_server.public_log.files import FolderFiles
from sordino_server.public_log.integration import LogAhead
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol.log_keys import LogPins
from sordino_shared.protocol.log_notes import read_checkpoint
from tests.server.conftest import RunningServer
from tests.server.public_log.conftest import ORIGIN, begin
from tests.server.public_log.test_copies import copied, publish, signer_of
from tests.server.public_log.test_witness import witnessed

__all__ = ["witnessed"]


class Kept:
    """A database whose log is kept in a folder too."""

    def __init__(self, database: Database, key: Path, folder: Path) -> None:
        self.database = database
        self._settings = Settings(log_key=key, log_origin=ORIGIN, log_folder=folder)

    def sign(self, *texts: str) -> int | None:
        """Publish texts and sign them, as a worker that has just begun."""
        publish(self.database, *texts)
        return LogKeeper(self.database, WallClock(), self._settings).step()

    @property
    def log(self) -> Log:
        with self.database.read() as session:
            found = repository.current(session)
        assert found is not None
        return found

    @property
    def size(self) -> int:
        """Of the newest checkpoint."""
        with self.database.read() as session:
            newest = repository.newest_checkpoint(session, self.log)
        return 0 if newest is None else newest.size


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "folder"


@pytest.fixture
def kept(database: Database, key: Path, folder: Path) -> Kept:
    """On either engine."""
    return Kept(database, key, folder)


def test_the_folder_follows_the_log(kept: Kept, folder: Path) -> None:
    assert kept.sign() is None
    assert not folder.exists()
    for size, texts in ((2, ("a", "b")), (3, ("c",))):
        assert kept.sign(*texts) == size
        with kept.database.read() as session:
            assert (folder / "checkpoint").read_text() == service.newest_note(session)
        assert (folder / f"tile/entries/000.p/{size}").exists()


def test_a_restored_backup_beside_a_newer_folder_signs_nothing_until_it_is_read_back(
    migrated_sqlite_url: str, key: Path, folder: Path, tmp_path: Path
) -> None:
    begin(migrated_sqlite_url, key)
    kept = Kept(Database(migrated_sqlite_url), key, folder)
    kept.sign("a")
    backup = Kept(copied(kept.database, tmp_path / "backup.sqlite3"), key, folder)
    kept.sign("b", "c")
    before = (folder / "checkpoint").read_bytes()
    # Also where nothing waits: the probe and `sordino log show` say so before the first campaign does.
    with pytest.raises(LogAhead, match="3 entries elsewhere and 1 here"):
        LogKeeper(backup.database, WallClock(), backup._settings).step()
    assert backup.log.ahead == 3
    with pytest.raises(LogAhead):
        backup.sign("another history")
    assert backup.size == 1
    assert (folder / "checkpoint").read_bytes() == before
    assert restoring.restore(backup.database, FolderFiles(folder), WallClock().now()) == (1, 3)
    assert backup.sign() == 4
    assert backup.log.ahead is None
    note = read_checkpoint((folder / "checkpoint").read_text())
    assert LogPins(log=signer_of(key).key).accept(note, WallClock().now()).witnesses == ()
    assert note.size == 4
    backup.database.close()
    kept.database.close()


def test_a_database_that_is_restored_under_a_worker_stops_it(migrated_sqlite_url: str, key: Path, folder: Path) -> None:
    begin(migrated_sqlite_url, key)
    kept = Kept(Database(migrated_sqlite_url), key, folder)
    keeper = LogKeeper(kept.database, WallClock(), kept._settings)
    publish(kept.database, "a")
    assert keeper.step() == 1
    publish(kept.database, "b")
    assert keeper.step() == 2
    with closing(sqlite3.connect(str(kept.database.url.database), isolation_level=None)) as raw:
        for table in ("log_entries", "log_checkpoints"):
            raw.execute(f"DROP TRIGGER {table}_delete")
        raw.execute("DELETE FROM log_checkpoints WHERE size = 2")
        raw.execute("DELETE FROM log_entries WHERE number = 1")
    publish(kept.database, "c")
    with pytest.raises(LogAhead):
        keeper.step()
    kept.database.close()


def test_a_folder_with_other_entries_or_of_another_log_stops_a_worker(
    migrated_sqlite_url: str, key: Path, folder: Path, tmp_path: Path
) -> None:
    begin(migrated_sqlite_url, key)
    kept = Kept(Database(migrated_sqlite_url), key, folder)
    kept.sign("a")
    fork = Kept(copied(kept.database, tmp_path / "fork.sqlite3"), key, tmp_path / "other folder")
    kept.sign("b")
    fork.sign("c", "d")
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "other folder", folder)
    fork.database.close()
    with pytest.raises(LogAhead):
        kept.sign()
    shutil.rmtree(folder)
    kept.database.run("again", lambda session: setattr(session.get_one(Log, kept.log.id), "ahead", None))
    kept.sign("e", "f")
    shutil.copytree(tmp_path / "other folder", folder, dirs_exist_ok=True)
    with pytest.raises(InvalidValue, match="the log was forked"):
        kept.sign("g")
    note = folder / "checkpoint"
    for text in (
        "none",
        note.read_text().replace(ORIGIN, "other.example/log"),
        note.read_text().replace("\n3\n", "\n4\n"),
    ):
        note.write_text(text)
        with pytest.raises(InvalidValue, match=r"is no checkpoint|has another log"):
            kept.sign()
    assert kept.size == 4
    kept.database.close()


def test_the_folder_has_what_witnesses_add(witnessed: tuple[RunningServer, RunningServer], folder: Path) -> None:
    server, _ = witnessed
    server.campaign()
    settings = server.settings.model_copy(update={"log_folder": folder})
    keeper = LogKeeper(server.database, server.clock, settings)
    assert keeper.step() == 1
    names = [each.name for each in read_checkpoint((folder / "checkpoint").read_text()).signatures]
    assert server.settings.witnesses_asked[0].key.name in names


def test_a_folder_that_cannot_be_written_is_named(kept: Kept, folder: Path, monkeypatch: Any) -> None:
    folder.write_text("a file stands there")
    with pytest.raises(InvalidValue, match="the log cannot be written to"):
        kept.sign("a")
    # What was signed stays, and the next step writes it.
    os.remove(folder)
    assert kept.sign() is None
    assert (folder / "checkpoint").exists()


def test_the_command_leaves_a_folder_with_more_entries_as_it_is(
    migrated_sqlite_url: str, key: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restored backup that is exported daily must not overwrite what it is to be read back from."""
    begin(migrated_sqlite_url, key)
    kept = Kept(Database(migrated_sqlite_url), key, folder)
    kept.sign("a")
    backup = copied(kept.database, tmp_path / "backup.sqlite3")
    kept.sign("b")
    before = (folder / "checkpoint").read_bytes()
    monkeypatch.setenv("SORDINO_LOG_KEY", str(key))
    for database, code in ((kept.database, 0), (backup, 2)):
        monkeypatch.setenv("SORDINO_DATABASE_URL", database.url.render_as_string(hide_password=False))
        done = CliRunner().invoke(app, ["export", str(folder)])
        assert done.exit_code == code, done.output
        assert (folder / "checkpoint").read_bytes() == before
    assert "2 entries elsewhere and 1 here" in " ".join(done.stderr.split())
    backup.close()
    kept.database.close()
