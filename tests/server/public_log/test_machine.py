"""Whatever happens to a server, its clock of work and its backups: what its witness cosigned is one log."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from contextlib import closing, suppress
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sordino_server.jobs.log_keeper import LogKeeper
from sordino_server.kit.clock import ManualClock
from sordino_server.kit.db import Database
from sordino_server.kit.log_settings import AskedWitness
from sordino_server.kit.migrations import upgrade
from sordino_server.models import Log, LogCheckpoint
from sordino_server.public_log import cosigning, entries, integration, repository, setup
from sordino_server.public_log.cosigning import ask_witnesses
from sordino_server.public_log.integration import LogAhead, empty_checkpoint, integrate
from sordino_server.public_log.signing import NoteSigner, make_key_file, read_key_file
from sordino_server.public_log.tree import TileTree
from sordino_server.public_log.witnessing import OtherSize, cosign
from sordino_shared.http.exchange import HttpAnswer, HttpRequest
from sordino_shared.protocol import Digest
from tests.server.public_log.conftest import NOW, ORIGIN, settings_of

SEED = bytes([9]) * 32


class Killed(Exception):
    """The process ended here."""


class _Dying:
    """Signs, or dies before it does."""

    def __init__(self, signer: NoteSigner) -> None:
        self.key = signer.key

    def signed(self, text: str) -> str:
        raise Killed


class ServersAndBackups(RuleBasedStateMachine):
    """One database, its backups, and a witness in a database that is never restored."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="sordino-log-"))
        self.key = self.folder / "log.key"
        make_key_file(self.key)
        self.signer = NoteSigner.of_log(ORIGIN, read_key_file(self.key))
        self.database, self.witnessed = (Database(f"sqlite:///{self.folder}/{name}") for name in ("a", "w"))
        for each in (self.database, self.witnessed):
            upgrade(each)
        setup.begin(settings_of(self.key), self.database, self.key, NOW)
        self.vouching = NoteSigner.of_witness("w.example/log", SEED)
        self.written, self.begun = 0, False
        self.backups: list[Path] = []
        self.roots: dict[int, Digest] = {}

    def exchange(self, request: HttpRequest) -> HttpAnswer:
        """The witness, without a network."""
        if request.content is None:
            with self.witnessed.read() as session:
                last = repository.last_witnessed(session, ORIGIN)
            return HttpAnswer(404, {}, BytesIO()) if last is None else HttpAnswer(200, {}, BytesIO(last.note.encode()))
        try:
            line = cosign(self.witnessed, self.vouching, [self.signer.key], request.content, NOW)
        except OtherSize as error:
            return HttpAnswer(409, {}, BytesIO(f"{error.size}\n".encode()))
        return HttpAnswer(200, {}, BytesIO(line.encode()))

    def ask(self, *, again: bool) -> None:
        asked = [AskedWitness("http://w.example", self.vouching.key)]
        ask_witnesses(self.database, asked, again=again, empty=self.empty, connect=lambda address: self)

    def empty(self, log: Log) -> LogCheckpoint:
        return empty_checkpoint(log, self.signer)

    @rule()
    def append(self) -> None:
        """An entry that no other moment has."""
        self.written += 1
        with self.database.write("append") as session:
            log = repository.current(session)
            assert log is not None
            entries.policy_published(session, log, f"entry {self.written}", NOW)

    @rule()
    def work(self) -> None:
        """What a worker does in a step: a new process asks the witness first."""
        if not self.begun:
            self.ask(again=True)
            self.begun = True
        with suppress(LogAhead):
            integrate(self.database, self.signer, NOW, most=2)
        self.ask(again=False)

    @rule()
    def die_before_signing(self) -> None:
        if self.begun:
            with suppress(Killed, LogAhead):
                integrate(self.database, _Dying(self.signer), NOW)  # type: ignore[arg-type]
        self.begun = False

    @rule()
    def die_before_the_witness_is_asked(self) -> None:
        if self.begun:
            with suppress(LogAhead):
                integrate(self.database, self.signer, NOW, most=1)
        self.begun = False

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
        self.database, self.begun = Database(f"sqlite:///{self.folder}/a"), False

    @invariant()
    def what_was_cosigned_is_one_log(self) -> None:
        """Every cosigned checkpoint of this history has one root for each size."""
        with self.database.read() as session:
            log = repository.current(session)
            assert log is not None
            newest = repository.newest_checkpoint(session, log)
            cosigned = repository.largest_cosigned(session, log)
            if newest is None or not cosigned:
                return
            size = max(cosigned.values())
            found = TileTree(size, repository.tile_reader(session, log)).root()
        assert self.roots.setdefault(size, found) == found

    def teardown(self) -> None:
        self.database.close()
        self.witnessed.close()
        shutil.rmtree(self.folder)


TestServersAndBackups = ServersAndBackups.TestCase
TestServersAndBackups.settings = settings(max_examples=6, stateful_step_count=12, deadline=None)
TestServersAndBackups.pytestmark = [pytest.mark.slow]


def test_one_history_with_a_restored_backup() -> None:
    """A path of the machine for every run: two entries are cosigned, the backup of one does not sign another second."""
    machine = ServersAndBackups()
    try:
        machine.append()
        machine.work()
        machine.back_up()
        machine.append()
        machine.die_before_signing()
        machine.work()
        machine.what_was_cosigned_is_one_log()
        machine.restore_the_first_backup()
        machine.append()
        machine.work()
        machine.what_was_cosigned_is_one_log()
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
