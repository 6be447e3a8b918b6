"""How a server comes to its log: the key's file, and the first row."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.orm import Session

from sordino_server.config import Settings
from sordino_server.errors import ServerError
from sordino_server.kit.db import Database
from sordino_server.models import Log
from sordino_server.public_log import repository, rotation
from sordino_server.public_log.entries import begin_log
from sordino_server.public_log.integration import LOCK_SPACE
from sordino_server.public_log.signing import LogSigner, NoteSigner, add_seed, make_key_file, read_key_file, read_seeds
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Problem
from sordino_shared.protocol.log_keys import NoteKey


def key_file(settings: Settings, database: Database) -> Path | None:
    """Where the key is: as the settings say, or beside an SQLite file; None where nothing says."""
    if settings.log_key is not None:
        return settings.log_key
    return Path(f"{database.url.database}.log-key") if database.is_sqlite else None


def prepare(settings: Settings, database: Database, now: int) -> bool:
    """Whether the database has a log, after a new one got one. One that asked before keeps none.

    Raises InvalidValue where the key of the log cannot be read, and where nothing says where that of a new one is.
    """
    with database.read("look for log") as session:
        log, old = repository.current(session), repository.has_campaigns(session)
    if log is None and old:
        return False
    file = key_file(settings, database)
    if file is None:
        raise InvalidValue(
            "where is the key of the public log to be kept? Set SORDINO_LOG_KEY to a file, here and for the workers; "
            "the first server makes it. Or set SORDINO_LOG=off, to keep no log"
        )
    if log is None:
        make_key_file(file)
        begin(settings, database, file, now)
    else:
        read_key_file(file)
    return True


def begin(settings: Settings, database: Database, file: Path, now: int, *, again: bool = False) -> Log:
    """Begin a log with the key in `file`, unless there is one; `again` begins another one in its place."""
    seed = read_key_file(file)
    key = NoteSigner.of_log("log", seed).key.key
    origin = settings.log_origin or f"log-{key.hex()[:16]}.sordino/log"

    def work(session: Session) -> Log:
        database.lock(session, LOCK_SPACE, 0)
        found = repository.current(session)
        if found is not None and not again:
            return found
        if found is not None and key in rotation.named_keys(session, found):
            raise InvalidValue(f"{file} is the key of this database's log: a new log needs a new key", file)
        if found is not None and found.origin == origin:
            # Witnesses know a log by its name, and cosign no second one under it.
            raise InvalidValue(f"the database's log is named {origin}: give the new one another name by --origin", file)
        return begin_log(session, origin, key, now)

    return database.run("begin log", work)


def signer_of(settings: Settings, database: Database, log: Log) -> LogSigner:
    """What signs the log; raises InvalidValue where the key is not there, is not private, or is another log's."""
    file = key_file(settings, database)
    if file is None:
        raise InvalidValue("set SORDINO_LOG_KEY to the file with the key of the public log, as for the server")
    signer = LogSigner(log.origin, read_seeds(file))
    with database.read("keys of log") as session:
        newest = rotation.known_keys(session, log)[-1]
    if newest not in signer.keys:
        raise InvalidValue(f"{file} has another key than the log {log.origin} of this database: restore its own", file)
    return signer


def next_key(settings: Settings, database: Database, log: Log, file: Path) -> NoteKey:
    """A key of the file that the log never had, made where there is none; raises InvalidValue."""
    signer_of(settings, database, log)
    with database.read("keys of log") as session:
        known = rotation.known_keys(session, log)
    if not (new := [key for key in LogSigner(log.origin, read_seeds(file)).keys if key not in known]):
        new = [NoteSigner.of_log(log.origin, add_seed(file)).key]
    return new[0]


def witness_of(settings: Settings, database: Database) -> NoteSigner:
    """What cosigns other logs; raises `not-found` where this server witnesses none."""
    with database.read("look for log") as session:
        log = repository.current(session)
    if log is None or not settings.logs_witnessed:
        raise ServerError(Problem.NOT_FOUND, "this server witnesses no logs: SORDINO_WITNESSED_LOGS names none")
    return witness_signer(log, signer_of(settings, database, log))


def witness_signer(log: Log, signer: LogSigner) -> NoteSigner:
    """The key as a witness follows from the first key of the log, so that it outlives rotations; else from the oldest
    in the file.
    """
    first = dict(zip((each.key for each in signer.keys), signer.seeds, strict=True)).get(log.key, signer.seeds[0])
    return NoteSigner.of_witness(log.origin, first)
