"""Both operators' programs and real devices: from a plan to an estimate, with no way from a device to the collector."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sordino_client import Caps, Client
from sordino_server.keys import service as keys
from sordino_server.kit.clock import WallClock
from sordino_server.models import Role
from sordino_shuffler.statements import SigningKey
from tests.ports import free_ports
from tests.server.conftest import RunningServer, served
from tests.shuffler.processes import answers, wait_for

CAPS = Caps.of(4, days=28, lifetime=48)  # pins a shuffler
DEVICES, SECONDS = 20, 45


@pytest.fixture
def collector(migrated_sqlite_url: str, tmp_path: Path) -> Iterator[RunningServer]:
    with served(migrated_sqlite_url, clock=WallClock(), round_keys=tmp_path / "keys") as server:  # type: ignore[arg-type]
        yield server


def test_devices_are_counted_through_the_other_operators_program(collector: RunningServer, tmp_path: Path) -> None:
    port, metrics = free_ports(2)
    url, signing = f"http://127.0.0.1:{port}", SigningKey.create(tmp_path / "kept" / "signing.key")
    plan = collector.ready_plan(
        epsilon=4, collector={"epsilon": 1, "delta": 1e-6}, target_error=0.05, mechanism="subset_selection"
    )
    end = int(time.time()) + SECONDS
    route = {"name": "mix", "urls": [url], "key": signing.public.hex(), "floor": 5, "end": end}
    order = {"name": "delays", "purpose": "We ask how late you were.", "population": "travellers", "route": route}
    made = collector.api.post("/v1/campaigns", json=order | {"plan_request": plan["id"]}).raise_for_status().json()
    path = f"/v1/campaigns/{made['id']}"
    collector.api.post(f"{path}/open").raise_for_status()
    with collector.database.write("test key") as session:
        key = keys.create(session, "mix", Role.SHUFFLER, int(time.time()), made["id"]).text
    campaigns = tmp_path / "campaigns.toml"
    campaigns.write_text(f'[[campaign]]\nid = "{made["id"]}"\ncollector = "{collector.address}"\nkey = "{key}"\n')
    environment = os.environ | {
        "SORDINO_SHUFFLER_FOLDER": str(tmp_path / "sealed"),
        "SORDINO_SHUFFLER_KEPT": str(tmp_path / "kept"),
        "SORDINO_SHUFFLER_CAMPAIGNS": str(campaigns),
        "SORDINO_SHUFFLER_PORT": str(port),
        "SORDINO_SHUFFLER_METRICS_PORT": str(metrics),
        "SORDINO_SHUFFLER_UPLOADS_PER_S": "0",
        "SORDINO_SHUFFLER_LEAST_FREE_MB": "1",
        "SORDINO_SHUFFLER_REFRESH_S": "1",
    }
    with (tmp_path / "shuffler.log").open("ab") as log:
        program = [sys.executable, "-m", "sordino_shuffler", "serve"]
        shuffler = subprocess.Popen(program, env=environment, stdout=log, stderr=log)
    try:
        wait_for(lambda: answers(f"{url}{path}/task"), "the shuffler to serve the campaign")
        for number in range(DEVICES):
            client = Client(url, ledger=tmp_path / f"device-{number}.sqlite3", caps=CAPS)
            client.answer(client.join(made["id"]), 2.5)
            assert client.flush(30.0).delivered
            client.close()

        def estimated() -> bool:
            collector.work()
            (row,) = collector.api.get(f"{path}/status").json()["rounds"]
            assert row["error"] is None, row["error"]
            return bool(row["state"] == "estimated")

        wait_for(estimated, "the estimate")
    finally:
        shuffler.kill()
        shuffler.wait()
    estimate = collector.api.get(f"{path}/estimates").raise_for_status().json()
    assert (estimate["terms"]["users"], estimate["extras"]["blanket"] > 0) == (DEVICES, True)
    (row,) = collector.api.get(f"{path}/status").json()["rounds"]
    assert (row["batch"]["received"], row["reports"]) == (DEVICES, DEVICES + estimate["extras"]["blanket"])
