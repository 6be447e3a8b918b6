"""Engines and stores that tests of every part share: SQLite files, and databases of a throw-away PostgreSQL cluster."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from sordino_server import models, rounds
from sordino_server.design.factorization import Objective
from sordino_server.design.planner import CompiledPlan, PlanRequest, compile_plan
from sordino_server.design.workloads import Workload, builtin, parse_specification
from sordino_server.kit import migrations
from sordino_server.kit.db import Database
from sordino_shared.domains import Categorical, Domain
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import Digest
from sordino_shared.protocol.plans import DevicePart
from sordino_shared.randomizers import AnyRandomizer, RandomizedResponse

EPOCH = 7
OPENED_AT = 1_800_000_000


def _binary(name: str) -> str:
    """A PostgreSQL program: the newest that Debian's packages install, else what PATH has."""
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    found = str(installed[-1]) if installed else shutil.which(name)
    if found is None:
        pytest.fail(f"{name} was not found: install PostgreSQL (Debian: apt-get install postgresql), tests need it")
    return found


def _as_ordinary_user(folder: Path) -> list[str]:
    """PostgreSQL refuses to run as root: give the folder to another user, and return the command that becomes it."""
    if os.geteuid() != 0:
        return []
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = "postgres" if "postgres" in names else "nobody"
    shutil.chown(folder, user=user)
    return ["runuser", "-u", user, "--"]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(frozen=True)
class PostgresCluster:
    """A running server that trusts every local connection; `url` names one of its databases."""

    port: int
    names: Iterator[int]

    def url(self, name: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    def create(self, template: str = "template1") -> str:
        """The URL of a new database, a copy of `template`."""
        name = f"test{next(self.names)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)

    def drop(self, url: str) -> None:
        """Drop the database, whoever is still connected."""
        self.execute(f"DROP DATABASE {url.rpartition('/')[2]} WITH (FORCE)")

    def execute(self, statement: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[PostgresCluster]:
    """A private cluster in a temporary folder; without fsync, since the machine's crash is not what tests test."""
    folder = Path(tempfile.mkdtemp(prefix="throwaway-postgres-"))
    prefix = _as_ordinary_user(folder)
    data, port = folder / "data", _free_port()
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=100"
    control = [*prefix, _binary("pg_ctl"), "-D", str(data), "-w", "-l", str(folder / "log")]
    initdb = [*prefix, _binary("initdb"), "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]
    try:
        subprocess.run(initdb, check=True, capture_output=True, cwd=folder)
        # Without a file of its own for its output, the server would keep this process's pipe open for ever.
        subprocess.run([*control, "-o", options, "start"], check=True, stdout=subprocess.DEVNULL, cwd=folder)
        yield PostgresCluster(port, count())
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], check=False, capture_output=True, cwd=folder)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def _postgres_template(postgres_cluster: PostgresCluster) -> str:
    """A database with all tables, to be copied: migrating one for every test would take most of the time."""
    url = postgres_cluster.create()
    database = Database(url)
    migrations.upgrade(database)
    database.close()
    return url.rpartition("/")[2]


@pytest.fixture
def postgres_url(postgres_cluster: PostgresCluster) -> Iterator[str]:
    """A new, empty PostgreSQL database."""
    url = postgres_cluster.create()
    yield url
    postgres_cluster.drop(url)


@pytest.fixture
def migrated_postgres_url(postgres_cluster: PostgresCluster, _postgres_template: str) -> Iterator[str]:
    """A new PostgreSQL database with all tables."""
    url = postgres_cluster.create(_postgres_template)
    yield url
    postgres_cluster.drop(url)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A SQLite file that does not exist yet."""
    return f"sqlite:///{tmp_path}/store.sqlite3"


@pytest.fixture
def migrated_sqlite_url(sqlite_url: str) -> str:
    """A SQLite file with all tables."""
    database = Database(sqlite_url)
    migrations.upgrade(database)
    database.close()
    return sqlite_url


@dataclass(frozen=True)
class StoredRound:
    """A campaign with one round in the database, and everything a report of it needs."""

    campaign: str
    id: int
    part: DevicePart
    epoch: int = EPOCH

    def report_id(self, number: int) -> bytes:
        """The report id that a test calls by a number."""
        return self.epoch.to_bytes(2, "big") + number.to_bytes(14, "big")

    def payloads(self, *cells: int) -> np.ndarray:
        """One payload a cell, said without noise: where outputs are cells, counts tell which reports were counted."""
        return np.array([[cell] for cell in cells], dtype=np.uint8)


def device_part(randomizer: AnyRandomizer, nano: int = 10**9) -> DevicePart:
    """A device part for values "0", "1", … of the randomizer's size."""
    labels = tuple(str(cell) for cell in range(randomizer.size))
    return DevicePart(Domain((Categorical("value", labels),)), PureEpsilon(nano), randomizer)


@pytest.fixture(scope="session")
def store_round() -> Callable[..., StoredRound]:
    """Puts a campaign with one open round into a database; by default with 200 values under randomised response."""
    names = count()

    def store(database: Database, randomizer: AnyRandomizer | None = None, state: str = "open") -> StoredRound:
        part = device_part(randomizer or RandomizedResponse.for_guarantee(200, PureEpsilon(10**9)))
        campaign = str(Digest.of(b"campaign %d" % next(names)))
        with database.write("test data") as session:
            if session.get(models.PlanPart, str(part.digest)) is None:
                session.add(
                    models.PlanPart(
                        digest=str(part.digest), document="device_part", content=part.content, created_at=OPENED_AT
                    )
                )
            session.add(
                models.Campaign(
                    id=campaign, name="test", population="all", manifest=b"", state="open", created_at=OPENED_AT
                )
            )
            session.flush()
            row = models.Round(
                campaign_id=campaign,
                index=0,
                device_digest=str(part.digest),
                analyst_digest=str(part.digest),
                epoch=EPOCH,
            )
            session.add(row)
            session.flush()
            if state != "pending":
                rounds.open_round(database, session, campaign, 0, OPENED_AT)
        return StoredRound(campaign, row.id, part)

    return store


@pytest.fixture(scope="session")
def plan_of() -> Callable[..., CompiledPlan]:
    """Compiles a plan for a built-in workload, or for rows of a matrix, once a session for equal arguments."""

    @cache
    def compiled(
        kind: str,
        size: int,
        epsilon: str = "1",
        objective: Objective = "max",
        mechanism: str | None = None,
        rows: tuple[tuple[float, ...], ...] = (),
        **options: Any,
    ) -> CompiledPlan:
        workload = _of_rows(rows) if kind == "matrix" else builtin(kind, size)
        return compile_plan(PlanRequest(workload, PureEpsilon.of(epsilon), objective, mechanism, **options))

    return compiled


def _of_rows(rows: tuple[tuple[float, ...], ...]) -> Workload:
    line = {"name": "value", "kind": "ordinal", "edges": [float(edge) for edge in range(1, len(rows[0]))]}
    queries = {"matrix": [list(row) for row in rows]}
    return parse_specification({"name": "rows", "domain": [line], "queries": queries}).build()
