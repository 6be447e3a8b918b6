"""A backup: an SQLite file with the rows and the schema of a database of either engine, of one moment.

It is a database of its own, so `sordino db check` and `sordino db upgrade` work on it, and it is restored into either
engine. Neither direction needs programs of PostgreSQL.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

from sqlalchemy import Connection, Engine, LargeBinary, Table, Text, create_engine, func, insert, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from sordino_server.kit import migrations
from sordino_server.kit.db import AS_BYTES, Database
from sordino_server.kit.schema_version import head_revision
from sordino_shared.errors import InvalidValue, SordinoError

# Called with the name of each table that is done, and its number of rows.
Told = Callable[[str, int], None]
# Rows that are held at once; of tables with documents and payloads, which may have megabytes each, fewer.
_ROWS, _LARGE_ROWS = 5_000, 16


class BackupFailed(SordinoError):
    """The backup could not be written or read; the database is as it was."""

    code = "backup-failed"
    advice = "mend what the message names, and run the command again"


def back_up(database: Database, tables: Sequence[Table], file: Path, told: Told) -> int:
    """Write all rows, as they are at one moment, into a new file of mode 0600; its size in bytes.

    Servers and workers may run. The file appears under its name when it is whole and on disk. Raises InvalidValue for
    a file that is there or has no folder, and BackupFailed.
    """
    if file.exists():
        raise InvalidValue(
            f"{file} is there already: name a new file, since a backup never replaces another", str(file)
        )
    if not file.parent.is_dir():
        raise InvalidValue(f"there is no folder {file.parent}", str(file))
    with _failing(f"{file} cannot be written"), _unfinished(file) as unfinished:
        if database.is_sqlite:
            _vacuum_into(database, unfinished)
        else:
            _copy_into(database, tables, unfinished, told)
        _check_pages(unfinished)
        _flush(unfinished)
        unfinished.rename(file)
        _flush(file.parent)
    return file.stat().st_size


def restore(database: Database, tables: Sequence[Table], file: Path, told: Told) -> None:
    """Put the rows of a backup into a database that has none, in one transaction.

    `tables` are those to restore. Raises InvalidValue for what is no backup of this version, and where the database has
    rows, and BackupFailed.
    """
    with _failing(f"{file} cannot be restored"):
        _check_readable(file)
        migrations.upgrade(database)
        engine = _reading(file)
        with engine.connect() as source, database.write("restore") as session:
            target = session.connection()
            _check_empty(target, tables)
            _copy(source, target, tables, told)
            if not database.is_sqlite:
                _set_numbers(target, tables)
        engine.dispose()


def _vacuum_into(database: Database, file: Path) -> None:
    """What was deleted, such as purged reports, is not in the copy, unlike in one by pages."""
    with closing(sqlite3.connect(str(database.url.database))) as raw:
        raw.execute("VACUUM INTO ?", (str(file),))


def _copy_into(database: Database, tables: Sequence[Table], file: Path, told: Told) -> None:
    target = Database(f"sqlite:///{file}")
    migrations.upgrade(target)
    with database.read("back up") as source, target.write("back up") as session:
        _copy(source.connection(), session.connection(), tables, told)
    target.close()
    # The rows go from the log into the file, which is then the only one.
    with closing(sqlite3.connect(file, isolation_level=None)) as raw:
        raw.execute("PRAGMA journal_mode = DELETE")


def _copy(source: Connection, target: Connection, tables: Sequence[Table], told: Told) -> None:
    for table in tables:
        query = select(table).order_by(*table.primary_key)
        count = 0
        for part in source.execute(query, execution_options=AS_BYTES | {"yield_per": _at_once(table)}).partitions():
            target.execute(insert(table), [dict(row._mapping) for row in part])
            count += len(part)
        told(table.name, count)


def _at_once(table: Table) -> int:
    unbounded = (Text, LargeBinary)
    large = any(isinstance(column.type, unbounded) and column.type.length is None for column in table.columns)
    return _LARGE_ROWS if large else _ROWS


def _set_numbers(connection: Connection, tables: Sequence[Table]) -> None:
    """PostgreSQL numbers new rows after those that were restored."""
    for table in tables:
        column = table.autoincrement_column
        if column is None:
            continue
        names = {"table": table.name, "column": column.name}
        sequence = connection.scalar(text("SELECT pg_get_serial_sequence(:table, :column)"), names)
        most = connection.scalar(select(func.max(column)))
        if sequence is not None and most is not None:
            connection.execute(text("SELECT setval(:sequence, :most)"), {"sequence": sequence, "most": most})


def _check_empty(connection: Connection, tables: Sequence[Table]) -> None:
    filled = [table.name for table in tables if connection.execute(select(table).limit(1)).first() is not None]
    if filled:
        raise InvalidValue(
            f"the database has rows in {', '.join(sorted(filled))}: restore into an empty one, since rows of two "
            "histories do not go together; nothing was changed",
            filled,
        )


def _check_readable(file: Path) -> None:
    """Raise InvalidValue unless the file is a whole database of this version's schema."""
    if not file.is_file():
        raise InvalidValue(f"there is no file {file}", str(file))
    log = file.with_name(f"{file.name}-wal")
    if log.exists() and log.stat().st_size:
        raise InvalidValue(
            f"{log} belongs to {file} and is not empty: it is no backup, but a database in use", str(file)
        )
    engine, known = _reading(file), None
    try:
        with engine.connect() as connection:
            known = connection.scalar(text("SELECT version_num FROM alembic_version"))
    except DBAPIError as error:
        raise InvalidValue(f"{file} is no backup of sordino, or is damaged ({error.orig})", str(file)) from None
    finally:
        engine.dispose()
    if known != head_revision():
        raise InvalidValue(
            f"the backup has revision {known}, this version restores {head_revision()}: copy the file, run "
            "`SORDINO_DATABASE_URL=sqlite:///COPY sordino db upgrade`, and restore the copy; a newer revision needs a "
            "newer version",
            known,
        )
    _check_pages(file)


def _check_pages(file: Path) -> None:
    with closing(sqlite3.connect(_uri(file), uri=True)) as raw:
        problem = raw.execute("PRAGMA quick_check(1)").fetchone()[0]
    if problem != "ok":
        raise InvalidValue(
            f"{file} is damaged (SQLite: {' '.join(str(problem).split())}): take another backup", str(file)
        )


def _reading(file: Path) -> Engine:
    """An engine that reads the file and writes nothing beside it, also in a folder that cannot be written to."""
    return create_engine("sqlite://", creator=lambda: sqlite3.connect(_uri(file), uri=True), poolclass=NullPool)


def _uri(file: Path) -> str:
    return f"{file.absolute().as_uri()}?mode=ro&immutable=1"


@contextmanager
def _unfinished(file: Path) -> Iterator[Path]:
    """A name in a private folder beside `file`, which is deleted in the end."""
    folder = Path(mkdtemp(prefix=".sordino-backup-", dir=file.parent))
    unfinished = folder / "unfinished.sqlite3"
    try:
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield unfinished
    finally:
        for each in folder.iterdir():
            with suppress(OSError):
                each.unlink()
        with suppress(OSError):
            folder.rmdir()


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _failing(what: str) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BackupFailed(f"{what}: {reason}; nothing was left behind, and the database is as it was") from error
