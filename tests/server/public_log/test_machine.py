"""Whatever happens to a server, its clock of work and its backups: what its witness cosigned is one log."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Sequence
from contextlib import closing, suppress
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from sqlalchemy import select
from sqlalchemy.orm import Session

from sordino_server.jobs.log_keeper import LogKeeper
from sordino_server.kit.clock import ManualClock
from sordino_server.kit.db import Database
from sordino_server.kit.log_settings import AskedWitness
from sordino_server.kit.migrations import upgrade
from sordino_server.models import Log, LogCheckpoint, WitnessedCheckpoint
from sordino_server.public_log import cosigning, entries, integration, repository, rotation, setup
from sordino_server.public_log.cosigning import ask_witnesses
from sordino_server.public_log.integration import LogAhead, integrate
from sordino_server.public_log.signing import LogSigner, NoteSigner, make_key_file, read_seeds
from sordino_server.public_log.tree import TileTree
from sordino_server.public_log.witnessing import OtherSize, cosign
from sordino_shared.errors import InvalidValue
from sordino_shared.http.exchange import HttpAnswer, HttpRequest
from sordino_shared.protocol import LogEntry
from sordino_shared.protocol.log_keys import LOG_KIND, NoteKey
from sordino_shared.protocol.log_notes import read_checkpoint
from tests.server.public_log.conftest import NOW, ORIGIN, settings_of

SEED, DAY = bytes([9]) * 32, 86_400
WORKERS = st.sampled_from([0, 1])


class Killed(Exception):
    """The process ended here."""


class _Dying:
    """Dies before it signs."""

    def lines(self, text: str, keys: Sequence[NoteKey]) -> str:
        raise Killed


class ServersAndBackups(RuleBasedStateMachine):
    """One database with two workers, its backups, and a witness in a database that is never restored.

    The key of the log is rotated; the file with the keys is never restored.
    """

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="sordino-log-"))
        self.key = self.folder / "log.key"
        make_key_file(self.key)
        self.now = NOW
        self.database, self.witnessed = (Database(f"sqlite:///{self.folder}/{name}") for name in ("a", "w"))
        for each in (self.database, self.witnessed):
            upgrade(each)
        setup.begin(settings_of(self.key), self.database, self.key, NOW)
        self.vouching = NoteSigner.of_witness("w.example/log", SEED)
        self.written, self.begun = 0, [False, False]
        self.backups: list[Path] = []

    def exchange(self, request: HttpRequest) -> HttpAnswer:
        """The witness, without a network."""
        if request.content is None:
            with self.witnessed.read() as session:
                last = repository.last_witnessed(session, ORIGIN)
            return HttpAnswer(404, {}, BytesIO()) if last is None else HttpAnswer(200, {}, BytesIO(last.note.encode()))
        try:
            line = cosign(self.witnessed, self.vouching, self.signer().keys, request.content, self.now)
        except OtherSize as error:
            return HttpAnswer(409, {}, BytesIO(f"{error.size}\n".encode()))
        return HttpAnswer(200, {}, BytesIO(line.encode()))

    def ask(self, *, again: bool) -> None:
        asked = [AskedWitness("http://w.example", self.vouching.key)]
        ask_witnesses(self.database, asked, again=again, signer=lambda log: self.signer(), connect=lambda address: self)

    def signer(self) -> LogSigner:
        return LogSigner(ORIGIN, read_seeds(self.key))

    def integrate(self, most: int) -> None:
        with suppress(LogAhead):
            integrate(self.database, self.signer(), self.now, most=most)

    def begin(self, worker: int) -> None:
        """A new process asks the witness first."""
        if not self.begun[worker]:
            self.ask(again=True)
            self.begun[worker] = True

    @rule()
    def append(self) -> None:
        """An entry that no other moment has."""
        self.written += 1
        with self.database.write("append") as session:
            log = repository.current(session)
            assert log is not None
            entries.policy_published(session, log, f"entry {self.written}", NOW)

    @rule(worker=WORKERS)
    def work(self, worker: int = 0) -> None:
        """What a worker does in a step."""
        self.begin(worker)
        self.integrate(2)
        self.ask(again=False)

    @rule()
    def both_work_at_once(self) -> None:
        for worker in (0, 1):
            self.begin(worker)
        threads = [threading.Thread(target=self.integrate, args=(1,)) for _ in range(2)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.ask(again=False)

    @rule(days=st.sampled_from([0, 1, 29, 31]))
    def rotate(self, days: int = 0) -> None:
        """The next key; some days pass."""
        with suppress(InvalidValue), self.database.write("rotate") as session:
            log = repository.current(session)
            assert log is not None
            following = setup.next_key(settings_of(self.key), self.database, log, self.key)
            rotation.key_rotated(session, log, following.key, self.now)
        self.now += days * DAY

    @rule(worker=WORKERS)
    def die_before_signing(self, worker: int = 0) -> None:
        if self.begun[worker]:
            with suppress(Killed, LogAhead):
                integrate(self.database, _Dying(), self.now)
        self.begun[worker] = False

    @rule(worker=WORKERS)
    def die_before_the_witness_is_asked(self, worker: int = 0) -> None:
        if self.begun[worker]:
            self.integrate(1)
        self.begun[worker] = False

    @rule()
    def back_up(self) -> None:
        self.backups.append(self.folder / f"backup-{len(self.backups)}")
        with closing(sqlite3.connect(self.folder / "a")) as raw:
            raw.execute("VACUUM INTO ?", (str(self.backups[-1]),))

    @precondition(lambda self: bool(self.backups))
    @rule()
    def restore_the_first_backup(self) -> None:
        """The database is as it was; the witness is not."""
        self.database.close()
        for end in ("-wal", "-shm"):
            (self.folder / f"a{end}").unlink(missing_ok=True)
        shutil.copy(self.backups[0], self.folder / "a")
        self.database, self.begun = Database(f"sqlite:///{self.folder}/a"), [False, False]

    @invariant()
    def every_signed_checkpoint_is_consistent_with_every_later_one(self) -> None:
        """All that a witness ever cosigned, whatever was restored since, and all of this database's own history."""
        with self.witnessed.read() as session:
            cosigned = {row.size: row.root for row in session.scalars(select(WitnessedCheckpoint))}
        with self.database.read() as session:
            log = repository.current(session)
            assert log is not None
            own = list(session.scalars(select(LogCheckpoint).order_by(LogCheckpoint.size)))
            size, read = own[-1].size if own else 0, repository.tile_reader(session, log)
            known = {row.size: row.root for row in own}
            for each, root in [*known.items(), *cosigned.items()]:
                # A restored database may be behind the witness: then it signs nothing.
                assert each > size or TileTree(each, read).root() == root
            self.check_keys(session, log, own)

    def check_keys(self, session: Session, log: Log, own: Sequence[LogCheckpoint]) -> None:
        """Each checkpoint is signed by the newest key of its tree, and by those before for 30 days from the first
        checkpoint with it.
        """
        keys = [log.key, *(LogEntry.read(row.content).subject for row in repository.key_entries(session, log))]
        sizes = [row.number + 1 for row in repository.key_entries(session, log) if row.number is not None]
        since = [(0, 0), *((size, next(each.at for each in own if each.size >= size)) for size in sizes)]
        for row in own:
            note = read_checkpoint(row.note)
            used = [(key, place) for key, place in zip(keys, since, strict=True) if place[0] <= row.size]
            ends = [place[1] + 30 * DAY for _, place in used[1:]] + [2**62]
            wanted = {key for (key, _), end in zip(used, ends, strict=True) if row.at < end}
            found = {key for key in keys if NoteKey(ORIGIN, LOG_KIND, key).signed(note)}
            assert found == wanted

    def teardown(self) -> None:
        self.database.close()
        self.witnessed.close()
        shutil.rmtree(self.folder)


TestServersAndBackups = ServersAndBackups.TestCase
TestServersAndBackups.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestServersAndBackups.pytestmark = [pytest.mark.slow]


def test_one_history_with_a_restored_backup() -> None:
    """A path of the machine for every run: the second entry rotates the key, and the backup of the first signs none."""
    machine = ServersAndBackups()
    try:
        machine.append()
        machine.work()
        machine.back_up()
        machine.rotate(31)
        machine.die_before_signing()
        machine.both_work_at_once()
        machine.every_signed_checkpoint_is_consistent_with_every_later_one()
        machine.restore_the_first_backup()
        machine.append()
        machine.work()
        machine.every_signed_checkpoint_is_consistent_with_every_later_one()
        with machine.database.read() as session:
            log = repository.current(session)
            assert log is not None
            assert (log.ahead, repository.largest_cosigned(session, log)) == (2, {"w.example/witness": 1})
    finally:
        machine.teardown()


def test_a_process_that_dies_before_it_signs_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = ServersAndBackups()
    try:
        machine.append()
        keeper = LogKeeper(machine.database, ManualClock(NOW), settings_of(machine.key))
        monkeypatch.setattr(integration, "sign_tree", lambda *given: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            keeper.step()
        monkeypatch.undo()
        with machine.database.read() as session:
            log = repository.current(session)
            assert log is not None
            assert repository.has_waiting(session, log)
        assert keeper.step() == 1
        assert cosigning.ask_witnesses(machine.database, []) == []
    finally:
        machine.teardown()
