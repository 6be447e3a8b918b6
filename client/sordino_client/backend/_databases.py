"""The databases of a store: SQLite in a file, or PostgreSQL by psycopg, which the app brings.

What was spent is final in both: triggers refuse to delete or change a debit, and to lower an owner's time.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from sordino_client._errors import LedgerUnavailable, WrongArgument

FORMAT = b"1"
# Of SQLite's header: other than a device's ledger.
_APPLICATION_ID = 0x536F5374
_TABLES = (
    "CREATE TABLE IF NOT EXISTS store (name TEXT PRIMARY KEY, value {blob} NOT NULL)",
    "CREATE TABLE IF NOT EXISTS owners (number {serial}, name_hash {blob} NOT NULL UNIQUE,"
    " high_water BIGINT NOT NULL DEFAULT 0, left_at BIGINT)",
    "CREATE TABLE IF NOT EXISTS campaigns (number {serial}, campaign {blob} NOT NULL UNIQUE, manifest {blob} NOT NULL,"
    " part {blob} NOT NULL, task {blob} NOT NULL, task_at BIGINT NOT NULL, joined_at BIGINT NOT NULL,"
    " origin TEXT NOT NULL)",
    # state: 0 waits, 1 delivered, 2 refused, 3 expired, 4 deleted. `report` is arm, id and payload while it waits.
    "CREATE TABLE IF NOT EXISTS answers (owner BIGINT NOT NULL REFERENCES owners (number),"
    " campaign BIGINT NOT NULL REFERENCES campaigns (number), round BIGINT NOT NULL,"
    " nano BIGINT NOT NULL CHECK (nano >= 0), at BIGINT NOT NULL, state SMALLINT NOT NULL DEFAULT 0,"
    " report {blob}, PRIMARY KEY (owner, campaign, round), CHECK ((report IS NULL) = (state <> 0))){clustered}",
    "CREATE INDEX IF NOT EXISTS answers_waiting ON answers (campaign, round) WHERE state = 0",
    "CREATE TABLE IF NOT EXISTS opt_outs (owner BIGINT NOT NULL REFERENCES owners (number), campaign {blob} NOT NULL,"
    " at BIGINT NOT NULL, PRIMARY KEY (owner, campaign)){clustered}",
    # Of the public log, as in a device's ledger (_log_marks.py).
    "CREATE TABLE IF NOT EXISTS log_marks (origin TEXT NOT NULL, size BIGINT NOT NULL, root {blob} NOT NULL,"
    " note {blob} NOT NULL, day BIGINT, PRIMARY KEY (origin, size, root))",
    "CREATE TABLE IF NOT EXISTS trouble (code TEXT PRIMARY KEY, at DOUBLE PRECISION NOT NULL)",
)
_SQLITE_TRIGGERS = (
    "CREATE TRIGGER IF NOT EXISTS answers_are_kept BEFORE DELETE ON answers"
    " BEGIN SELECT RAISE(ABORT, 'debits are kept'); END",
    "CREATE TRIGGER IF NOT EXISTS debits_are_final BEFORE UPDATE OF owner, campaign, round, nano, at ON answers"
    " BEGIN SELECT RAISE(ABORT, 'debits are final'); END",
    "CREATE TRIGGER IF NOT EXISTS owners_are_kept BEFORE DELETE ON owners"
    " BEGIN SELECT RAISE(ABORT, 'owners are kept'); END",
    "CREATE TRIGGER IF NOT EXISTS times_grow BEFORE UPDATE ON owners"
    " WHEN NEW.high_water < OLD.high_water OR NEW.name_hash <> OLD.name_hash"
    " BEGIN SELECT RAISE(ABORT, 'an owner keeps its name and its time'); END",
)
_POSTGRES_TRIGGERS = (
    "CREATE OR REPLACE FUNCTION sordino_refuse() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN RAISE EXCEPTION 'what was spent is final'; END $$",
    "CREATE OR REPLACE TRIGGER answers_are_kept BEFORE DELETE OR TRUNCATE ON answers"
    " FOR EACH STATEMENT EXECUTE FUNCTION sordino_refuse()",
    "CREATE OR REPLACE TRIGGER debits_are_final BEFORE UPDATE ON answers FOR EACH ROW WHEN"
    " ((OLD.owner, OLD.campaign, OLD.round, OLD.nano, OLD.at) IS DISTINCT FROM"
    " (NEW.owner, NEW.campaign, NEW.round, NEW.nano, NEW.at)) EXECUTE FUNCTION sordino_refuse()",
    "CREATE OR REPLACE TRIGGER owners_are_kept BEFORE DELETE OR TRUNCATE ON owners"
    " FOR EACH STATEMENT EXECUTE FUNCTION sordino_refuse()",
    "CREATE OR REPLACE TRIGGER times_grow BEFORE UPDATE ON owners FOR EACH ROW WHEN"
    " (NEW.high_water < OLD.high_water OR NEW.name_hash <> OLD.name_hash) EXECUTE FUNCTION sordino_refuse()",
)
# Two processes that begin at once create the tables one after the other.
_CREATING = 0x50DD1


class StoreDatabase(ABC):
    """One connection of this process; transactions of its threads follow one another."""

    name: str

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._connection: Any = None
        self._process = 0

    @contextmanager
    def transaction(self) -> Iterator[StoreDatabase]:
        """All of it happens or nothing. Raises `LedgerUnavailable` where the database cannot be used."""
        with self._lock:
            try:
                if self._connection is None or self._process != os.getpid():
                    # A connection must not cross a fork.
                    self._connection, self._process = self._connect(), os.getpid()
                self._begin()
                try:
                    yield self
                    self._connection.execute("COMMIT")
                except BaseException:
                    with suppress(*self._errors()):
                        self._connection.execute("ROLLBACK")
                    raise
            except self._errors() as error:
                self.close()
                raise LedgerUnavailable(
                    self.name, f"the database failed ({error})", "check it and try again"
                ) from error

    @abstractmethod
    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a statement with ? for values, in the transaction."""

    @abstractmethod
    def run(self, statement: str, *values: object) -> None:
        """A statement without rows."""

    @abstractmethod
    def run_many(self, statement: str, values: Sequence[Sequence[object]]) -> None:
        """A statement for many rows of values."""

    @property
    @abstractmethod
    def locking(self) -> str:
        """What follows a SELECT of a row that the transaction is about."""

    def close(self) -> None:
        """Close the connection; the next transaction opens one again."""
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                with suppress(*self._errors()):
                    self._connection.close()
            self._connection = None

    @abstractmethod
    def _connect(self) -> Any: ...

    @abstractmethod
    def _begin(self) -> None: ...

    @abstractmethod
    def _errors(self) -> tuple[type[Exception], ...]: ...


class SqliteFile(StoreDatabase):
    """A SQLite file for its owner alone: a commit that returned survives SIGKILL and a power cut."""

    locking = ""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.name = path

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self._connection.execute(statement, values).fetchall()
        return found

    def run(self, statement: str, *values: object) -> None:
        self._connection.execute(statement, values)

    def run_many(self, statement: str, values: Sequence[Sequence[object]]) -> None:
        self._connection.executemany(statement, values)

    def _connect(self) -> sqlite3.Connection:
        with suppress(OSError):
            os.close(os.open(self.name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        connection = sqlite3.connect(self.name, timeout=30, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        [(application,)] = connection.execute("PRAGMA application_id").fetchall()
        [(tables,)] = connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
        if tables and application != _APPLICATION_ID:
            raise LedgerUnavailable(self.name, "it is a database of something else", "choose another path")
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "secure_delete = ON"):
            connection.execute(f"PRAGMA {pragma}")
        words = {"blob": "BLOB", "serial": "INTEGER PRIMARY KEY", "clustered": " WITHOUT ROWID"}
        connection.execute("BEGIN IMMEDIATE")
        for statement in (*(table.format(**words) for table in _TABLES), *_SQLITE_TRIGGERS):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute("COMMIT")

    def _begin(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def _errors(self) -> tuple[type[Exception], ...]:
        return (sqlite3.Error,)


class Postgres(StoreDatabase):
    """A database of PostgreSQL, with a row's lock for the owner that a transaction is about."""

    locking = " FOR UPDATE"

    def __init__(self, dsn: str) -> None:
        super().__init__()
        try:
            import psycopg
        except ImportError as error:
            raise WrongArgument("a store in PostgreSQL needs psycopg: pip install 'psycopg[binary]'") from error
        self._psycopg = psycopg
        self._dsn = dsn
        # A DSN may hold a password, which belongs in no message.
        self.name = "PostgreSQL"

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self._connection.execute(statement.replace("?", "%s"), values).fetchall()
        return found

    def run(self, statement: str, *values: object) -> None:
        self._connection.execute(statement.replace("?", "%s"), values)

    def run_many(self, statement: str, values: Sequence[Sequence[object]]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(statement.replace("?", "%s"), values)

    def _connect(self) -> Any:
        connection = self._psycopg.connect(self._dsn, autocommit=True)
        words = {"blob": "BYTEA", "serial": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "clustered": ""}
        connection.execute("BEGIN")
        connection.execute(f"SELECT pg_advisory_xact_lock({_CREATING})")
        for statement in (*(table.format(**words) for table in _TABLES), *_POSTGRES_TRIGGERS):
            connection.execute(statement)
        connection.execute("COMMIT")
        return connection

    def _begin(self) -> None:
        # After the wait for an owner's row a statement has to see what was written meanwhile, whatever the default is.
        self._connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")

    def _errors(self) -> tuple[type[Exception], ...]:
        return (self._psycopg.Error,)


def opened(target: str | os.PathLike[str]) -> StoreDatabase:
    """The database of a path or of a DSN that begins with postgresql://."""
    if not isinstance(target, str | os.PathLike) or not os.fspath(target):
        raise WrongArgument(f"a store is a path, or a DSN such as postgresql://host/name, got {target!r}", target)
    text = os.fsdecode(target)
    if text.startswith(("postgresql://", "postgres://")):
        return Postgres(text)
    if "://" in text or text == ":memory:":
        raise WrongArgument("a store is a file, or a database of postgresql://: in memory it would forget", text)
    return SqliteFile(text)
