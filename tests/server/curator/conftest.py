"""Datasets in a database of either engine, without a server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from sqlalchemy.orm import Session

from sordino_server.config import Settings
from sordino_server.datasets import service as datasets
from sordino_server.datasets.checking import check_dataset
from sordino_server.datasets.sealing import sealer_of
from sordino_server.jobs.worker import Worker
from sordino_server.kit.clock import ManualClock
from sordino_server.kit.db import Database
from sordino_server.kit.sealing import Sealer
from sordino_server.models import Dataset, Release
from sordino_server.releases import service as releases
from sordino_server.releases.schemas import ReleaseOrder
from sordino_server.workloads import service as workloads
from sordino_server.workloads.checking import check_workload

KEY = bytes(range(40, 72)).hex()
DOMAIN = [{"name": "delay", "kind": "ordinal", "edges": [0, 15, 60], "unit": "min"}]
WORKLOAD = {"name": "delays", "domain": DOMAIN, "queries": "prefix"}
COLUMNS = {"delay": [-5] * 40 + [5] * 30 + [30] * 20 + [90] * 10}


@dataclass(frozen=True, kw_only=True)
class Curator:
    """A database with a workload, and what an operator does with datasets."""

    database: Database
    clock: ManualClock
    settings: Settings
    workload: str

    @property
    def sealer(self) -> Sealer:
        return sealer_of(self.settings.dataset_key)

    def add(self, **terms: Any) -> Dataset:
        """A dataset of 100 flights with the terms given."""
        order = {"name": "flights", "domain": DOMAIN, "cap": {"rho": "0.05"}, "columns": COLUMNS} | terms
        checked = check_dataset(json.dumps(order).encode())
        return self.database.run("add", lambda session: datasets.add(session, checked, self.sealer, self.clock.now()))

    def request(self, dataset: str, key: str, rho: str | None = "0.02", epsilon: str | None = None) -> Release:
        """A release of the workload; under pure ε with `epsilon`."""
        order = ReleaseOrder(workload=self.workload, rho=None if epsilon else rho, epsilon=epsilon)

        def act(session: Session) -> Release:
            return releases.request(session, dataset, order, key, self.clock.now())[0]

        return self.database.run("request", act)

    def worker(self) -> Worker:
        """A worker that computes no plans of devices."""

        def compute(*_: Any) -> Any:
            raise AssertionError("nobody asked for a plan of devices")

        return Worker.of(self.database, self.clock, self.settings, compute)

    def work(self) -> None:
        """Do all the background work there is."""
        worker = self.worker()
        while worker.step():
            pass

    def release(self, identifier: str) -> Release:
        """The release as it is stored."""
        with self.database.read("test") as session:
            return releases.get(session, identifier)

    def spent(self, dataset: str) -> int:
        """Nano-ρ or nano-ε in the ledger."""
        with self.database.read("test") as session:
            return round(datasets.document(session, datasets.get(session, dataset)).cap.spent * 10**9)

    def elsewhere(self, **changes: Any) -> Curator:
        """The same database with other settings or another clock."""
        return replace(self, **changes)


@pytest.fixture(params=["sqlite", "postgres"])
def curator(request: pytest.FixtureRequest) -> Iterator[Curator]:
    """A curator on both engines."""
    with_database = request.getfixturevalue("curator_on")
    yield from with_database(request.getfixturevalue(f"migrated_{request.param}_url"))


@pytest.fixture
def curator_on() -> Callable[[str], Iterator[Curator]]:
    """Makes a curator on a migrated database."""

    def made(url: str) -> Iterator[Curator]:
        database, clock = Database(url), ManualClock()
        checked = check_workload(json.dumps(WORKLOAD).encode())
        registered = database.run("test", lambda session: workloads.register(session, checked, clock.now())[0].id)
        settings = Settings.model_validate({"dataset_key": KEY, "database_url": url})
        yield Curator(database=database, clock=clock, settings=settings, workload=registered)
        database.close()

    return made
