"""A home and two collectors as processes, killed and started again: the home has the sums of one server."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_client import Caps, Client, PureEpsilon
from sordino_server import aggregates, rounds
from sordino_server.kit.db import Database
from sordino_server.models import ReportChunk
from sordino_server.plans import service as plans
from sordino_server.simulation import DeviceFleet

CAPS = Caps(per_period=PureEpsilon.of(1), period_days=30, lifetime=PureEpsilon.of(1))
NAMES = ("de", "eu", "us")
Installation = Any


@pytest.fixture
def ports() -> dict[str, int]:
    """A free port for each server."""
    with ExitStack() as held:
        sockets = {name: held.enter_context(socket.socket()) for name in NAMES}
        for each in sockets.values():
            each.bind(("127.0.0.1", 0))
        found = {name: each.getsockname()[1] for name, each in sockets.items()}
    return found


def started(installation: Installation, ports: dict[str, int], name: str, **settings: str) -> subprocess.Popen[bytes]:
    arguments = ["--port", str(ports[name])]
    if name != "de":
        arguments += ["--collect-for", f"http://127.0.0.1:{ports['de']}", "--source", name]
    url = {"SORDINO_DATABASE_URL": database_url(installation, name), "SORDINO_COLLECT_EVERY_S": "0.2"}
    process: subprocess.Popen[bytes] = installation.serve(*arguments, **url, **settings)[0]
    return process


def database_url(installation: Installation, name: str) -> str:
    return f"sqlite:///{installation.folder}/{name}.sqlite3"


def worker_of(process: subprocess.Popen[bytes]) -> int:
    """Of a server, which has other children too."""
    words = f"\0worker\0--parent\0{process.pid}\0".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if words in path.read_bytes():
                found.append(int(path.parent.name))
    return min(found)


def answer(address: str, campaign: str, cells: list[float], seed: int) -> None:
    """Devices of one region, all at the server of that region."""
    with Client(address, ledger=":memory:", caps=CAPS) as client:
        fleet = DeviceFleet(client, client.join(campaign))
        fleet.answer_many(cells, SeededRandomness(seed))
        assert fleet.flush().delivered == len(cells)


@pytest.mark.slow
def test_three_servers_give_the_sums_of_one_though_they_are_killed(
    installation: Installation, workload_file: Path, ports: dict[str, int], wait_until: Callable[..., None]
) -> None:
    addresses = {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}
    home = started(installation, ports, "de")
    url = {"SORDINO_DATABASE_URL": database_url(installation, "de")}
    admin = installation.json("keys", "create", "--role", "admin", "--name", "test", **url)["key"]
    operator = {"SORDINO_SERVER": addresses["de"], "SORDINO_KEY": admin}
    terms = ("--name", "delays", "--purpose", "We ask how late you were.", "--population", "travellers")
    sources = [text for name in NAMES for text in ("--source", f"{name}={addresses[name]}")]
    plan = ("--workload", str(workload_file), "--epsilon", "1", *sources)
    campaign = installation.json("campaigns", "create", *terms, *plan, **operator)["id"]
    made = ("--role", "aggregator", "--campaign", campaign, "--max-reports", "1000")
    keys = {
        name: installation.json("keys", "create", *made, "--name", name, "--source", name, **url)["key"]
        for name in ("eu", "us")
    }
    installation.run("campaigns", "open", campaign, **operator)
    collectors = {name: started(installation, ports, name, SORDINO_AGGREGATOR_KEYS=key) for name, key in keys.items()}
    for name in keys:
        task = f"{addresses[name]}/v1/campaigns/{campaign}/task"
        wait_until(lambda task=task: httpx.get(task).status_code == 200 and httpx.get(task).json()["round"] == 0, task)
    # The home is away: devices of the regions notice nothing.
    home.kill()
    home.wait()
    for seed, name in enumerate(keys, start=1):
        answer(addresses[name], campaign, [-5.0, 3.0, 20.0, 90.0] * 25 * seed, seed)
    started(installation, ports, "de")
    answer(addresses["de"], campaign, [200.0, 1.0] * 30, 7)

    # A worker lives a moment longer than its server, so it is killed too.
    worker = worker_of(collectors["us"])
    collectors["us"].kill()
    collectors["us"].wait()
    with suppress(ProcessLookupError):
        os.kill(worker, signal.SIGKILL)
    installation.run("campaigns", "close", campaign, **operator)
    os.kill(worker_of(collectors["eu"]), signal.SIGKILL)
    wait_until(lambda: waits_for(addresses["de"], campaign, admin) == ["us"], "only us has sent nothing")
    started(installation, ports, "us", SORDINO_AGGREGATOR_KEYS=keys["us"])
    wait_until(lambda: waits_for(addresses["de"], campaign, admin) == [], "all sums are there")
    estimates = installation.json("campaigns", "estimates", campaign, **operator)
    assert estimates["users"] == 100 + 200 + 60
    expected, found = sums_of_one(installation, campaign)
    assert found.to_bytes() == expected.to_bytes()


def waits_for(address: str, campaign: str, key: str) -> list[str]:
    """The sources that the closed round lacks."""
    headers = {"Authorization": f"Bearer {key}"}
    shown = httpx.get(f"{address}/v1/campaigns/{campaign}/status", headers=headers).raise_for_status().json()
    waiting: list[str] = shown["rounds"][0]["waiting_for"]
    return waiting


def sums_of_one(installation: Installation, campaign: str) -> tuple[Aggregate, Aggregate]:
    """All payloads in the three logs added up here, and what the home has."""
    contents = b""
    for name in NAMES:
        database = Database(database_url(installation, name))
        with database.read() as session:
            contents += b"".join(row.payloads for row in session.query(ReportChunk).order_by(ReportChunk.id))
        database.close()
    database = Database(database_url(installation, "de"))
    with database.read() as session:
        row = rounds.find(session, campaign, 0)
        assert row is not None
        randomizer = plans.device_part(session, row.device_digest).randomizer
    found = aggregates.aggregate(database, row.id, randomizer)
    database.close()
    payloads = np.frombuffer(contents, dtype=np.uint8).reshape(-1, randomizer.payload_bytes)
    return Aggregate(len(payloads), accumulate(randomizer, payloads)), found
