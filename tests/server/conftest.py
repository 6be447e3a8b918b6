"""A running server on a loopback port, whose clock stands still and whose worker moves when a test says so."""

from __future__ import annotations

import asyncio
import pickle
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx
import numpy as np
import pytest
import uvicorn
from fastapi import FastAPI
from pydantic import SecretStr

from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_server.config import Settings
from sordino_server.jobs.worker import ComputePlan, Worker
from sordino_server.keys import service as keys
from sordino_server.kit.clock import ManualClock
from sordino_server.kit.db import Database
from sordino_server.kit.logs import configure_logs
from sordino_server.models import Role
from sordino_server.serving.app import create_app
from sordino_server.work.forked_process import _result
from sordino_server.work.work_call import WorkCall, _outcome
from sordino_server.work.work_queue import CHECKS, WorkQueue
from sordino_shared.protocol import (
    CBOR_MEDIA_TYPE,
    PROBLEM_MEDIA_TYPE,
    DevicePart,
    Problem,
    ReportBatch,
    Task,
)
from tests.kept_plans import computed_once
from tests.patience import PATIENCE_S

DATASET_KEY = bytes(range(7, 39)).hex()
WORKLOAD = {
    "name": "delays",
    "domain": [{"name": "delay", "kind": "ordinal", "edges": [0, 15, 60], "unit": "min"}],
    "queries": "prefix",
}


@dataclass
class RunningServer:
    """A server and what a test needs to drive it: `api` asks with an admin's key, `anonymous` as a device does."""

    address: str
    database: Database
    clock: ManualClock
    settings: Settings
    admin_key: str
    api: httpx.Client
    anonymous: httpx.Client
    compute: ComputePlan
    app: FastAPI

    def key(self, role: Role) -> str:
        """A new key of `role`."""
        with self.database.write("test key") as session:
            return keys.create(session, "test", role, self.clock.now()).text

    def client(self, key: str) -> httpx.Client:
        """A client that asks with `key`."""
        return httpx.Client(base_url=self.address, headers={"Authorization": f"Bearer {key}"}, timeout=PATIENCE_S)

    def worker(self) -> Worker:
        """A worker that a test steps by hand."""
        return Worker.of(self.database, self.clock, self.settings, lambda *told: self.compute(*told))

    def work(self) -> None:
        """Do all the background work there is."""
        worker = self.worker()
        while worker.step():
            pass

    def workload(self, specification: dict[str, Any] = WORKLOAD) -> str:
        """Id of a registered workload."""
        return str(self.api.post("/v1/workloads", json=specification).raise_for_status().json()["id"])

    def plan_request(self, **order: Any) -> dict[str, Any]:
        """A request for a plan, not computed yet."""
        asked = {"workload": self.workload(), "epsilon": 1, "mechanism": "randomized_response"} | order
        document: dict[str, Any] = self.api.post("/v1/plan-requests", json=asked).raise_for_status().json()
        return document

    def ready_plan(self, **order: Any) -> dict[str, Any]:
        """A plan request whose plan is computed."""
        identifier = self.plan_request(**order)["id"]
        self.work()
        document: dict[str, Any] = self.api.get(f"/v1/plan-requests/{identifier}").raise_for_status().json()
        assert document["state"] == "ready", document
        return document

    def campaign(self, *actions: str, name: str = "delays", **order: Any) -> dict[str, Any]:
        """A campaign after the lifecycle actions given."""
        terms = {"name": name, "purpose": "We ask how late you were.", "population": "travellers"}
        terms["plan_request"] = self.ready_plan(**order)["id"]
        status: dict[str, Any] = self.api.post("/v1/campaigns", json=terms).raise_for_status().json()
        for action in actions:
            status = self.api.post(f"/v1/campaigns/{status['id']}/{action}").raise_for_status().json()
        return status

    def device_part(self, campaign: dict[str, Any], index: int = 0) -> DevicePart:
        """The device part of a round of the campaign, as a device gets it."""
        path = f"/v1/campaigns/{campaign['id']}/task"
        digest = Task.read(self.anonymous.get(path).raise_for_status().content).device_parts[index]
        content = self.anonymous.get(f"/v1/plans/{digest}").raise_for_status().content
        return DevicePart.read(content, digest)

    def report(self, campaign: dict[str, Any], cells: list[int], seed: int = 1, index: int = 0) -> httpx.Response:
        """Reports of devices that hold `cells`, in one request."""
        path = f"/v1/campaigns/{campaign['id']}"
        epoch = Task.read(self.anonymous.get(f"{path}/task").raise_for_status().content).epoch
        part, randomness = self.device_part(campaign, index), SeededRandomness(seed)
        payloads = randomize_many(part.randomizer, np.array(cells), randomness)
        ids = b"".join(epoch.to_bytes(2, "big") + randomness.bytes(14) for _ in cells)
        batch = ReportBatch(part.digest, ids, payloads.tobytes())
        headers = {"Content-Type": CBOR_MEDIA_TYPE}
        return self.anonymous.post(f"{path}/rounds/{index}/reports", content=batch.content, headers=headers)


@pytest.fixture
def forks() -> bool:
    """Whether a server checks in forks what it is sent; tests of checks give True in their module."""
    return False


@pytest.fixture
def running(migrated_sqlite_url: str, forks: bool) -> Iterator[RunningServer]:
    """A server on SQLite."""
    with served(migrated_sqlite_url, forks=forks) as server:
        yield server


@pytest.fixture
def running_on_postgres(migrated_postgres_url: str, forks: bool) -> Iterator[RunningServer]:
    """A server on PostgreSQL."""
    with served(migrated_postgres_url, forks=forks) as server:
        yield server


class _ChecksHere(WorkQueue):
    """Does what a fork would do, in this process: nearly every test has a plan, and its two forks take as long as all
    the rest of a campaign. What travels is pickled as well; limits of time and memory do not hold.
    """

    def __init__(self) -> None:
        super().__init__(CHECKS)

    def _call(self, work: Callable[..., Any], *given: Any) -> Any:
        pickled = pickle.dumps(WorkCall(work, given, reports=False))
        return _result(pickle.loads(pickle.dumps(_outcome(pickled, lambda told: None))))


class _PromptServer(uvicorn.Server):
    """Says when it takes connections and ends when it is told to, where the original looks ten times a second."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.begun = threading.Event()

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            super().run(sockets)
        finally:
            self.begun.set()

    async def main_loop(self) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        await self.on_tick(0)
        self.begun.set()
        await self._ended.wait()

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)


@contextmanager
def served(
    url: str, clock: ManualClock | None = None, *, forks: bool = False, **settings_changed: Any
) -> Iterator[RunningServer]:
    """A server on a migrated database, for as long as the block runs; with `forks` it checks in processes of its own,
    as every other server does.
    """
    database, clock = Database(url), clock or ManualClock()
    settings = Settings(dataset_key=SecretStr(DATASET_KEY), **settings_changed)
    configure_logs(settings.log_level, settings.log_format)
    app = create_app(settings, database, clock)
    if not forks:
        app.state.context = replace(app.state.context, checks=_ChecksHere())
    server = _PromptServer(uvicorn.Config(app, port=0, log_config=None, lifespan="on", proxy_headers=False))
    thread = threading.Thread(target=server.run)
    thread.start()
    assert server.begun.wait(PATIENCE_S), "the server does not begin"
    assert server.started, "the server has ended"
    try:
        port = server.servers[0].sockets[0].getsockname()[1]
        address = f"http://127.0.0.1:{port}"
        with database.write("test key") as session:
            key = keys.create(session, "test", Role.ADMIN, clock.now()).text
        with (
            httpx.Client(base_url=address, headers={"Authorization": f"Bearer {key}"}, timeout=PATIENCE_S) as api,
            httpx.Client(base_url=address, headers={"Accept": CBOR_MEDIA_TYPE}, timeout=PATIENCE_S) as anonymous,
        ):
            yield RunningServer(address, database, clock, settings, key, api, anonymous, computed_once, app)
    finally:
        server.end()
        thread.join()
        database.close()


def _check_problem(response: httpx.Response, problem: Problem, *mentioned: str) -> dict[str, Any]:
    assert response.headers["content-type"] == PROBLEM_MEDIA_TYPE, response.text
    document: dict[str, Any] = response.json()
    assert (response.status_code, document["type"]) == (problem.status, f"/problems/{problem.slug}"), document
    assert document["status"] == problem.status
    assert document["title"] == problem.title
    assert document["instance"] == response.request.url.path
    assert isinstance(document["detail"], str)
    assert document["detail"]
    assert response.headers["cache-control"] == "no-store"
    for text in mentioned:
        assert text in document["detail"]
    return document


@pytest.fixture(scope="session")
def check_problem() -> Callable[..., dict[str, Any]]:
    """Asserts that a response is an error in the one shape, of this type and with these texts; gives its document."""
    return _check_problem
