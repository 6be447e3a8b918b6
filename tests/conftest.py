"""Engines and stores that tests of every part share: SQLite files, and databases of a throw-away PostgreSQL cluster."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import numpy as np
import psycopg
import pytest

from sordino_analysis.optimisation.factorization import Objective
from sordino_analysis.planning.planner import CompiledPlan, PlanRequest, compile_plan
from sordino_analysis.questions.linear import Workload, builtin, parse_specification
from sordino_server import aggregates, models, rounds
from sordino_server.kit import migrations
from sordino_server.kit.db import Database
from sordino_server.reports import Upload
from sordino_shared.domains import Categorical, Domain
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import Digest, ReportBatch
from sordino_shared.protocol.plans import DevicePart
from sordino_shared.randomizers import AnyRandomizer, RandomizedResponse
from sordino_shared.randomizers.base import pack_indices

EPOCH = 7
OPENED_AT = 1_800_000_000
BUCKETS = 10_000


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
    user: list[str]
    names: Iterator[int]

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

    def start(self) -> None:
        """Return when it takes connections; without fsync, since the machine's crash is not what tests test."""
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=100"
        # Without a file of its own for its output, the server would keep this process's pipe open for ever.
        subprocess.run([*self._control(), "-o", options, "start"], check=True, stdout=DEVNULL, cwd=self.folder)

    def kill(self) -> None:
        """SIGKILL the server and return when its last process is gone."""
        locks = [self._lock_file(), *self.folder.glob(".s.PGSQL.*.lock")]
        processes = self._stopped()
        os.kill(processes[0], signal.SIGKILL)
        deadline = time.monotonic() + 30
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
        for child in processes[1:]:
            os.kill(child, signal.SIGSTOP)
        try:
            yield
        finally:
            for process in processes:
                os.kill(process, signal.SIGCONT)

    def _lock_file(self) -> Path:
        return self.folder / "data" / "postmaster.pid"

    def _stopped(self) -> list[int]:
        """Stop the first process and return it with the others: it starts no further one, so that all are known."""
        first = int(self._lock_file().read_text().splitlines()[0])
        os.kill(first, signal.SIGSTOP)
        return [first, *map(int, Path(f"/proc/{first}/task/{first}/children").read_text().split())]

    def stop(self) -> None:
        subprocess.run([*self._control(), "-m", "immediate", "stop"], check=False, capture_output=True, cwd=self.folder)

    def _control(self) -> list[str]:
        data, log = self.folder / "data", self.folder / "log"
        return [*self.user, _binary("pg_ctl"), "-D", str(data), "-w", "-l", str(log)]


@contextmanager
def _cluster() -> Iterator[PostgresCluster]:
    folder = Path(tempfile.mkdtemp(prefix="throwaway-postgres-"))
    cluster = PostgresCluster(folder, _free_port(), _as_ordinary_user(folder), count())
    data = str(folder / "data")
    initdb = [*cluster.user, _binary("initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]
    try:
        subprocess.run(initdb, check=True, capture_output=True, cwd=folder)
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[PostgresCluster]:
    """A private cluster in a temporary folder, for all tests that leave it running."""
    with _cluster() as cluster:
        yield cluster


@pytest.fixture
def mortal_postgres() -> Iterator[PostgresCluster]:
    """A cluster of one test's own, which may kill it."""
    with _cluster() as cluster:
        yield cluster


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

    def upload(self, ids: Sequence[bytes], payloads: np.ndarray, digest: Digest | None = None) -> Upload:
        """Reports of this round; with a digest, as if they were made with that device part."""
        return Upload(self.campaign, 0, ReportBatch(digest or self.part.digest, b"".join(ids), payloads.tobytes()))


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


class Buckets:
    """A round with a bucket of its own for every report: report n says cell n, unless told otherwise.

    A count above one is a replay that counted, nought is a loss.
    """

    def __init__(self, database: Database, store_round: Callable[..., StoredRound]) -> None:
        self._stored = store_round(database, RandomizedResponse.for_guarantee(BUCKETS, PureEpsilon(10**9)))
        self.campaign = self._stored.campaign
        self.path = f"/v1/campaigns/{self.campaign}/rounds/0/reports"

    def upload(self, numbers: Iterable[int], shift: int = 0) -> Upload:
        """The reports of these numbers; with a shift, their ids under other bytes."""
        ids, payloads = self._reports(list(numbers), shift)
        return self._stored.upload(ids, payloads)

    def body(self, numbers: Iterable[int], shift: int = 0) -> bytes:
        """The same reports as the body of a request."""
        ids, payloads = self._reports(list(numbers), shift)
        return ReportBatch(self._stored.part.digest, b"".join(ids), payloads.tobytes()).content

    def _reports(self, numbers: list[int], shift: int) -> tuple[list[bytes], np.ndarray]:
        ids = [self._stored.report_id(number) for number in numbers]
        return ids, pack_indices((np.array(numbers) + shift) % BUCKETS, 2)

    def counts(self, database: Database) -> dict[int, int]:
        """Count by bucket that is not empty; shares and log must agree."""
        randomizer = self._stored.part.randomizer
        total = aggregates.aggregate(database, self._stored.id, randomizer)
        logged = aggregates.re_aggregate(database, self._stored.id, randomizer, total.count)
        assert logged.sums.tobytes() == total.sums.tobytes()
        assert total.count == int(total.sums.sum())
        return {int(cell): int(total.sums[cell]) for cell in np.flatnonzero(total.sums)}

    def arguments(self) -> list[str]:
        """What another process needs to send the same uploads."""
        return [self.campaign, str(self._stored.part.digest), str(self._stored.epoch)]


@pytest.fixture(scope="session")
def buckets(store_round: Callable[..., StoredRound]) -> Callable[[Database], Buckets]:
    """Puts a campaign with one open round of buckets into a database."""
    return lambda database: Buckets(database, store_round)


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
