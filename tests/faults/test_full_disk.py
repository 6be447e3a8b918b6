"""A disk without room: uploads fail as storage-full, none of them counts, and all work again once there is room."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from sordino_server.kit import migrations
from sordino_server.kit.clock import ManualClock
from sordino_server.kit.database_errors import StorageFull
from sordino_server.kit.db import Database
from sordino_server.reports import ReportWriter
from sordino_shared.errors import SordinoError
from tests.patience import PATIENCE_S


def fill(writer: ReportWriter, round_) -> tuple[list[int], SordinoError]:
    """Send requests of a hundred reports until one fails; what was acknowledged, and the error."""
    acknowledged: list[int] = []
    for first in range(0, 10_000, 100):
        future = writer.submit(round_.upload(range(first, first + 100)))
        if (error := future.exception(timeout=PATIENCE_S)) is not None:
            assert isinstance(error, SordinoError)
            return acknowledged, error
        acknowledged += range(first, first + 100)
    pytest.fail("the disk did not fill up")


def test_a_database_at_its_size_limit_fails_whole_uploads_and_recovers(migrated_sqlite_url, buckets):
    database = Database(migrated_sqlite_url)
    round_ = buckets(database)
    with database.read() as session:
        pages = session.connection().exec_driver_sql("PRAGMA page_count").scalar_one()
    limit = {"pages": pages + 40}

    @event.listens_for(database.engine, "checkout")
    def set_limit(connection, *_: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {limit['pages']}")

    writer = ReportWriter(database, ManualClock()).start()
    acknowledged, error = fill(writer, round_)
    assert isinstance(error, StorageFull)
    assert acknowledged
    assert round_.counts(database) == dict.fromkeys(acknowledged, 1)

    limit["pages"] = 1_000_000
    outcomes = writer.submit(round_.upload(range(len(acknowledged) + 100))).result()
    assert (outcomes.accepted, outcomes.replayed) == (100, len(acknowledged))
    writer.close()
    assert round_.counts(database) == dict.fromkeys(range(len(acknowledged) + 100), 1)
    database.close()


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of 24 MiB, where everybody may reach it; PostgreSQL's copy of its template takes 8."""
    folder = Path(tempfile.mkdtemp(prefix="sordino-small-disk-"))
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m,mode=777", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        folder.rmdir()
        pytest.skip(f"this user may not mount a file system: {mounted.stderr.decode().strip()}")
    folder.chmod(0o777)
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)
    folder.rmdir()


@pytest.fixture
def sqlite_on_small_disk(small_disk: Path) -> str:
    return f"sqlite:///{small_disk}/store.sqlite3"


@pytest.fixture
def postgres_on_small_disk(small_disk: Path, postgres_cluster: Any) -> Iterator[str]:
    """A database whose tables are there; the log of transactions, without which PostgreSQL stops, is elsewhere."""
    tables = small_disk / "tables"
    tables.mkdir()
    if postgres_cluster.user:
        shutil.chown(tables, user=postgres_cluster.user)
    postgres_cluster.execute(f"CREATE TABLESPACE small LOCATION '{tables}'")
    url = postgres_cluster.create(tablespace="small")
    yield url
    postgres_cluster.drop(url)
    postgres_cluster.execute("DROP TABLESPACE small")


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_a_disk_that_is_really_full_loses_nothing_that_was_acknowledged(engine, request, small_disk, buckets):
    url = request.getfixturevalue(f"{engine}_on_small_disk")
    database = Database(url)
    migrations.upgrade(database)
    round_ = buckets(database)
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(shutil.disk_usage(small_disk).free - (400 << 10)))
    writer = ReportWriter(database, ManualClock()).start()
    acknowledged, error = fill(writer, round_)
    assert isinstance(error, StorageFull)
    assert acknowledged

    ballast.unlink()
    assert round_.counts(database) == dict.fromkeys(acknowledged, 1)
    outcomes = writer.submit(round_.upload(range(len(acknowledged) + 100))).result()
    assert (outcomes.accepted, outcomes.replayed) == (100, len(acknowledged))
    writer.close()
    database.close()
    # What survives is in the files, not in the process.
    reopened = Database(url)
    assert round_.counts(reopened) == dict.fromkeys(range(len(acknowledged) + 100), 1)
    reopened.close()
