"""`sordino db`: where the schema stands, and bringing it up to date."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

Run = Callable[..., Any]


def test_from_nothing_to_the_needed_revision(run_command: Run, json_of: Run) -> None:
    assert json_of("db", "current")["current"] is None
    assert "sordino db upgrade" in run_command("db", "check", code=2).stderr.replace("\n", " ")
    upgraded = json_of("db", "upgrade")
    assert upgraded == {"before": None, "current": json_of("db", "current")["needed"]}
    assert json_of("db", "check")["current"] == upgraded["current"]
    assert json_of("db", "upgrade")["before"] == upgraded["current"]
    assert f"current: {upgraded['current']}" in run_command("db", "current").stdout


def test_databases_that_cannot_be_opened(run_command: Run, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("this is no database, it only has the name of one" * 100)
    for url in (f"sqlite:///{tmp_path}/no/such/folder/x", f"sqlite:///{tmp_path}/text", "oracle://x", "x"):
        assert "error:" in run_command("db", "check", code=2, SORDINO_DATABASE_URL=url).stderr


def test_a_backup_beside_the_log_of_another_state_is_found(run_command: Run, tmp_path: Path) -> None:
    run_command("db", "upgrade")
    with closing(sqlite3.connect(tmp_path / "sordino.sqlite3")) as server:
        for name in ("alone", "mixed"):
            with closing(sqlite3.connect(tmp_path / name)) as backup:
                server.backup(backup)
        server.executescript("CREATE TABLE blobs (content); INSERT INTO blobs VALUES (zeroblob(1000000))")
        server.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        server.executescript("INSERT INTO blobs VALUES (zeroblob(1000000))")
        # What a crash leaves behind.
        (tmp_path / "mixed-wal").write_bytes((tmp_path / "sordino.sqlite3-wal").read_bytes())
    run_command("db", "check")
    run_command("db", "check", SORDINO_DATABASE_URL=f"sqlite:///{tmp_path}/alone")
    error = run_command("db", "check", code=2, SORDINO_DATABASE_URL=f"sqlite:///{tmp_path}/mixed").stderr
    assert "delete its old -wal and -shm files (SQLite found: " in error.replace("\n", " ")
