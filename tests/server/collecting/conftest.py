"""A home and two collectors, each a running server with a database of its own; one clock for all."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_server import aggregates, rounds
from sordino_server.collecting.home import Home
from sordino_server.jobs.collector import Collector
from sordino_server.kit.outgoing import server_at
from sordino_shared.errors import NoAnswer
from sordino_shared.http.exchange import HttpAnswer, HttpRequest
from tests.server.campaigns.conftest import two_rounds
from tests.server.conftest import RunningServer, served

__all__ = ["two_rounds"]

LIMIT = 5000


class Cable:
    """The way to the home: `is_cut`, it leads nowhere; `before` hears of each request."""

    def __init__(self, home: str) -> None:
        self.is_cut = False
        self.before: Callable[[HttpRequest], None] = lambda request: None
        self._home = server_at(home)

    def exchange(self, request: HttpRequest) -> HttpAnswer:
        self.before(request)
        if self.is_cut:
            raise NoAnswer("the cable is cut")
        return self._home.exchange(request)


@dataclass
class Region:
    """A collector: its server, its way to the home and its keys there."""

    source: str
    server: RunningServer
    cable: Cable
    keys: list[str] = field(default_factory=list)

    def worker(self, home: str) -> Collector:
        """The background work of the collector, stepped by hand; it looks at the home at each step."""
        keys = {"aggregator_keys": SecretStr(",".join(self.keys)), "collect_every_s": 1e-9}
        settings = self.server.settings.model_copy(update=keys)
        return Collector.for_home(Home(home, self.cable), self.server.database, self.server.clock, settings)


@dataclass
class Regions:
    """Three servers of one campaign, of which `home` decides."""

    home: RunningServer
    collectors: dict[str, Region]

    def campaign(self, *actions: str, **terms: Any) -> dict[str, Any]:
        """A campaign of the three servers, each collector with its key."""
        servers = [{"name": "de", "urls": [self.home.address]}]
        servers += [{"name": name, "urls": [each.server.address]} for name, each in self.collectors.items()]
        order: dict[str, Any] = {"name": "delays", "purpose": "We ask how late you were.", "population": "travellers"}
        order |= {"servers": servers} | terms
        order.setdefault("plan_request", None)
        order["plan_request"] = order["plan_request"] or self.home.ready_plan()["id"]
        status: dict[str, Any] = self.home.api.post("/v1/campaigns", json=order).raise_for_status().json()
        for name, region in self.collectors.items():
            region.keys.append(self.key(status["id"], name))
        for action in actions:
            status = self.home.api.post(f"/v1/campaigns/{status['id']}/{action}").raise_for_status().json()
        return status

    def key(self, campaign: str, source: str, limit: int = LIMIT) -> str:
        """A key of a source."""
        order = {"name": source, "role": "aggregator", "campaign": campaign, "source": source, "max_reports": limit}
        return str(self.home.api.post("/v1/keys", json=order).raise_for_status().json()["key"])

    def work(self) -> None:
        """Let collectors do all there is, then the home."""
        for region in self.collectors.values():
            self.work_of(region)
        self.home.work()

    def work_of(self, region: Region) -> None:
        """Let one collector do all there is."""
        worker = region.worker(self.home.address)
        while worker.step():
            pass

    def shown(self, campaign: dict[str, Any], server: RunningServer | None = None) -> dict[str, Any]:
        """The campaign's status, at the home or at another server."""
        path = f"/v1/campaigns/{campaign['id']}/status"
        status: dict[str, Any] = (server or self.home).api.get(path).raise_for_status().json()
        return status

    def sums(self, campaign: dict[str, Any], index: int = 0) -> Aggregate:
        """What the home has of a round, everything together."""
        with self.home.database.read() as session:
            row = rounds.find(session, campaign["id"], index)
        part = self.home.device_part(campaign, index)
        return aggregates.aggregate(self.home.database, row.id, part.randomizer)


@pytest.fixture
def regions(request: pytest.FixtureRequest, sqlite_template: Path, tmp_path: Path) -> Iterator[Regions]:
    """The home and collectors `eu` and `us`; each on SQLite, or on PostgreSQL where a test names it as parameter."""

    def files() -> Iterator[str]:
        for number in count():
            shutil.copy(sqlite_template, tmp_path / f"{number}.sqlite3")
            yield f"sqlite:///{tmp_path}/{number}.sqlite3"

    on_postgres = getattr(request, "param", "sqlite") == "postgres"
    urls = request.getfixturevalue("migrated_postgres_urls") if on_postgres else files()
    with ExitStack() as open_ones:
        home = open_ones.enter_context(served(next(urls)))
        collectors = {}
        for source in ("eu", "us"):
            settings = {"collect_for": home.address, "source": source, "aggregator_keys": SecretStr("later")}
            server = open_ones.enter_context(served(next(urls), home.clock, **settings))
            collectors[source] = Region(source, server, Cable(home.address))
        yield Regions(home, collectors)
