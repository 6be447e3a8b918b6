"""`sordino db`: where the schema stands, and bringing it up to date."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from sordino_server.cli import processes
from tests.postgres import PostgresCluster

Run = Callable[..., Any]


def test_from_nothing_to_the_needed_revision(run_command: Run, json_of: Run, tmp_path: Path) -> None:
    assert json_of("db", "current")["current"] is None
    assert not (tmp_path / "sordino.sqlite3").exists()
    (tmp_path / "sordino.sqlite3").touch()
    assert json_of("db", "current")["current"] is None
    assert "has no tables yet" in run_command("db", "check", code=2).stderr
    upgraded = json_of("db", "upgrade")
    assert upgraded == {"before": None, "current": json_of("db", "current")["needed"]}
    assert json_of("db", "check")["current"] == upgraded["current"]
    assert json_of("db", "upgrade")["before"] == upgraded["current"]
    assert f"current: {upgraded['current']}" in run_command("db", "current").stdout


def test_back_to_an_earlier_version(run_command: Run, json_of: Run) -> None:
    head = json_of("db", "upgrade")["current"]
    assert json_of("db", "downgrade", "202611222036") == {"before": head, "current": "202611222036"}
    assert "needed: " + head in run_command("db", "current").stdout
    assert "stays as it is" in run_command("db", "downgrade", "1999", code=2).stderr
    assert json_of("db", "upgrade")["before"] == "202611222036"


def test_rows_go_with_a_downgrade_only_by_name(run_command: Run, json_of: Run, tmp_path: Path) -> None:
    head = json_of("db", "upgrade")["current"]
    with closing(sqlite3.connect(tmp_path / "sordino.sqlite3")) as database, database:
        database.execute("INSERT INTO archives (round_id, url, managed, created_at) VALUES (7, 'lake', 1, 7)")
        # A migration copies the audit log, whose keys are looked up.
        columns = "id, name, role, secret_sha256, created_at"
        database.execute(f"INSERT INTO keys ({columns}) VALUES ('k', 'k', 'admin', 'd', 7)")
        database.execute("INSERT INTO audit_log (key_id, action, path, created_at) VALUES ('k', 'x', '/', 7)")
    back = "202611221005"
    refusal = run_command("db", "downgrade", back, "--lose", "archives", code=2).stderr
    assert "drops rows of archives (1 row), audit_log (1 row)." in refusal.replace("\n", " ")
    assert "--lose archives,audit_log" in refusal
    assert "no such table" in run_command("db", "downgrade", back, "--lose", "audit", code=2).stderr
    assert json_of("db", "current")["current"] == head
    lost = json_of("db", "downgrade", back, "--lose", "archives, audit_log")
    assert lost == {"before": head, "current": back}


def test_a_command_in_the_wrong_folder_makes_no_database(run_command: Run, tmp_path: Path) -> None:
    for command in (
        ("db", "check"),
        ("db", "downgrade", "202611222036"),
        ("db", "purge", "--older-than-days", "1"),
        ("export", "forget", "lake"),
        ("export", "reports", "3f0c", "--to", "lake"),
        ("keys", "list"),
        ("serve", "--no-migrate", "--no-worker", "--port", "0"),
        ("worker",),
    ):
        assert "there is no database at" in run_command(*command, code=2).stderr, command
        assert not (tmp_path / "sordino.sqlite3").exists()


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


def test_a_database_that_starts_is_waited_for_and_a_wrong_password_is_not(
    run_command: Run, mortal_postgres: PostgresCluster, password_cluster: PostgresCluster, monkeypatch: Any
) -> None:
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 2:
            mortal_postgres.start()

    monkeypatch.setattr(processes, "sleep", sleep)
    url = mortal_postgres.url("postgres")
    mortal_postgres.kill()
    unavailable = run_command("db", "upgrade", code=2, SORDINO_DATABASE_URL=url)
    assert "nothing listens at the host and port" in " ".join(unavailable.stderr.split())
    assert not slept
    upgraded = run_command("db", "upgrade", "--wait", "600", SORDINO_DATABASE_URL=url)
    assert "before: no tables yet" in upgraded.stdout
    assert len(slept) >= 2
    slept.clear()
    wrong = f"postgresql://who:wrong@127.0.0.1:{password_cluster.port}/postgres"
    refused = run_command("db", "upgrade", "--wait", "600", code=2, SORDINO_DATABASE_URL=wrong)
    assert "refuses the user or the password" in " ".join(refused.stderr.split())
    assert not slept


def test_a_backup_is_written_and_restored_by_commands(run_command: Run, json_of: Run, tmp_path: Path) -> None:
    run_command("db", "upgrade")
    made = json_of("keys", "create", "--role", "admin", "--name", "me")
    said = run_command("db", "backup", "monday.sqlite3")
    assert re.match(r"wrote monday.sqlite3, [\d,]+ bytes\n", said.stdout)
    assert "is there already" in run_command("db", "backup", "monday.sqlite3", code=2).stderr
    written = json_of("db", "backup", "again.sqlite3")
    assert written == {"file": "again.sqlite3", "bytes": (tmp_path / "again.sqlite3").stat().st_size}
    refused = run_command("db", "restore", "monday.sqlite3", code=2).stderr
    assert "restore into an empty one" in " ".join(refused.split())
    new = {"SORDINO_DATABASE_URL": f"sqlite:///{tmp_path}/new.sqlite3"}
    restored = json_of("db", "restore", "monday.sqlite3", **new)
    # The key, and who made it.
    assert (restored["rows"], restored["tables"]["keys"], restored["tables"]["audit_log"]) == (2, 1, 1)
    assert json_of("keys", "list", **new)["keys"][0]["id"] == made["id"]
    run_command("db", "check", **new)
    run_command("db", "check", SORDINO_DATABASE_URL=f"sqlite:///{tmp_path}/again.sqlite3")
    assert "there is no file" in run_command("db", "restore", "none", code=2, **new).stderr
