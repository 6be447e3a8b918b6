"""Problems that stand for a driver's errors, for both engines.

DatabaseError                the transaction was rolled back; nothing of it counts
├── DatabaseUnavailable      cannot be reached or opened, or failed in a way that may pass
│   ├── AccessRefused        refused for a reason that does not pass by itself: user, password, name, encryption
│   ├── DatabaseBusy         another process held the lock for longer than the timeout
│   └── TransactionConflict  the engine sacrificed the transaction to break a deadlock; it may be run again
├── StorageFull              no room left for the data, the log or the index
├── DatabaseReadOnly         this process may not write there
├── DatabaseUnsuitable       the user lacks a privilege, or the encoding is not UTF8: an administrator changes it
├── DatabaseCorrupted        the file is not a database, or is damaged
└── SchemaMismatch           the tables are not those of this version
"""

from __future__ import annotations

import re
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


class AccessRefused(DatabaseUnavailable):
    """The database refuses connections for a reason that somebody has to remove: user, password, name, encryption."""


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


class DatabaseUnsuitable(DatabaseError):
    """The user of the URL lacks a privilege, or the encoding of the database does not hold every text."""

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
_WRITES_NOTHING: Meaning = (
    DatabaseReadOnly,
    "the database takes no writes: it is a standby, or default_transaction_read_only is on; use the primary",
)
_NO_PRIVILEGE: Meaning = (
    DatabaseUnsuitable,
    "the user of the database URL lacks a privilege there; make it the owner: ALTER DATABASE name OWNER TO user",
)
_WRONG_PASSWORD: Meaning = (
    AccessRefused,
    "the database refuses the user or the password; check the database URL and SORDINO_DATABASE_PASSWORD",
)
_NO_DATABASE: Meaning = (
    AccessRefused,
    "the database server has no database of this name; create it, or check the database URL",
)
_NO_ENTRY: Meaning = (
    AccessRefused,
    "the database lets this user, database or address not in; check pg_hba.conf, LOGIN and CONNECT there",
)
_NO_ENCRYPTION: Meaning = (
    AccessRefused,
    "the connection to the database cannot be encrypted or verified as sslmode in the database URL asks",
)
_NO_OPTION: Meaning = (
    AccessRefused,
    "the database URL has an option or a port that does not exist; write postgresql://user@host:5432/name",
)
_NO_HOST: Meaning = (
    DatabaseUnavailable,
    "no address is known for the host of the database URL; check its name, and that of this network",
)
_CLOSED_PORT: Meaning = (
    DatabaseUnavailable,
    "nothing listens at the host and port of the database URL; is the database running, and the port right?",
)
_NO_ANSWER: Meaning = (
    DatabaseUnavailable,
    "the host of the database URL does not answer in time; check its address, and firewalls on the way",
)
_STARTING: Meaning = (DatabaseUnavailable, "the database is starting up or shutting down; try again soon")
_ALL_IN_USE: Meaning = (
    DatabaseUnavailable,
    "the database has no connection left for this user; raise max_connections or the user's limit there",
)

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
    ("25006", _WRITES_NOTHING),
    ("42501", _NO_PRIVILEGE),
    ("42P01", _NO_TABLES),
    ("42703", _NO_TABLES),
    ("XX00", _CORRUPTED),
    ("53", _FAILED),
    ("57P", _FAILED),
    ("08", _FAILED),
)

# A connection that was never made has no SQLSTATE: libpq hands on the server's message, or its own, as text alone. A
# server that speaks another language, by `lc_messages`, is not understood here: then the log has what it said.
_CONNECTION_TEXTS: tuple[tuple[re.Pattern[str], Meaning], ...] = tuple(
    (re.compile(pattern), meaning)
    for pattern, meaning in (
        (r"password authentication failed|no password supplied|role \".*\" does not exist", _WRONG_PASSWORD),
        (r"authentication failed for user", _WRONG_PASSWORD),
        (r"database \".*\" does not exist", _NO_DATABASE),
        (r"no pg_hba\.conf entry|pg_hba\.conf rejects|not permitted to log in", _NO_ENTRY),
        (r"permission denied for database|not currently accepting connections", _NO_ENTRY),
        (r"the database system is|cannot connect now", _STARTING),
        (r"too many (clients|connections)|remaining connection slots", _ALL_IN_USE),
        (r"support SSL|SSL was required|SSL negotiation|SSL error|certificate", _NO_ENCRYPTION),
        (
            r"invalid connection option|invalid port number|invalid integer value|bad value for|invalid .* value",
            _NO_OPTION,
        ),
        (r"failed to resolve host|could not translate host name", _NO_HOST),
        (r"Connection refused|No such file or directory", _CLOSED_PORT),
        (r"timeout expired|timed out|No route to host|Network is unreachable", _NO_ANSWER),
    )
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
    if not state:
        return connection_meaning(str(error.orig))
    return _FAILED if error.connection_invalidated else None


def connection_meaning(said: str) -> Meaning:
    """What the driver's words about a connection mean: one that was refused or broke off has no SQLSTATE."""
    return next((meaning for pattern, meaning in _CONNECTION_TEXTS if pattern.search(said)), _FAILED)
