"""Problems that stand for a driver's errors, for both engines.

DatabaseError                the transaction was rolled back; nothing of it counts
├── DatabaseUnavailable      cannot be reached or opened, or failed in a way that may pass
│   ├── DatabaseBusy         another process held the lock for longer than the timeout
│   └── TransactionConflict  the engine sacrificed the transaction to break a deadlock; it may be run again
├── StorageFull              no room left for the data, the log or the index
├── DatabaseReadOnly         this process may not write there
├── DatabaseCorrupted        the file is not a database, or is damaged
└── SchemaMismatch           the tables are not those of this version
"""

from __future__ import annotations

import sqlite3
from typing import ClassVar

from sqlalchemy.exc import DBAPIError

from sordino_server.errors import ServerError
from sordino_shared.protocol import Problem


class DatabaseError(ServerError):
    """The transaction named `transaction` was rolled back; the driver's error is the cause."""

    kind: ClassVar[Problem] = Problem.INTERNAL_ERROR

    def __init__(self, detail: str, transaction: str = "") -> None:
        super().__init__(self.kind, detail)
        self.transaction = transaction


class DatabaseUnavailable(DatabaseError):
    """The database cannot be reached or opened, or failed in a way that may pass."""

    kind = Problem.UNAVAILABLE


class DatabaseBusy(DatabaseUnavailable):
    """Another process held the database's lock for longer than the timeout."""


class TransactionConflict(DatabaseUnavailable):
    """The engine sacrificed the transaction to break a deadlock; it may be run again."""


class StorageFull(DatabaseError):
    """There is no room left for the data, the log or the index."""

    kind = Problem.STORAGE_FULL


class DatabaseReadOnly(DatabaseError):
    """This process may not write to the database."""

    kind = Problem.UNAVAILABLE


class DatabaseCorrupted(DatabaseError):
    """The file is not a database, or is damaged."""

    kind = Problem.UNAVAILABLE


class SchemaMismatch(DatabaseError):
    """The tables are missing or belong to another version."""

    kind = Problem.UNAVAILABLE


Meaning = tuple[type[DatabaseError], str]

_FULL: Meaning = (StorageFull, "the database's disk is full; free some space, then try again")
_BUSY: Meaning = (DatabaseBusy, "the database is locked by another process; try again later")
_READ_ONLY: Meaning = (
    DatabaseReadOnly,
    "the database is read-only for this process; check the file's and its folder's owner and permissions",
)
_CORRUPTED: Meaning = (DatabaseCorrupted, "the database is damaged or not a database; restore it from a backup")
_NOT_OPENED: Meaning = (
    DatabaseUnavailable,
    "the database file cannot be opened; does its folder exist, and may this user write there?",
)
_NO_TABLES: Meaning = (SchemaMismatch, "the database lacks tables of this version; run `sordino db upgrade`")
_CONFLICT: Meaning = (TransactionConflict, "the transaction lost against others; try again")
_FAILED: Meaning = (DatabaseUnavailable, "the database failed or cannot be reached; try again later")

_SQLITE_PREFIXES: tuple[tuple[str, Meaning], ...] = (
    ("SQLITE_FULL", _FULL),
    # The index of the write-ahead log is a memory map: where the disk is full it cannot grow.
    ("SQLITE_IOERR_SHMSIZE", _FULL),
    ("SQLITE_BUSY", _BUSY),
    ("SQLITE_LOCKED", _BUSY),
    ("SQLITE_READONLY", _READ_ONLY),
    ("SQLITE_PERM", _READ_ONLY),
    ("SQLITE_CORRUPT", _CORRUPTED),
    ("SQLITE_NOTADB", _CORRUPTED),
    ("SQLITE_CANTOPEN", _NOT_OPENED),
    ("SQLITE_IOERR", _FAILED),
    ("SQLITE_PROTOCOL", _BUSY),
)

_SQLSTATE_PREFIXES: tuple[tuple[str, Meaning], ...] = (
    ("53100", _FULL),
    ("40001", _CONFLICT),
    ("40P01", _CONFLICT),
    ("55P03", _BUSY),
    ("25006", _READ_ONLY),
    ("42501", _READ_ONLY),
    ("42P01", _NO_TABLES),
    ("42703", _NO_TABLES),
    ("XX00", _CORRUPTED),
    ("53", _FAILED),
    ("57P", _FAILED),
    ("08", _FAILED),
    ("28", (DatabaseUnavailable, "the database refuses the user or password; check the database URL")),
    ("3D", (DatabaseUnavailable, "there is no such database; create it, or check the database URL")),
)


def database_error(error: DBAPIError, transaction: str) -> DatabaseError | None:
    """The meaning of a driver's error, or None for one that only a bug can cause."""
    original = error.orig
    meaning = _sqlite_meaning(original) if isinstance(original, sqlite3.Error) else _postgres_meaning(error)
    if meaning is None:
        return None
    kind, detail = meaning
    return kind(detail, transaction)


def _sqlite_meaning(error: sqlite3.Error) -> Meaning | None:
    name = getattr(error, "sqlite_errorname", "")
    for prefix, meaning in _SQLITE_PREFIXES:
        if name.startswith(prefix):
            return meaning
    if "no such table" in str(error) or "no such column" in str(error):
        return _NO_TABLES
    return None


def _postgres_meaning(error: DBAPIError) -> Meaning | None:
    state = getattr(error.orig, "sqlstate", None) or ""
    for prefix, meaning in _SQLSTATE_PREFIXES:
        if state.startswith(prefix):
            return meaning
    # A connection that is refused or breaks off has no state of its own.
    return _FAILED if error.connection_invalidated or not state else None
