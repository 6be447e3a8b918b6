"""A backup of either engine is restored into either engine, and the server goes on with it."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from sordino_server.kit import migrations
from sordino_server.kit.backup import BackupFailed, back_up, restore
from sordino_server.kit.db import Database
from sordino_server.models import Base, Role
from sordino_shared.errors import InvalidValue
from tests.killed_before import killed_before
from tests.server.conftest import served

TABLES = Base.metadata.sorted_tables
# No restoration of these few rows takes so many statements and commits beside the migration.
MOST_POINTS = 400


def nobody(*_: Any) -> None:
    """Whom progress is told."""


def counts(database: Database) -> dict[str, int]:
    with database.read("test") as session:
        return {table.name: session.scalar(select(func.count()).select_from(table)) or 0 for table in TABLES}


def everything(database: Database) -> dict[str, list[Any]]:
    with database.read("test") as session:
        rows = {table.name: session.execute(select(table).order_by(*table.primary_key)).all() for table in TABLES}
    return {name: list(map(tuple, part)) for name, part in rows.items()}


def filled(running: Any) -> dict[str, Any]:
    """A closed campaign with its estimate, an open one with reports, a dataset and a console's session."""
    closed = running.campaign("open")
    running.report(closed, [0, 1, 2, 2]).raise_for_status()
    running.api.post(f"/v1/campaigns/{closed['id']}/close").raise_for_status()
    running.work()
    opened: dict[str, Any] = running.campaign("open", epsilon=2)
    running.report(opened, [0, 1, 1], seed=2).raise_for_status()
    order = {
        "name": "flights", "domain": [{"name": "delay", "kind": "ordinal", "edges": [0, 15, 60]}], "unit": "flight",
        "neighbours": "replace", "cap": {"rho": "0.1"}, "columns": {"delay": [-5, 12, 30, 90]},
    }  # fmt: skip
    running.api.post("/v1/datasets", json=order).raise_for_status()
    return {"closed": closed["id"], "open": opened}


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("sqlite", "postgres"),
        ("postgres", "sqlite"),
        pytest.param("sqlite", "sqlite", marks=pytest.mark.slow),
        pytest.param("postgres", "postgres", marks=pytest.mark.slow),
        *(pytest.param(source, "older_postgres", marks=pytest.mark.slow) for source in ("sqlite", "postgres")),
    ],
)
def test_a_backup_is_restored_into_either_engine_and_the_server_goes_on(
    source: str, target: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    file = tmp_path / "backups" / "copy.sqlite3"
    file.parent.mkdir()
    with served(request.getfixturevalue(f"migrated_{source}_url")) as running:
        made = filled(running)
        estimate = running.api.get(f"/v1/campaigns/{made['closed']}/rounds/0/estimates").raise_for_status().content
        before = everything(running.database)
        size = back_up(running.database, TABLES, file, nobody)
        # Sent after it, so that it is not in it.
        running.report(made["open"], [2], seed=3).raise_for_status()
        clock = running.clock
    assert sorted(file.parent.iterdir()) == [file]
    assert (file.stat().st_size, file.stat().st_mode & 0o777) == (size, 0o600)
    url = f"sqlite:///{tmp_path}/new.sqlite3" if target == "sqlite" else request.getfixturevalue(f"{target}_url")
    database, told = Database(url), {}
    restore(database, TABLES, file, told.__setitem__)
    assert everything(database) == before
    assert told == {name: len(rows) for name, rows in before.items()}
    assert min(told[name] for name in ("reports", "report_chunks", "estimates", "datasets", "audit_log", "keys")) > 0
    database.close()
    with served(url, clock=clock) as again:
        path = f"/v1/campaigns/{made['closed']}/rounds/0/estimates"
        assert again.api.get(path).raise_for_status().content == estimate
        # The same report again counts once; another one is numbered after those that were restored.
        assert again.report(made["open"], [0, 1, 1], seed=2).status_code == 200
        assert again.report(made["open"], [2], seed=3).status_code == 200
        again.api.post(f"/v1/campaigns/{made['open']['id']}/close").raise_for_status()
        again.work()
        closed = again.api.get(f"/v1/campaigns/{made['open']['id']}/rounds/0/estimates").raise_for_status().json()
        assert closed["terms"]["users"] == 4


def test_a_backup_is_of_one_moment_while_reports_come(running_on_postgres: Any, tmp_path: Path) -> None:
    campaign, stop = running_on_postgres.campaign("open"), threading.Event()

    def send() -> None:
        for seed in range(2, 10_000):
            if stop.is_set():
                return
            running_on_postgres.report(campaign, [0, 1, 2], seed=seed).raise_for_status()

    sender = threading.Thread(target=send)
    sender.start()
    try:
        for number in range(3):
            back_up(running_on_postgres.database, TABLES, tmp_path / f"{number}.sqlite3", nobody)
    finally:
        stop.set()
        sender.join()
    seen = []
    for number in range(3):
        with closing(sqlite3.connect(tmp_path / f"{number}.sqlite3")) as raw:
            ids = raw.execute("SELECT count(*) FROM reports").fetchone()[0]
            logged = raw.execute("SELECT coalesce(sum(count), 0) FROM report_chunks").fetchone()[0]
            summed = raw.execute("SELECT coalesce(sum(count), 0) FROM accumulators").fetchone()[0]
        assert ids == logged == summed
        seen.append(ids)
    assert seen == sorted(seen)
    assert seen[0] < seen[-1]


@pytest.mark.parametrize("target", ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def test_a_restoration_killed_before_any_statement_leaves_no_rows(
    target: str, running: Any, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    running.key(Role.ADMIN)
    back_up(running.database, TABLES, tmp_path / "copy.sqlite3", nobody)
    url = f"sqlite:///{tmp_path}/new.sqlite3" if target == "sqlite" else request.getfixturevalue(f"{target}_url")
    database, lived = Database(url), False
    migrations.upgrade(database)
    for point in range(0, MOST_POINTS, 3):
        lived = _in_a_child(url, tmp_path / "copy.sqlite3", point)
        if lived:
            break
        assert set(counts(database).values()) == {0}, point
    assert lived
    assert counts(database)["keys"] == 2
    assert point > len(TABLES)
    database.close()


def test_a_backup_that_is_killed_leaves_nothing_under_its_name(running: Any, tmp_path: Path) -> None:
    pid = os.fork()
    if not pid:
        try:
            import sordino_server.kit.backup as module

            module._flush = lambda _: os.kill(os.getpid(), 9)
            back_up(Database(str(running.database.url)), TABLES, tmp_path / "copy.sqlite3", nobody)
        finally:
            os._exit(0)
    assert os.waitpid(pid, 0)[1] == 9
    assert not (tmp_path / "copy.sqlite3").exists()
    back_up(running.database, TABLES, tmp_path / "copy.sqlite3", nobody)


def test_what_was_purged_is_not_in_a_backup(running: Any, tmp_path: Path) -> None:
    secret = b"a payload that somebody has deleted, with bytes enough to find them"
    with closing(sqlite3.connect(str(running.database.url.database))) as raw:
        raw.execute("PRAGMA secure_delete = OFF")
        raw.execute("CREATE TABLE gone (content BLOB)")
        raw.execute("INSERT INTO gone VALUES (?)", (secret * 100,))
        raw.commit()
        raw.execute("DROP TABLE gone")
        raw.commit()
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert secret in Path(str(running.database.url.database)).read_bytes()
    back_up(running.database, TABLES, tmp_path / "copy.sqlite3", nobody)
    assert secret not in (tmp_path / "copy.sqlite3").read_bytes()


def test_a_database_with_rows_takes_no_backup(running: Any, tmp_path: Path) -> None:
    back_up(running.database, TABLES, tmp_path / "copy.sqlite3", nobody)
    before = everything(running.database)
    with pytest.raises(InvalidValue, match="the database has rows in keys: restore into an empty one"):
        restore(running.database, TABLES, tmp_path / "copy.sqlite3", nobody)
    assert everything(running.database) == before


Damage = Callable[[Path], object]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda file: file.unlink(), "there is no file"),
        (lambda file: file.write_bytes(b""), "is no backup of sordino, or is damaged"),
        (lambda file: file.write_text("pg_dump"), "is no backup of sordino, or is damaged"),
        (lambda file: os.truncate(file, 8192), "damaged"),
        (lambda file: _overwrite(file, 4096 * 3), "damaged"),
        (lambda file: Path(f"{file}-wal").write_text("x"), "a database in use"),
        (lambda file: _execute(file, "UPDATE alembic_version SET version_num = '202611221440'"), "sordino db upgrade"),
        (
            lambda file: _execute(file, "UPDATE alembic_version SET version_num = '209901010000'"),
            "needs a newer version",
        ),
    ],
)
def test_what_is_no_whole_backup_of_this_version_is_refused(
    running: Any, tmp_path: Path, damage: Damage, words: str
) -> None:
    file = tmp_path / "copy.sqlite3"
    back_up(running.database, TABLES, file, nobody)
    damage(file)
    database = Database(f"sqlite:///{tmp_path}/new.sqlite3")
    with pytest.raises(InvalidValue, match=words):
        restore(database, TABLES, file, nobody)
    assert not database.exists


def test_where_a_backup_cannot_be_written(running: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "there").write_text("mine")
    for name, words in (("there", "is there already"), ("none/copy", "there is no folder")):
        with pytest.raises(InvalidValue, match=words):
            back_up(running.database, TABLES, tmp_path / name, nobody)
    assert (tmp_path / "there").read_text() == "mine"

    def full(_: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sordino_server.kit.backup._flush", full)
    with pytest.raises(BackupFailed, match="No space left on device; nothing was left behind"):
        back_up(running.database, TABLES, tmp_path / "copy", nobody)
    assert not [path for path in tmp_path.iterdir() if "backup" in path.name or path.name == "copy"]


def test_an_older_backup_is_upgraded_and_restored(tmp_path: Path) -> None:
    old = Database(f"sqlite:///{tmp_path}/old.sqlite3")
    migrations.upgrade(old, "202611232320")
    with closing(sqlite3.connect(tmp_path / "old.sqlite3")) as raw:
        raw.execute("INSERT INTO keys (id, name, role, secret_sha256, created_at) VALUES ('k', 'k', 'admin', '', 0)")
        raw.commit()
    old.close()
    copy = Database(f"sqlite:///{tmp_path}/old.sqlite3")
    migrations.upgrade(copy)
    copy.close()
    new = Database(f"sqlite:///{tmp_path}/new.sqlite3")
    restore(new, TABLES, tmp_path / "old.sqlite3", nobody)
    assert counts(new)["keys"] == 1


def _in_a_child(url: str, file: Path, point: int) -> bool:
    pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)[1] == 0
    try:
        with killed_before(point):
            restore(Database(url), TABLES, file, nobody)
    finally:
        os._exit(0)


def _overwrite(file: Path, offset: int) -> None:
    with file.open("r+b") as stream:
        stream.seek(offset)
        stream.write(b"\xff" * 4096)


def _execute(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file)) as raw:
        raw.execute(statement)
        raw.commit()
