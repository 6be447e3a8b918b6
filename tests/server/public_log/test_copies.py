"""Copies of a log: monitors that read all of it, folders that it is exported to, and databases that are restored."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sordino_server.cli import audited_campaign, log_monitor
from sordino_server.cli.log import app
from sordino_server.cli.log_monitor import Forked, Monitored, look
from sordino_server.jobs.log_keeper import LogKeeper
from sordino_server.kit.db import Database
from sordino_server.models import Log
from sordino_server.public_log import entries, files, repository, restoring, service
from sordino_server.public_log.files import FolderFiles, KnownTree, tile_name
from sordino_server.public_log.integration import LogAhead, integrate
from sordino_server.public_log.sentences import sentence
from sordino_server.public_log.signing import NoteSigner, read_key_file
from sordino_server.public_log.tree import TILE
from sordino_shared.errors import InvalidValue, MalformedDocument, NoAnswer
from sordino_shared.protocol import Manifest
from sordino_shared.protocol.log_days import LogDays
from sordino_shared.protocol.log_keys import LogPins
from sordino_shared.protocol.log_notes import read_checkpoint
from tests.server.conftest import RunningServer, served
from tests.server.public_log.conftest import NOW, ORIGIN, begin, settings_of

DAY = 86_400
VECTORS = Path(__file__).parents[2] / "vectors" / "v1" / "good" / "manifest.json"


def sign(server: RunningServer) -> None:
    LogKeeper(server.database, server.clock, server.settings).step()


def signer_of(key: Path) -> NoteSigner:
    return NoteSigner.of_log(ORIGIN, read_key_file(key))


def publish(database: Database, *texts: str) -> None:
    with database.write("publish") as session:
        log = repository.current(session)
        assert log is not None
        for each in texts:
            entries.policy_published(session, log, each, NOW)


def copied(database: Database, to: Path) -> Database:
    """A backup, as a database of its own."""
    with closing(sqlite3.connect(str(database.url.database))) as raw:
        raw.execute("VACUUM INTO ?", (str(to),))
    return Database(f"sqlite:///{to}")


def test_a_monitor_reads_everything_once_and_then_what_is_new(
    logging_server: RunningServer, key: Path, tmp_path: Path
) -> None:
    pins, known, now = LogPins(log=signer_of(key).key), Monitored(), logging_server.clock.now()
    logging_server.campaign("open")
    publish(logging_server.database, *map(str, range(TILE)))
    sign(logging_server)
    found = look(logging_server.address, pins, known, now)
    assert (len(found.entries), found.lies, known.size, len(known.tiles)) == (TILE + 1, [], TILE + 1, 1)
    assert (
        sentence(found.entries[0])
        == "campaign 'delays' of population 'travellers', ε 1 a device, asks for delay (4 values)"
    )
    state = tmp_path / "seen.json"
    known.write(state)
    again = Monitored.read(state)
    assert again == known
    assert look(logging_server.address, pins, again, now).entries == []
    logging_server.campaign("open", "close", name="second")
    sign(logging_server)
    found = look(logging_server.address, pins, again, now)
    assert [each.event.kind for each in found.entries] == ["campaign", "end"]
    assert found.lies == []


def test_a_monitor_ends_with_what_it_found(
    logging_server: RunningServer, key: Path, tmp_path: Path, migrated_sqlite_url: str
) -> None:
    run, state = CliRunner(), tmp_path / "seen.json"
    asked = ["verify", logging_server.address, "--key", str(signer_of(key).key), "--state", str(state)]
    assert run.invoke(app, asked).exit_code == 3
    logging_server.campaign("open")
    sign(logging_server)
    first = run.invoke(app, [*asked, "--json"])
    assert first.exit_code == 1, first.output
    assert '"kind": "campaign"' in first.output
    second = run.invoke(app, asked)
    assert (second.exit_code, second.stdout) == (0, "nothing is new\n")
    # The same log again, begun from an empty database with the same key, as an operator would fork it.
    other = f"sqlite:///{tmp_path}/other.sqlite3"
    shutil.copy(str(logging_server.database.url.database), tmp_path / "other.sqlite3")
    with closing(sqlite3.connect(tmp_path / "other.sqlite3", isolation_level=None)) as raw:
        for table in ("log_entries", "log_checkpoints"):
            raw.execute(f"DROP TRIGGER {table}_delete")
            raw.execute(f"DELETE FROM {table}")
    with served(other, log_key=key) as fork:
        publish(fork.database, "another history", "of two entries")
        sign(fork)
        told = run.invoke(app, ["verify", fork.address, *asked[2:]])
    assert told.exit_code == 2
    assert "are others than before" in told.stdout
    evidence = state.with_name("seen.json.evidence").read_text()
    assert "the first 1 entries of the log are others than before" in evidence
    # Two checkpoints that the log signed and that contradict: of one entry, and of two.
    notes = [read_checkpoint(f"{ORIGIN}\n{each}") for each in evidence.split(f"\n{ORIGIN}\n")[1:]]
    assert [note.size for note in notes] == [1, 2]
    assert all(signer_of(key).key.signed(note) for note in notes)
    assert Monitored.read(state).size == 1


def test_a_monitor_tells_what_is_open_and_not_in_the_log(running: RunningServer, key: Path, tmp_path: Path) -> None:
    secret = running.campaign("open", name="secret")["id"]
    from sordino_server.public_log.signing import make_key_file

    make_key_file(key)
    with running.database.write("a log that leaves it out") as session:
        session.add(Log(origin=ORIGIN, key=signer_of(key).key.key, created_at=NOW))
    running.campaign("open", name="public")
    LogKeeper(running.database, running.clock, settings_of(key)).step()
    found = look(running.address, LogPins(log=signer_of(key).key), Monitored(), running.clock.now())
    assert found.lies == [f"campaign {secret} is open for 'travellers' and not in the log"]


def test_what_opens_while_a_monitor_reads_is_no_lie(
    logging_server: RunningServer, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, pins, newer = logging_server.campaign("open")["id"], LogPins(log=signer_of(key).key), []
    sign(logging_server)

    def fetched_later(address: str, path: str, limit: int) -> bytes | None:
        if path.endswith("/open"):
            newer.append(logging_server.campaign("open", name="newer")["id"])
            sign(logging_server)
        return audited_campaign.fetched(address, path, limit)

    monkeypatch.setattr(log_monitor, "fetched", fetched_later)
    known = Monitored()
    assert look(logging_server.address, pins, known, logging_server.clock.now()).lies == []
    monkeypatch.undo()
    assert (known.campaigns, len(newer)) == ([first], 1)
    assert len(look(logging_server.address, pins, known, logging_server.clock.now()).entries) == 1
    assert known.campaigns == [first, *newer]


def test_too_few_witnesses_are_no_lie(logging_server: RunningServer, key: Path) -> None:
    logging_server.campaign("open")
    sign(logging_server)
    witness = NoteSigner.of_witness("w.example/log", bytes(32)).key
    with pytest.raises(NoAnswer, match="0 of its witnesses"):
        look(logging_server.address, LogPins(log=signer_of(key).key, witnesses=(witness,), quorum=1), Monitored())


def test_a_manifest_that_is_withheld_for_a_day_is_told(logging_server: RunningServer, key: Path) -> None:
    manifest = next(Manifest.read(bytes.fromhex(each["hex"])) for each in json.loads(VECTORS.read_text())["vectors"])
    with logging_server.database.write("log alone") as session:
        entries.campaign_sealed(session, manifest, NOW)
    sign(logging_server)
    pins = LogPins(log=signer_of(key).key)
    known = Monitored()
    assert look(logging_server.address, pins, known, NOW + DAY).lies == []
    # By a monitor that looks daily, too: it sees the entry before its day is over.
    for seen in (known, Monitored()):
        [lie] = look(logging_server.address, pins, seen, NOW + DAY + 1).lies
        assert lie.endswith("is in the log since more than a day and is not served")
    [lie] = look(logging_server.address, pins, Monitored(), NOW - DAY - 1).lies
    assert lie.endswith("is in the log with a time that is yet to come and is not served")
    with pytest.raises(Forked, match="no valid signature"):
        look(logging_server.address, LogPins(log=NoteSigner.of_log(ORIGIN, bytes(32)).key), Monitored(), NOW)


@pytest.fixture
def history(migrated_sqlite_url: str, key: Path, tmp_path: Path) -> tuple[Database, Database, Path]:
    """A log of 300 entries, a backup of it at 260, and a folder with all of it."""
    begin(migrated_sqlite_url, key)
    database, signer = Database(migrated_sqlite_url), signer_of(key)
    publish(database, *map(str, range(260)))
    integrate(database, signer, NOW)
    backup = copied(database, tmp_path / "backup.sqlite3")
    publish(database, *map(str, range(260, 300)))
    integrate(database, signer, NOW)
    with database.read() as session:
        assert files.export(session, tmp_path / "folder") == 300
    return database, backup, tmp_path / "folder"


def test_a_restored_log_goes_on_where_it_was(history: tuple[Database, Database, Path], key: Path) -> None:
    database, backup, folder = history
    publish(backup, "299", "new")
    with backup.write("a witness knows more") as session:
        repository.current(session).ahead = 300
    with pytest.raises(LogAhead):
        integrate(backup, signer_of(key), NOW)
    assert restoring.restore(backup, FolderFiles(folder), NOW) == (260, 300)
    assert restoring.restore(backup, FolderFiles(folder), NOW) == (300, 300)
    notes = []
    for each in (database, backup):
        with each.read() as session:
            notes.append(service.newest_note(session))
    assert notes[0] == notes[1]
    assert integrate(backup, signer_of(key), NOW) == 301
    with backup.read() as session:
        log = repository.current(session)
        path = service.consistency(session, log, 300, 301)
        old, new = read_checkpoint(notes[0]), read_checkpoint(service.newest_note(session))
    from sordino_shared.protocol.log_tree import is_consistent

    assert is_consistent((300, old.root), (301, new.root), tuple(path))


def test_a_restored_log_has_the_days_that_devices_saw(migrated_sqlite_url: str, key: Path, tmp_path: Path) -> None:
    """Else a device that joined after the backup took the server for one that forked its log."""
    begin(migrated_sqlite_url, key)
    database, signer = Database(migrated_sqlite_url), signer_of(key)

    def grow(day: int, *texts: str) -> None:
        for each in texts:
            publish(database, each)
            integrate(database, signer, NOW + day * DAY)

    grow(0, "a")
    backup = copied(database, tmp_path / "backup.sqlite3")
    grow(0, "b")
    grow(1, "c", "d")
    grow(3, "e")
    with database.read() as session:
        files.export(session, tmp_path / "folder")
        before = service.days(session, 0)
    assert restoring.restore(backup, FolderFiles(tmp_path / "folder"), NOW + 9 * DAY) == (1, 5)
    with backup.read() as session:
        assert service.days(session, 0) == before
    assert [each.size for each in LogDays.read(before.encode()).days] == [1, 3, 5]


def test_what_is_no_continuation_is_not_restored(
    history: tuple[Database, Database, Path], key: Path, tmp_path: Path
) -> None:
    _, backup, folder = history
    publish(backup, "another")
    integrate(backup, signer_of(key), NOW)
    with pytest.raises(InvalidValue, match="was forked"):
        restoring.restore(backup, FolderFiles(folder), NOW)
    bundle = folder / tile_name("entries", 0, TILE)
    bundle.write_bytes(bundle.read_bytes()[:-1] + b"\0")
    with pytest.raises((InvalidValue, MalformedDocument)):
        restoring.restore(backup, FolderFiles(folder), NOW)
    note = folder / "checkpoint"
    note.write_text(note.read_text().replace("\n300\n", "\n299\n"))
    with pytest.raises(InvalidValue, match="no valid signature"):
        restoring.restore(backup, FolderFiles(folder), NOW)
    with pytest.raises(InvalidValue, match="there is no folder"):
        files.files_at(str(tmp_path / "none"))
    with backup.read() as session:
        assert service.state(session).checkpoint.size == 261


def test_an_export_is_the_log_that_a_server_serves(logging_server: RunningServer, tmp_path: Path) -> None:
    publish(logging_server.database, *map(str, range(TILE + 2)))
    sign(logging_server)
    with logging_server.database.read() as session:
        files.export(session, tmp_path / "folder")
    names = [str(each.relative_to(tmp_path / "folder")) for each in (tmp_path / "folder").rglob("*") if each.is_file()]
    assert sorted(names) == [
        "checkpoint",
        "days",
        "tile/0/000",
        "tile/0/001.p/2",
        "tile/1/000.p/1",
        "tile/entries/000",
        "tile/entries/001.p/2",
    ]
    for name in names:
        path = "/v1/log/days" if name == "days" else f"/log/{name}"
        served_file = logging_server.anonymous.get(path).raise_for_status().content
        assert (tmp_path / "folder" / name).read_bytes() == served_file
    assert [tile_name(0, index, TILE) for index in (7, 1234, 1234067)] == [
        "tile/0/007", "tile/0/x001/234", "tile/0/x001/x234/067"
    ]  # fmt: skip


def test_known_trees_are_those_of_their_leaves() -> None:
    from tests.server.public_log.test_tree import LEAVES, naive

    tree = KnownTree([], [])
    for size in range(1, 600):
        tree.add(LEAVES[size - 1 : size])
        if size in (1, 6, 255, 256, 257, 511, 512, 513, 599):
            assert (tree.size, tree.root()) == (size, naive(0, size))
