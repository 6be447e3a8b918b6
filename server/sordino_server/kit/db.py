"""One database, SQLite or PostgreSQL by URL; a unit of work is one named transaction."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, ExecutionContext, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session
from sqlalchemy.pool import QueuePool

from sordino_server.kit.database_errors import DatabaseBusy, DatabaseCorrupted, TransactionConflict, database_error
from sordino_shared.errors import InvalidValue

T = TypeVar("T")

BUSY_TIMEOUT_S = 10.0
# The victim of a deadlock succeeds at once as a rule; five attempts with growing pauses end within a second.
_ATTEMPTS = 5
_PAUSE_S = 0.02
_BEGIN_OPTION = "sordino_begin"
# Lock a row whose key stays. A plain FOR UPDATE would also block the foreign keys of rows that refer to it, and so the
# reports of a campaign that is being closed: a circle.
FOR_CHANGE = {"key_share": True}
# Of a statement with large results: PostgreSQL sends bytes as they are. Else each is two digits, to be parsed again.
_BYTES_OPTION = "sordino_bytes"
AS_BYTES = {_BYTES_OPTION: True}
# The first with INSERT … RETURNING.
_SQLITE_NEEDED = (3, 35, 0)
# In KiB: the pages that a connection keeps, and those that it keeps while it reads what is not read again.
_CACHE, _SMALL_CACHE = -65536, -2048
_SQLITE_PRAGMAS = (
    "journal_mode = WAL",
    "synchronous = FULL",
    "foreign_keys = ON",
    f"cache_size = {_CACHE}",
    # Random report ids touch a page each: with the default of 1,000 pages every larger commit copies the log back.
    "wal_autocheckpoint = 8192",
)
# A host that vanished answers nothing at all, and the system by itself would believe in it for hours.
_POSTGRES_PATIENCE = {
    "keepalives_idle": "15",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}
# The same, for the server's side of each connection.
_POSTGRES_SESSION = {
    "tcp_keepalives_idle": "15",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "30000",
}
_POSTGRES_NAMES = ("postgres", "postgresql", "postgresql+psycopg")


class Database:
    """Transactions on one engine; safe to share between threads, one instance a process."""

    def __init__(self, url: str, *, busy_timeout_s: float = BUSY_TIMEOUT_S, connections: int = 10) -> None:
        self.url = database_url(url)
        self.connections = connections
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        if self.is_sqlite:
            self.engine: Engine = _sqlite_engine(self.url, busy_timeout_s, connections)
            self._reading = self.engine
            self._writing = self.engine.execution_options(**{_BEGIN_OPTION: "BEGIN IMMEDIATE"})
        else:
            self.engine = _postgres_engine(self.url, busy_timeout_s, connections)
            self._reading = self.engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            # Explicit, not the server's default: after waiting for a lock a transaction must see its holder's commit.
            self._writing = self.engine.execution_options(isolation_level="READ COMMITTED")

    @contextmanager
    def write(self, name: str) -> Iterator[Session]:
        """A writing transaction: committed when the block ends, rolled back when it raises.

        On SQLite the write lock is taken at once, so what the block reads cannot change under it.
        """
        with _meaningful(name), Session(self._writing, expire_on_commit=False) as session, session.begin():
            session.connection()
            yield session

    @contextmanager
    def read(self, name: str = "read") -> Iterator[Session]:
        """One consistent snapshot; nothing that the block changes is kept."""
        with _meaningful(name), Session(self._reading, autoflush=False) as session:
            yield session

    def run(self, name: str, work: Callable[[Session], T]) -> T:
        """`work` in a writing transaction, again when the engine sacrifices it to break a deadlock."""
        for attempt in range(1, _ATTEMPTS):
            try:
                with self.write(name) as session:
                    return work(session)
            except TransactionConflict:
                time.sleep(_PAUSE_S * 2**attempt)
        with self.write(name) as session:
            return work(session)

    def lock(self, session: Session, space: int, number: int, *, shared: bool = False) -> None:
        """Hold the lock (space, number) until the transaction ends.

        SQLite's writers exclude each other already. On PostgreSQL this is an advisory lock and not a row lock:
        its queue is fair, so that an exclusive request is not starved by shared ones that keep overlapping.
        """
        if not self.is_sqlite:
            function = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
            session.execute(text(f"SELECT {function}(:space, :number)"), {"space": space, "number": number})

    @property
    def connections_in_use(self) -> int:
        """Of the pool's `connections`, those that a transaction has now."""
        pool = self.engine.pool
        return pool.checkedout() if isinstance(pool, QueuePool) else 0

    def bytes_on_disk(self, session: Session) -> int:
        """Bytes of the whole database: SQLite's file without its log, PostgreSQL's tables and indexes."""
        size = "(SELECT page_count * page_size FROM pragma_page_count, pragma_page_size)"
        return int(session.scalar(text(f"SELECT {size if self.is_sqlite else 'pg_database_size(current_database())'}")))

    def check(self) -> None:
        """Raise unless the database answers."""
        with self.read("check") as session:
            session.execute(text("SELECT 1"))

    @property
    def exists(self) -> bool:
        """Whether SQLite's file is there, which opening it would make; of any other database True."""
        return not self.is_sqlite or _file_of(self.url).exists()

    def check_exists(self) -> None:
        """Raise `InvalidValue` where SQLite's file is not there; any other use of the database would make it."""
        if not self.exists:
            raise InvalidValue(
                f"there is no database at {_file_of(self.url).absolute()}: start `sordino serve` or run "
                "`sordino db upgrade` first, do this in the same folder, or set SORDINO_DATABASE_URL as for the server",
                str(self.url),
            )

    def check_pages(self) -> None:
        """Raise `DatabaseCorrupted` where SQLite's file is damaged; reads all of it. PostgreSQL looks after its own."""
        if not self.is_sqlite:
            return
        with self.read("check pages") as session:
            found = session.scalar(text("PRAGMA quick_check(1)"))
        if found != "ok":
            raise DatabaseCorrupted(
                "the database is damaged; restore it from a backup, and delete its old -wal and -shm files "
                f"(SQLite found: {' '.join(str(found).split())})"
            )

    def close(self) -> None:
        """Close the pooled connections."""
        self.engine.dispose()


def database_url(url: str) -> URL:
    """The URL with its driver named; raises `InvalidValue` for what is neither a SQLite file nor PostgreSQL."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:
        # ValueError: a port that is no number, or what a password with : and / leaves in its place.
        raise InvalidValue(
            "not a database URL; write sqlite:///folder/file.sqlite3 or postgresql://user@host:5432/name", url
        ) from error
    if parsed.drivername == "sqlite":
        if parsed.database in (None, "", ":memory:"):
            raise InvalidValue("a database in memory is not shared between connections; name a file", url)
        return parsed
    if "@" in (parsed.host or ""):
        raise InvalidValue(
            "the database URL has two @: write one in the password as %40, or the password in SORDINO_DATABASE_PASSWORD"
        )
    if parsed.drivername in _POSTGRES_NAMES:
        return parsed.set(drivername="postgresql+psycopg")
    raise InvalidValue(f"database URLs begin with sqlite:/// or postgresql://, got {parsed.drivername!r}", url)


def _file_of(url: URL) -> Path:
    return Path(url.database or "")


def _sqlite_engine(url: URL, busy_timeout_s: float, connections: int) -> Engine:
    if sqlite3.sqlite_version_info < _SQLITE_NEEDED:
        needed = ".".join(map(str, _SQLITE_NEEDED))
        raise InvalidValue(
            f"this Python has SQLite {sqlite3.sqlite_version}, at least {needed} is needed; update it or use PostgreSQL"
        )
    engine = create_engine(
        url,
        pool_size=connections,
        max_overflow=0,
        pool_timeout=busy_timeout_s,
        hide_parameters=True,
        connect_args={"timeout": busy_timeout_s, "check_same_thread": False},
    )
    event.listen(engine, "do_connect", partial(_keep_private, _file_of(url)))
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _postgres_engine(url: URL, busy_timeout_s: float, connections: int) -> Engine:
    # Here, since psycopg need not be there.
    from sordino_server.kit import patient_connection

    connect_s = min(busy_timeout_s, patient_connection.ANSWER_WITHIN_S)
    patience = _POSTGRES_PATIENCE | {"connect_timeout": f"{connect_s:.0f}"}
    engine = create_engine(
        url,
        pool_size=connections,
        max_overflow=0,
        pool_timeout=busy_timeout_s,
        pool_pre_ping=True,
        hide_parameters=True,
        # What the URL says itself is left as it is.
        connect_args={name: value for name, value in patience.items() if name not in url.query},
    )
    event.listen(engine, "do_connect", patient_connection.Connector())
    event.listen(engine, "connect", _prepare_postgres)
    event.listen(engine, "before_cursor_execute", _choose_format, named=True)
    return engine


def _prepare_postgres(connection: Any, _: object) -> None:
    """An answered commit is on disk. Stricter settings, such as those for replicas, are left as they are.

    The server for its part would keep the locks of a process whose host vanished for hours.
    """
    connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
    )
    connection.execute(
        "SELECT set_config(name, value, false) FROM unnest(%s::text[], %s::text[]) AS settings (name, value)",
        (list(_POSTGRES_SESSION), list(_POSTGRES_SESSION.values())),
    )
    connection.commit()


def _choose_format(*, cursor: Any, context: ExecutionContext, **_: object) -> None:
    if context.execution_options.get(_BYTES_OPTION):
        # psycopg.pq.Format.BINARY; psycopg need not be there.
        cursor.format = 1


def _keep_private(file: Path, *_: object) -> None:
    """The file is its owner's alone from the moment that it is there; SQLite gives -wal and -shm the same mode.

    A file that is there already keeps its mode: a group may have been let in on purpose.
    """
    with suppress(FileExistsError, FileNotFoundError, PermissionError, NotADirectoryError, IsADirectoryError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _prepare_sqlite(connection: Any, _: object) -> None:
    # The driver would begin transactions by itself, late and deferred; `_begin_sqlite` does it instead.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in _SQLITE_PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # A deferred transaction that reads and then writes fails at once when another wrote between; IMMEDIATE waits.
    connection.exec_driver_sql(connection.get_execution_options().get(_BEGIN_OPTION, "BEGIN"))


@contextmanager
def _meaningful(name: str) -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        _forget_values(error)
        meaning = database_error(error, name)
        if meaning is None:
            raise
        raise meaning from error
    except PoolTimeout as error:
        raise DatabaseBusy("all database connections are in use; try again later", name) from error


def _forget_values(error: DBAPIError) -> None:
    """Leave only the first line of what PostgreSQL says: the details below it quote the row that did not fit.

    Both errors end up in the log, and a row may be somebody's report.
    """
    said = getattr(getattr(error.orig, "diag", None), "message_primary", None)
    if error.orig is not None and said is not None:
        error.orig.args = (said,)
        error.args = (f"({type(error.orig).__name__}) {said}",)


@contextmanager
def small_cache(session: Session) -> Iterator[None]:
    """Read a large value that is not read again: SQLite would keep each of its pages, up to 64 MiB a connection.

    The pages come from the heap of the thread, which does not give them back to the system.
    """
    if session.get_bind().dialect.name != "sqlite":
        yield
        return
    connection = session.connection()
    connection.exec_driver_sql(f"PRAGMA cache_size = {_SMALL_CACHE}")
    try:
        yield
    finally:
        connection.exec_driver_sql(f"PRAGMA cache_size = {_CACHE}")
