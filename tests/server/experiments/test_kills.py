"""SIGKILL of a device that has an arm, and of a worker while it makes a look."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from sordino_server.experiments import looking
from sordino_server.models import LookRow
from tests.patience import PATIENCE_S
from tests.server.experiments.test_experiments import DAY_S, Arms, order_of

DEVICE = """
import sys
from sordino_client import Caps, Client, PureEpsilon
caps = Caps(per_period=PureEpsilon.of(4), lifetime=PureEpsilon.of(4), period_days=1)
address, ledger, campaign = sys.argv[1:]
while True:
    with Client(address, ledger=ledger, caps=caps, allow_http=True) as client:
        client.join(campaign)
        print(client.arm(campaign), flush=True)
"""
# Says where it is, and waits there to be killed.
WORKER = """
import sys, time
from sordino_server.experiments import looking, repository
from sordino_server.kit.db import Database
url, now, where = sys.argv[1], int(sys.argv[2]), sys.argv[3]
database = Database(url)

def stop():
    print("here", flush=True)
    time.sleep(600)

look, add = looking.look, repository.add
if where == "computing":
    looking.look = lambda *asked, **terms: stop()
if where == "computed":
    repository.add = lambda *asked, **terms: stop()
if where == "stored":
    def stored(*asked, **terms):
        add(*asked, **terms)
        stop()
    repository.add = stored
print(len(looking.make_due_looks(database, now)), flush=True)
"""


def started(code: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, text=True)


def killed(process: subprocess.Popen[str]) -> list[str]:
    """What it said before."""
    process.send_signal(signal.SIGKILL)
    told, _ = process.communicate(timeout=PATIENCE_S)
    return told.split()


def opened(running: Any, **rule: Any) -> str:
    campaign = running.api.post("/v1/campaigns", json=order_of(running, **rule)).raise_for_status().json()["id"]
    running.api.post(f"/v1/campaigns/{campaign}/open").raise_for_status()
    return str(campaign)


def test_an_arm_that_was_told_is_told_after_every_kill(running: Any, tmp_path: Path) -> None:
    """Two devices, each killed eight times: four at any moment of its life, four when it has told its arm."""
    campaign, generator = opened(running), np.random.default_rng(7)
    for number in range(2):
        ledger, told = tmp_path / f"{number}.sqlite3", []
        for kill in range(8):
            device = started(DEVICE, running.address, ledger, campaign)
            assert device.stdout is not None
            if kill % 2:
                told.append(device.stdout.readline().strip())
            else:
                with suppress(subprocess.TimeoutExpired):
                    device.wait(generator.uniform(0.02, 0.6))
            told += killed(device)
        assert set(told) in ({"A"}, {"B"}), told
        with closing(sqlite3.connect(ledger)) as file:
            assert file.execute("SELECT count(*), count(arm) FROM campaigns").fetchone() == (1, 1)


@pytest.mark.parametrize("engine", ["running", pytest.param("running_on_postgres", marks=pytest.mark.slow)])
def test_a_look_is_made_once_though_workers_are_killed_in_it(request: pytest.FixtureRequest, engine: str) -> None:
    running = request.getfixturevalue(engine)
    campaign = opened(running)
    Arms(running, campaign).answer(300, 30.0, -5.0)
    running.clock.advance(DAY_S)
    url, now = running.database.url.render_as_string(hide_password=False), running.clock.now()

    def looks() -> list[bytes]:
        with running.database.read("looks") as session:
            return list(session.scalars(select(LookRow.content).order_by(LookRow.day)))

    for where in ("computing", "computed", "stored"):
        worker = started(WORKER, url, now, where)
        assert worker.stdout is not None
        assert worker.stdout.readline() == "here\n", where
        killed(worker)
        # What was not committed is not there.
        assert looks() == [], where
    # Two at once: one of them stores it.
    workers = [started(WORKER, url, now, "") for _ in range(2)]
    told = [worker.communicate(timeout=PATIENCE_S)[0].strip() for worker in workers]
    assert sorted(told) == ["0", "1"]
    (first,) = looks()
    running.clock.advance(DAY_S // 2)
    assert looking.make_due_looks(running.database, running.clock.now()) == []
    assert looks() == [first]
