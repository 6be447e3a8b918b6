"""Engines and stores that tests of every part share: SQLite files here, PostgreSQL in `postgres.py`."""

from __future__ import annotations

import logging
import os
import shutil
import ssl
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

# As for `make test` and the commands: two threads at matrices this small take ten times the processor of one. Read when
# numpy is imported, here and by worker processes.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
import structlog
from hypothesis import HealthCheck, settings

from sordino_analysis.planning.planner import CompiledPlan, PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import Workload, builtin, parse_specification
from sordino_analysis.request_terms import Effort, Objective
from sordino_analysis.vectorized.payloads import pack_indices
from sordino_server import aggregates, models, rounds
from sordino_server.kit import migrations
from sordino_server.kit.db import Database
from sordino_server.reports import Upload
from sordino_shared.domains import Categorical, Domain
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import Digest, EveryRound, Manifest, PlanReference, ReportBatch, RoundTerms
from sordino_shared.protocol.plans import DevicePart
from sordino_shared.randomizers import AnyRandomizer, RandomizedResponse
from tests import warm_commands

# An example may wait for a processor as long as a machine with other work lets it.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

pytest_plugins = [
    "pytester",
    "tests.light_collection",
    "tests.compiled_statements",
    "tests.kept_plans",
    "tests.processor_time",
    "tests.longest_first",
    "tests.postgres",
]

EPOCH = 7
OPENED_AT = 1_800_000_000
BUCKETS = 10_000


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    """Undo what a test configures: the standard error that it logs to is closed when it ends.

    The server's handler of other libraries' lines would print to standard output without the configuration.
    """
    before, handlers = structlog.get_config(), list(logging.getLogger().handlers)
    yield
    structlog.configure(**before)
    for handler in [each for each in logging.getLogger().handlers if each not in handlers]:
        logging.getLogger().removeHandler(handler)


@pytest.fixture(autouse=True, scope="session")
def _certificates_read_once() -> Iterator[None]:
    """Every HTTP client reads all authorities' certificates, which takes longer than to start a server for a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", cache(ssl.create_default_context))
        yield


@pytest.fixture(autouse=True, scope="session")
def _commands_imported_once() -> Iterator[None]:
    """Most commands take longer to import than to do what a test asks of them."""
    with warm_commands.started():
        yield


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A SQLite file that does not exist yet."""
    return f"sqlite:///{tmp_path}/sordino.sqlite3"


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with all tables, to be copied: migrating one for every test would take most of the time."""
    path = tmp_path_factory.mktemp("template") / "template.sqlite3"
    database = Database(f"sqlite:///{path}")
    migrations.upgrade(database)
    database.close()
    return path


@pytest.fixture
def migrated_sqlite_url(sqlite_template: Path, sqlite_url: str) -> str:
    """A SQLite file with all tables."""
    shutil.copy(sqlite_template, sqlite_url.removeprefix("sqlite:///"))
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


def _manifest(part: DevicePart, name: str) -> Manifest:
    """A campaign of one round."""
    return Manifest(
        name=name,
        purpose="A test.",
        population="all",
        created_at=OPENED_AT,
        domain=part.domain,
        device_guarantee=part.guarantee,
        rounds=(RoundTerms(part.guarantee, PlanReference(part.digest, part.digest)),),
        assignment=EveryRound(),
    )


@pytest.fixture(scope="session")
def store_round() -> Callable[..., StoredRound]:
    """Puts a campaign with one open round into a database; by default with 200 values under randomised response."""
    names = count()

    def store(database: Database, randomizer: AnyRandomizer | None = None, state: str = "open") -> StoredRound:
        part = device_part(randomizer or RandomizedResponse.for_guarantee(200, PureEpsilon(10**9)))
        manifest = _manifest(part, f"test {next(names)}")
        campaign = str(manifest.campaign)
        with database.write("test data") as session:
            if session.get(models.PlanPart, str(part.digest)) is None:
                session.add(
                    models.PlanPart(
                        digest=str(part.digest), document="device_part", content=part.content, created_at=OPENED_AT
                    )
                )
            session.add(
                models.Campaign(
                    id=campaign,
                    name=manifest.name,
                    kind="linear",
                    population=manifest.population,
                    manifest=manifest.content,
                    state="open",
                    created_at=OPENED_AT,
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
    """Compiles a plan for a built-in workload, or for rows of a matrix, once a session for equal arguments.

    With quick effort unless told otherwise: bounds take a third of the time, and most mechanisms are the same.
    """

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
        options = {"effort": Effort.QUICK} | options
        return compile_plan(
            PlanRequest(
                workload, PlanningOptions.of(epsilon=epsilon, objective=objective, mechanism=mechanism, **options)
            )
        )

    return compiled


def _of_rows(rows: tuple[tuple[float, ...], ...]) -> Workload:
    line = {"name": "value", "kind": "ordinal", "edges": [float(edge) for edge in range(1, len(rows[0]))]}
    queries = {"matrix": [list(row) for row in rows]}
    return parse_specification({"name": "rows", "domain": [line], "queries": queries}).build()
