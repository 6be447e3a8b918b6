"""The thread of a worker that keeps the public log: numbers and signs entries, and has witnesses cosign."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from sordino_server.config import Settings
from sordino_server.kit.clock import ServerClock
from sordino_server.kit.database_errors import DatabaseError
from sordino_server.kit.db import Database
from sordino_server.kit.logs import logger
from sordino_server.models import Log
from sordino_server.public_log import repository, setup
from sordino_server.public_log.cosigning import Unseen, ask_witnesses
from sordino_server.public_log.integration import LogAhead, WitnessesSilent, integrate
from sordino_server.public_log.signing import LogSigner
from sordino_shared.errors import SordinoError

log = logger(__name__)

_EVERY_S = 1.0
# After trouble that a person has to end.
_PAUSE_S = 10.0


class LogKeeper:
    """Keeps the log of one database; `step` does what there is, `running` does so every second in a thread."""

    def __init__(self, database: Database, clock: ServerClock, settings: Settings) -> None:
        self._database = database
        self._clock = clock
        self._settings = settings
        self._stop = threading.Event()
        self._said: str | None = None
        self._unseen: frozenset[Unseen] = frozenset()
        self._begun = False
        self._ask_at = 0.0
        self._exported: str | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Keep the log until the block ends."""
        thread = threading.Thread(target=self._run, name="log", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def step(self) -> int | None:
        """Sign what waits, and have it cosigned; the new size of the log, None where nothing waited.

        Before the first signature of a process the witnesses are asked what they know: after a backup was restored
        they know more. Nothing is signed until so many answer that one of them saw what devices were shown last.
        The folder of the settings is compared before each signature, and then gets what is new. Raises SordinoError.
        """
        if not self._begun:
            self._compare()
            self._ask(again=True)
            silent = sorted(each.witness for each in self._unseen if each.silent)
            if silent and len(silent) >= self._settings.quorum_of_witnesses > 0:
                raise WitnessesSilent(silent)
            self._begun = True
        size = self._sign()
        self._ask(again=False, soon=size is not None)
        self._export()
        return size

    def _ask(self, *, again: bool, soon: bool = True) -> None:
        witnesses = self._settings.witnesses_asked
        if not witnesses or not (soon or monotonic() >= self._ask_at):
            return
        # Before the first checkpoint of a database too, which may be a backup of before it.
        signer = self._signer_of if again else None
        unseen = frozenset(ask_witnesses(self._database, witnesses, again=again, signer=signer))
        for each in unseen - self._unseen:
            log.warning("a witness did not cosign the public log", witness=each.witness, reason=each.reason)
        self._unseen = unseen
        self._ask_at = monotonic() + (_PAUSE_S if unseen else _EVERY_S)

    def _sign(self) -> int | None:
        with self._database.read("look for log") as session:
            found = repository.current(session)
            waits = found is not None and repository.has_waiting(session, found)
        if found is None or not waits:
            return None
        self._compare()
        # Imported here: keys are read once something is signed.
        from sordino_server.keys.audit_chain import checkpoint_lines

        signer, now = self._signer_of(found), self._clock.now()
        size = integrate(self._database, signer, now, extensions=checkpoint_lines)
        log.info("public log signed", size=size)
        return size

    def _compare(self) -> None:
        if self._settings.log_folder is not None:
            # Imported here, as below: most workers keep no folder.
            from sordino_server.public_log import exported

            exported.compare(self._database, self._settings.log_folder, self._signer_of)

    def _export(self) -> None:
        """Bring the folder up to the newest checkpoint, as witnesses cosign it too."""
        folder = self._settings.log_folder
        if folder is None:
            return
        from sordino_server.public_log import exported, service

        with self._database.read("look for checkpoint") as session:
            note = service.note_or_none(session)
        if note is not None and note != self._exported:
            exported.export(self._database, folder)
            self._exported = note

    def _signer_of(self, found: Log) -> LogSigner:
        # Each time: a rotation adds a key to the file.
        return setup.signer_of(self._settings, self._database, found)

    def _run(self) -> None:
        pause = 0.0
        while not self._stop.wait(pause):
            try:
                pause = 0.0 if self.step() else _EVERY_S
                self._said = None
            except DatabaseError as error:
                log.warning("the database failed; the public log waits", problem=str(error))
                pause = _EVERY_S
            except (LogAhead, WitnessesSilent) as error:
                pause = self._trouble("the public log is not signed", str(error))
            except SordinoError as error:
                pause = self._trouble("the public log cannot be signed", str(error))
            except Exception as error:
                log.error("bug", what="public log", exc_info=error)
                pause = _PAUSE_S

    def _trouble(self, what: str, problem: str) -> float:
        """Say it once, and wait."""
        if problem != self._said:
            log.error(what, problem=problem)
        self._said = problem
        return _PAUSE_S
