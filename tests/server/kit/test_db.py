"""Transactions, URLs and what driver errors mean, on real engines that really fail."""

from __future__ import annotations

import os
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from sordino_server.kit.database_errors import (
    DatabaseBusy,
    DatabaseCorrupted,
    DatabaseReadOnly,
    DatabaseUnavailable,
    SchemaMismatch,
    StorageFull,
    TransactionConflict,
)
from sordino_server.kit.db import Database, database_url
from sordino_server.kit.logs import configure_logs
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Problem
from tests.patience import PATIENCE_S


@pytest.fixture(params=["sqlite", "postgres", "older_postgres"])
def url(request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    database = Database(url)
    with database.write("create") as session:
        session.execute(text("CREATE TABLE numbers (name TEXT PRIMARY KEY, value INTEGER NOT NULL)"))
        session.execute(text("INSERT INTO numbers VALUES ('a', 0), ('b', 0)"))
    yield database
    database.close()


@pytest.fixture
def sqlite(sqlite_url: str) -> Iterator[Database]:
    database = Database(sqlite_url, busy_timeout_s=0.2)
    with database.write("create") as session:
        session.execute(text("CREATE TABLE blobs (content BLOB)"))
    yield database
    database.close()


def values(database: Database) -> dict[str, int]:
    with database.read() as session:
        return {row.name: row.value for row in session.execute(text("SELECT name, value FROM numbers"))}


def add_one(session, name: str = "a") -> None:
    session.execute(text("UPDATE numbers SET value = value + 1 WHERE name = :name"), {"name": name})


class TestTransactions:
    def test_a_block_that_ends_is_committed_and_one_that_raises_is_not(self, database):
        with database.write("first") as session:
            add_one(session)

        def break_off() -> None:
            with database.write("second") as session:
                add_one(session)
                raise KeyError

        with pytest.raises(KeyError):
            break_off()
        assert values(database) == {"a": 1, "b": 0}

    @pytest.mark.parametrize(
        ("statement", "text_of_error"),
        [
            ("INSERT INTO numbers VALUES (:name, 1), (:name, 2)", "numbers"),
            ("INSERT INTO numbers VALUES (:name, NULL)", "value"),
        ],
    )
    def test_an_insert_that_fails_does_not_log_its_values(self, database, capsys, statement, text_of_error):
        configure_logs("info", "text")
        value = "-".join(["report", "of", "somebody"])  # in parts, since a traceback quotes lines of the source

        def insert() -> None:
            with database.write("insert") as session:
                session.execute(text(statement), {"name": value})

        with pytest.raises(IntegrityError) as caught:
            insert()
        structlog.get_logger().error("bug", exc_info=caught.value)
        logged = capsys.readouterr().err
        assert text_of_error in logged
        assert "INSERT INTO numbers" in logged
        assert value not in logged

    def test_a_read_keeps_nothing(self, database):
        if database.is_sqlite:
            with database.read() as session:
                add_one(session)
        else:
            with pytest.raises(DatabaseReadOnly), database.read() as session:
                add_one(session)
        assert values(database) == {"a": 0, "b": 0}

    def test_a_read_is_one_snapshot(self, database):
        with database.read() as session:
            before = session.scalar(text("SELECT value FROM numbers WHERE name = 'a'"))
            with database.write("meanwhile") as other:
                add_one(other)
            assert session.scalar(text("SELECT value FROM numbers WHERE name = 'a'")) == before
        assert values(database)["a"] == 1

    def test_read_then_write_loses_no_update(self, database):
        """Sixteen threads read a number and write it back one larger."""

        def work(session) -> None:
            database.lock(session, 1, 1)
            current = session.scalar(text("SELECT value FROM numbers WHERE name = 'a'"))
            session.execute(text("UPDATE numbers SET value = :value WHERE name = 'a'"), {"value": current + 1})

        threads = [threading.Thread(target=database.run, args=("count", work)) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert values(database)["a"] == 16

    def test_a_deadlock_is_broken_and_both_transactions_finish(self, database):
        together = threading.Barrier(2, timeout=PATIENCE_S)

        def cross(first: str, second: str) -> None:
            attempts = []

            def work(session) -> None:
                add_one(session, first)
                if not attempts and not database.is_sqlite:
                    attempts.append(1)
                    together.wait()
                add_one(session, second)

            database.run("cross", work)

        threads = [threading.Thread(target=cross, args=names) for names in (("a", "b"), ("b", "a"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert values(database) == {"a": 2, "b": 2}

    def test_a_transaction_that_lost_against_others_is_run_again(self, postgres_url):
        """Without serializable isolation nothing conflicts; the first attempts ask for it, and read under it."""
        database = Database(postgres_url)
        with database.write("create") as session:
            session.execute(text("CREATE TABLE numbers (name TEXT PRIMARY KEY, value INTEGER NOT NULL)"))
            session.execute(text("INSERT INTO numbers VALUES ('a', 0)"))
        attempts = []

        def work(session) -> None:
            attempts.append(1)
            session.execute(text("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"))
            value = session.scalar(text("SELECT value FROM numbers WHERE name = 'a'"))
            if len(attempts) <= 2:
                with database.write("meanwhile") as other:
                    add_one(other)
            session.execute(text("UPDATE numbers SET value = :value WHERE name = 'a'"), {"value": value + 10})

        database.run("count", work)
        assert len(attempts) == 3
        assert values(database) == {"a": 12}
        database.close()

    def test_what_a_lock_was_waited_for_is_seen_whatever_the_servers_default(self, postgres_url, postgres_cluster):
        """Under a snapshot from before the wait, reports would go into rounds that were closed meanwhile."""
        name = postgres_url.rpartition("/")[2]
        postgres_cluster.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")
        database = Database(postgres_url)
        with database.write("create") as session:
            session.execute(text("CREATE TABLE numbers (name TEXT PRIMARY KEY, value INTEGER NOT NULL)"))
            session.execute(text("INSERT INTO numbers VALUES ('a', 0)"))
        seen = []

        def wait_and_read() -> None:
            with database.write("second") as session:
                session.execute(text("SELECT 1"))
                begun.set()
                database.lock(session, 1, 7)
                seen.append(session.scalar(text("SELECT value FROM numbers")))

        begun, thread = threading.Event(), threading.Thread(target=wait_and_read)
        with database.write("first") as session:
            database.lock(session, 1, 7)
            thread.start()
            assert begun.wait(PATIENCE_S)
            add_one(session)
        thread.join()
        assert seen == [1]
        database.close()

    def test_an_exclusive_lock_is_not_starved_by_overlapping_shared_ones(self, postgres_url):
        database = Database(postgres_url)
        stop, holding = threading.Event(), threading.Semaphore(0)

        def share() -> None:
            while not stop.is_set():
                with database.write("share") as session:
                    database.lock(session, 1, 7, shared=True)
                    holding.release()
                    session.execute(text("SELECT pg_sleep(0.02)"))

        threads = [threading.Thread(target=share) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            assert all(holding.acquire(timeout=PATIENCE_S) for _ in range(8))
            with database.write("exclusive") as session:
                session.execute(text("SET LOCAL lock_timeout = '60s'"))
                database.lock(session, 1, 7)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
            database.close()

    def test_a_conflict_that_stays_is_told_after_the_last_attempt(self, database, monkeypatch):
        monkeypatch.setattr("sordino_server.kit.db._PAUSE_S", 0)
        attempts = []

        def work(_: object) -> None:
            attempts.append(1)
            raise TransactionConflict("again")

        with pytest.raises(TransactionConflict):
            database.run("conflict", work)
        assert len(attempts) == 5


class TestUrls:
    def test_drivers_are_named(self):
        assert database_url("postgres://u@h/n").drivername == "postgresql+psycopg"
        assert database_url("postgresql://u@h/n").drivername == "postgresql+psycopg"
        assert database_url("sqlite:///x.sqlite3").drivername == "sqlite"

    @pytest.mark.parametrize(
        "url", ["", "nonsense", "mysql://h/n", "sqlite://", "sqlite:///:memory:", "postgresql+asyncpg://h/n"]
    )
    def test_others_are_refused(self, url):
        with pytest.raises(InvalidValue):
            Database(url)


class TestSqlite:
    def test_commits_survive_a_power_cut(self, sqlite):
        with sqlite.read() as session:
            assert session.scalar(text("PRAGMA journal_mode")) == "wal"
            assert session.scalar(text("PRAGMA synchronous")) == 2
            assert session.scalar(text("PRAGMA foreign_keys")) == 1

    def test_a_lock_that_stays_is_busy(self, sqlite):
        other = sqlite3.connect(sqlite.url.database, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseBusy) as caught, sqlite.write("blocked"):
            pass
        assert caught.value.problem is Problem.UNAVAILABLE
        assert caught.value.transaction == "blocked"
        with sqlite.read() as session:
            assert session.scalar(text("SELECT COUNT(*) FROM blobs")) == 0
        other.execute("ROLLBACK")
        with sqlite.write("free") as session:
            session.execute(text("INSERT INTO blobs VALUES (x'00')"))

    def test_a_full_disk_is_storage_full_and_room_makes_it_work_again(self, sqlite):
        with sqlite.write("limit") as session:
            pages = session.scalar(text("PRAGMA page_count"))
        # The limit belongs to a connection; the pool hands out the same one as long as only one is in use.
        with sqlite.read() as session:
            session.execute(text(f"PRAGMA max_page_count = {pages}"))
        with pytest.raises(StorageFull) as caught, sqlite.write("too much") as session:
            session.execute(text("INSERT INTO blobs VALUES (zeroblob(100000))"))
        assert caught.value.problem is Problem.STORAGE_FULL
        with sqlite.read() as session:
            session.execute(text("PRAGMA max_page_count = 1000000"))
        with sqlite.write("room") as session:
            session.execute(text("INSERT INTO blobs VALUES (zeroblob(100000))"))

    def test_a_file_that_is_no_database_is_said_to_be_damaged(self, tmp_path):
        (tmp_path / "x.sqlite3").write_bytes(b"this is not a database" * 100)
        database = Database(f"sqlite:///{tmp_path}/x.sqlite3")
        with pytest.raises(DatabaseCorrupted):
            database.check()

    def test_a_page_that_was_overwritten_is_said_to_be_damaged(self, sqlite):
        with sqlite.write("fill") as session:
            session.execute(text("INSERT INTO blobs VALUES (zeroblob(100000))"))
        sqlite.close()
        path = Path(sqlite.url.database)
        content = bytearray(path.read_bytes())
        content[4096:8192] = b"\xff" * 4096
        path.write_bytes(content)
        with pytest.raises(DatabaseCorrupted), sqlite.read() as session:
            session.execute(text("SELECT content FROM blobs")).all()
        with pytest.raises(DatabaseCorrupted):
            sqlite.check_pages()

    def test_a_folder_that_does_not_exist_is_named_as_the_cause(self, tmp_path):
        with pytest.raises(DatabaseUnavailable, match="folder"):
            Database(f"sqlite:///{tmp_path}/nowhere/x.sqlite3").check()

    def test_a_connection_that_may_only_read_is_read_only(self, sqlite):
        with sqlite.read() as session:
            session.execute(text("PRAGMA query_only = ON"))
        with pytest.raises(DatabaseReadOnly), sqlite.write("refused") as session:
            session.execute(text("INSERT INTO blobs VALUES (x'00')"))

    def test_missing_tables_are_a_matter_of_migration(self, sqlite):
        with pytest.raises(SchemaMismatch, match="sordino db upgrade"), sqlite.read() as session:
            session.execute(text("SELECT * FROM absent"))

    def test_several_processes_write_to_one_file(self, sqlite):
        code = (
            "import sys; from sqlalchemy import text; from sordino_server.kit.db import Database\n"
            "database = Database(sys.argv[1])\n"
            "for _ in range(50):\n"
            "    with database.write('insert') as session:\n"
            "        session.execute(text(\"INSERT INTO blobs VALUES (x'00')\"))\n"
        )
        command = [sys.executable, "-c", code, f"sqlite:///{sqlite.url.database}"]
        processes = [subprocess.Popen(command) for _ in range(2)]
        assert [process.wait(PATIENCE_S) for process in processes] == [0, 0]
        with sqlite.read() as session:
            assert session.scalar(text("SELECT COUNT(*) FROM blobs")) == 100


class TestPostgres:
    def test_a_server_that_is_not_there_is_unavailable(self):
        database = Database("postgresql://postgres@127.0.0.1:1/none")
        with pytest.raises(DatabaseUnavailable):
            database.check()

    def test_a_server_that_accepts_and_never_answers_is_unavailable(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            database = Database(f"postgresql://x@127.0.0.1:{silent.getsockname()[1]}/x", busy_timeout_s=2)
            with pytest.raises(DatabaseUnavailable):
                database.check()

    def test_a_host_that_vanished_is_noticed_unless_the_url_says_otherwise(self, postgres_url):
        database = Database(f"{postgres_url}?keepalives_idle=77")
        with database.read() as session:
            asked = session.connection().connection.dbapi_connection.info.get_parameters()
        database.close()
        assert (asked["keepalives_idle"], asked["keepalives_count"], asked["tcp_user_timeout"]) == ("77", "3", "30000")

    @pytest.mark.parametrize(("default", "used"), [("off", "on"), ("on", "on"), ("remote_apply", "remote_apply")])
    def test_commits_survive_a_power_cut_whatever_the_servers_default(
        self, postgres_url, postgres_cluster, default, used
    ):
        name = postgres_url.rpartition("/")[2]
        postgres_cluster.execute(f"ALTER DATABASE {name} SET synchronous_commit = '{default}'")
        database = Database(postgres_url)
        for _ in range(2):
            with database.write("ask") as session:
                assert session.scalar(text("SHOW synchronous_commit")) == used
        database.close()

    def test_a_database_that_is_not_there_is_unavailable(self, postgres_cluster):
        with pytest.raises(DatabaseUnavailable):
            Database(postgres_cluster.url("nowhere")).check()

    def test_a_connection_that_is_cut_is_unavailable_and_the_next_one_works(self, postgres_url, postgres_cluster):
        database = Database(postgres_url)

        def work(session) -> None:
            process = session.scalar(text("SELECT pg_backend_pid()"))
            postgres_cluster.execute(f"SELECT pg_terminate_backend({process})")
            session.execute(text("SELECT 1"))

        with pytest.raises(DatabaseUnavailable):
            database.run("cut", work)
        database.check()
        database.close()

    def test_missing_tables_are_a_matter_of_migration(self, postgres_url):
        database = Database(postgres_url)
        with pytest.raises(SchemaMismatch), database.read() as session:
            session.execute(text("SELECT * FROM absent"))
        database.close()

    def test_connections_that_are_all_in_use_are_busy(self, postgres_url):
        database = Database(postgres_url, connections=1, busy_timeout_s=0.2)
        with database.write("first"), pytest.raises(DatabaseBusy):
            database.check()
        database.close()


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o027])
def test_the_files_of_a_new_database_are_their_owners_alone(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        database = Database(f"sqlite:///{tmp_path}/new.sqlite3")
        with database.write("make") as session:
            session.execute(text("CREATE TABLE t (x INTEGER)"))
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
        database.close()
    finally:
        os.umask(before)
    assert modes == {"new.sqlite3": 0o600, "new.sqlite3-wal": 0o600, "new.sqlite3-shm": 0o600}


def test_a_file_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "shared.sqlite3"
    file.touch()
    file.chmod(0o660)
    database = Database(f"sqlite:///{file}")
    database.check()
    database.close()
    assert stat.S_IMODE(file.stat().st_mode) == 0o660
