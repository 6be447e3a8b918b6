"""The SQLite file below ledger and spool: transactions, and errors that say what to do.

One file with a rollback journal and `synchronous=EXTRA`: a commit that returned survives SIGKILL and a power cut, and
there is no second file whose absence from a backup would tear it. Deleted payloads are overwritten (`secure_delete`).
A damaged file is never replaced by a new one, since a new ledger would be a new budget.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from sordino_client._errors import LedgerUnavailable, WrongArgument
from sordino_client._schema import APPLICATION_ID, SCHEMA_VERSION, bring_up
from sordino_shared.errors import ProtocolError

T = TypeVar("T")

MEMORY = ":memory:"
BUSY_TIMEOUT_S = 5.0

_CREATING = threading.Lock()
_REGISTERING = threading.Lock()
_STORAGES: weakref.WeakSet[Storage] = weakref.WeakSet()
_HELD: list[threading.RLock] = []
_RESTORE = "keep it, and restore it from where it was damaged if you can; a new ledger would be a new budget"
# By the start of SQLite's extended error name.
_REASONS = {
    "SQLITE_BUSY": ("another process holds it locked", "close the other process or try again"),
    "SQLITE_LOCKED": ("another connection holds it locked", "try again"),
    "SQLITE_READONLY": ("it cannot be written", "give the app write access to the file and its folder"),
    "SQLITE_FULL": ("the disk is full", "free some space and try again"),
    "SQLITE_CANTOPEN": ("it cannot be opened", "check that its folder exists and that the app may write there"),
    "SQLITE_PERM": ("access is denied", "give the app access to the file and its folder"),
    "SQLITE_CORRUPT": ("it is damaged", _RESTORE),
    "SQLITE_NOTADB": ("it is not a ledger, or it is damaged", _RESTORE),
    "SQLITE_IOERR": ("reading or writing it failed", "check the disk and its free space, then try again"),
}


class LedgerConnection(sqlite3.Connection):
    """A connection that ends the reads of its cursors when a transaction ends, and before it closes.

    A statement with rows left to read holds a lock on the file after `ROLLBACK`, and after `close()` from Python 3.12
    on. The traceback of an error about a damaged row keeps the cursor alive.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._cursors: weakref.WeakSet[sqlite3.Cursor] = weakref.WeakSet()

    def execute(self, *statement: Any) -> sqlite3.Cursor:
        cursor = super().execute(*statement)
        self._cursors.add(cursor)
        return cursor

    def end_reads(self) -> None:
        for cursor in list(self._cursors):
            cursor.close()
        self._cursors.clear()

    def close(self) -> None:
        self.end_reads()
        super().close()


class Storage:
    """Serialised transactions on one ledger file, or on memory for simulations. Safe across threads and processes."""

    def __init__(self, path: str | os.PathLike[str], busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        self.path = _checked(path)
        self._busy_timeout_s = busy_timeout_s
        self._lock = threading.RLock()
        self._connection: LedgerConnection | None = None
        self._process = 0
        with _REGISTERING:
            _STORAGES.add(self)
        with self.write():
            pass

    def connect(self) -> LedgerConnection:
        """A new connection in autocommit mode: transactions are begun by name below."""
        if self.path != MEMORY:
            _create(self.path)
        return sqlite3.connect(
            self.path,
            timeout=self._busy_timeout_s,
            isolation_level=None,
            check_same_thread=False,
            factory=LedgerConnection,
        )

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One transaction that excludes every other writer from its first statement; all of it happens or nothing."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """One consistent view; rows are read within."""
        with self._transaction("BEGIN") as connection, self.reading_rows():
            yield connection

    @contextmanager
    def reading_rows(self) -> Iterator[None]:
        """Rows that no SDK wrote are damage, whatever reading them raises."""
        try:
            yield
        except (ArithmeticError, LookupError, TypeError, ValueError, ProtocolError) as error:
            raise self.damaged(f"it holds a row that no SDK wrote: {type(error).__name__}") from error

    def close(self) -> None:
        """Close the connection; a later transaction opens it again, except in memory."""
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    def damaged(self, detail: str) -> LedgerUnavailable:
        """The error for content that no SDK wrote."""
        return LedgerUnavailable(self.path, f"it is damaged ({detail})", _RESTORE)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._lock:
            connection = self._guarded(self._open)
            self._guarded(lambda: connection.execute(begin))
            try:
                yield connection
                connection.execute("COMMIT")
            except (sqlite3.Error, UnicodeDecodeError) as error:
                raise self._unavailable(error) from error
            finally:
                # After a commit this does nothing; after anything else nothing of the transaction may stay.
                if connection.in_transaction:
                    with suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                connection.end_reads()

    def _open(self) -> LedgerConnection:
        # A connection must not cross a fork: the child would share the parent's locks.
        if self._connection is None or self._process != os.getpid():
            connection = self.connect()
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._connection, self._process = connection, os.getpid()
        return self._connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        for pragma in ("foreign_keys = ON", "synchronous = EXTRA", "secure_delete = ON"):
            connection.execute(f"PRAGMA {pragma}")
        if self._format(connection) == SCHEMA_VERSION:
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            with self.reading_rows():
                bring_up(connection, self._format(connection))
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def _format(self, connection: sqlite3.Connection) -> int:
        """The format of the ledger, 0 for an empty file; raises if the file is something else."""
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if (version, application, tables) == (0, 0, 0):
            return 0
        if application != APPLICATION_ID:
            raise LedgerUnavailable(self.path, "it is a database of something else", "choose another path")
        if not 1 <= version <= SCHEMA_VERSION:
            raise LedgerUnavailable(self.path, f"it has format {version}", "use the SDK's version that wrote it")
        return int(version)

    def _guarded(self, step: Callable[[], T]) -> T:
        try:
            return step()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._unavailable(error) from error

    def _unavailable(self, error: sqlite3.Error | UnicodeDecodeError) -> LedgerUnavailable:
        if isinstance(error, UnicodeDecodeError):
            return self.damaged("its text is no UTF-8")
        name = getattr(error, "sqlite_errorname", "") or ""
        for prefix, (reason, advice) in _REASONS.items():
            if name.startswith(prefix):
                return LedgerUnavailable(self.path, f"{reason} ({error})", advice)
        return LedgerUnavailable(self.path, f"SQLite failed ({error})", "check the file and try again")


def blob(value: object) -> bytes:
    """The bytes of a row, which may be damaged; raises TypeError."""
    if not isinstance(value, bytes):
        raise TypeError(f"expected bytes, got {type(value).__name__}")
    return value


def whole(value: object, most: int = 2**63) -> int:
    """A count of a row, which may be damaged; raises ValueError."""
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError("a number out of its range")
    return value


def _checked(path: str | os.PathLike[str]) -> str:
    if not isinstance(path, str | bytes | os.PathLike):
        raise WrongArgument(f"the ledger must be a path, got {type(path).__name__}", path)
    text = os.fsdecode(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise WrongArgument(f"the ledger's path must have a form in UTF-8, got {text!r}", path) from None
    if not text or "\0" in text:
        raise WrongArgument(
            f"the ledger must be a path in the app's private folder, or {MEMORY!r}, got {text!r}: "
            "a ledger without a file would forget what was spent",
            path,
        )
    return text


def _create(path: str) -> None:
    """An empty file for its owner alone where there is none; SQLite gives its companions the same mode."""
    # Closing the file would free the locks that another connection of this process has meanwhile taken on it.
    with _CREATING, suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _before_fork() -> None:
    """Let no other thread be inside SQLite during a fork: the child would have its locks, and nobody to free them."""
    _REGISTERING.acquire()
    for storage in list(_STORAGES):
        storage._lock.acquire()
        _HELD.append(storage._lock)
    _CREATING.acquire()


def _after_fork() -> None:
    _CREATING.release()
    while _HELD:
        _HELD.pop().release()
    _REGISTERING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
