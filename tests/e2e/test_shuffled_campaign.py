"""Both programs and real devices: opened at a collector, answered at a shuffler, estimated without its blanket."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from sordino_client import Caps, Client, PlanRefused
from sordino_shared.ed25519 import verify
from sordino_shared.protocol import CBOR_MEDIA_TYPE, Manifest, ReportBatch, ShuffledRoute, Task
from sordino_shuffler.statements import SigningKey
from tests.patience import PATIENCE_S
from tests.ports import free_ports

Installation = Any
DEVICES = 24
# From opening to the end of the round; devices answer within, on a machine with other work.
ROUND_S = 40
CAPS = Caps.of(4, days=28, lifetime=48)  # pins a shuffler
WORKLOAD = {
    "name": "colours",
    "domain": [{"name": "colour", "kind": "categorical", "labels": ["red", "green", "blue", "white"]}],
    "queries": "histogram",
}


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The ports to which sockets of this process connect while devices run here."""
    ports: set[int] = set()
    connect = socket.socket.connect

    def watched(self: socket.socket, address: Any) -> None:
        if isinstance(address, tuple):
            ports.add(address[1])
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", watched)
    return ports


@pytest.fixture
def start_shuffler(tmp_path: Path) -> Iterator[Callable[..., None]]:
    started: list[subprocess.Popen[bytes]] = []

    def start(port: int, metrics_port: int, kept: Path, campaigns: Path) -> None:
        own = {
            "FOLDER": str(tmp_path / "sealed"),
            "KEPT": str(kept),
            "CAMPAIGNS": str(campaigns),
            "PORT": str(port),
            "METRICS_PORT": str(metrics_port),
            "UPLOADS_PER_S": "0",
            "LEAST_FREE_MB": "1",
            "REFRESH_S": "1",
        }
        environment = os.environ | {f"SORDINO_SHUFFLER_{name}": value for name, value in own.items()}
        with (tmp_path / "shuffler.log").open("ab") as log:
            program = [sys.executable, "-m", "sordino_shuffler", "serve"]
            started.append(subprocess.Popen(program, env=environment, stdout=log, stderr=log))

    yield start
    for process in started:
        process.kill()
        process.wait()


def _planned(api: httpx.Client, wait_until: Callable[..., None]) -> str:
    workload = api.post("/v1/workloads", json=WORKLOAD).raise_for_status().json()["id"]
    target = {"epsilon": 1, "delta": "1e-6"}
    order = {
        "workload": workload,
        "epsilon": 4,
        "collector": target,
        "target_error": 0.1,
        "mechanism": "randomized_response",
    }
    request: str = api.post("/v1/plan-requests", json=order).raise_for_status().json()["id"]
    wait_until(
        lambda: api.get(f"/v1/plan-requests/{request}").json()["state"] in ("done", "ready", "failed"), "planned"
    )
    return request


def _answer(address: str, campaign: str, folder: Path) -> None:
    """Devices, a third of them red; each answers once at the shuffler."""
    for number in range(DEVICES):
        client = Client(address, ledger=folder / f"device-{number}.sqlite3", caps=CAPS)
        client.answer(client.join(campaign), "red" if number % 3 == 0 else "green")
        assert client.flush(5).delivered == 1
        client.close()


def test_a_campaign_through_both_programs(
    installation: Installation,
    tmp_path: Path,
    wait_until: Callable[..., None],
    start_shuffler: Callable[..., None],
    connected: set[int],
) -> None:
    keys_folder = tmp_path / "round-keys"
    _, address = installation.serve(SORDINO_ROUND_KEYS=str(keys_folder))
    operator = installation.operator(address)
    port, metrics_port = free_ports(2)
    shuffler, key = f"http://127.0.0.1:{port}", SigningKey.create(tmp_path / "kept" / "signing.key")
    headers = {"Authorization": f"Bearer {operator['SORDINO_KEY']}"}
    with httpx.Client(base_url=address, headers=headers, timeout=PATIENCE_S) as api:
        plan = _planned(api, wait_until)
        end = int(time.time()) + ROUND_S
        route = {"name": "mix", "urls": [shuffler], "key": key.public.hex(), "floor": 10, "end": end}
        terms = {"name": "colours", "purpose": "Which colour the app has.", "population": "app users"}
        order = terms | {"plan_request": plan, "route": route}
        campaign = api.post("/v1/campaigns", json=order).raise_for_status().json()["id"]
        api.post(f"/v1/campaigns/{campaign}/open").raise_for_status()
        made = ("--role", "shuffler", "--name", "mix", "--campaign", campaign)
        own_key = installation.json("keys", "create", *made)["key"]
        listed = tmp_path / "campaigns.toml"
        listed.write_text(f'[[campaign]]\nid = "{campaign}"\ncollector = "{address}"\nkey = "{own_key}"\n')
        start_shuffler(port, metrics_port, tmp_path / "kept", listed)
        wait_until(lambda: _answers(f"{shuffler}/v1/campaigns/{campaign}/task"), "served")
        manifest = _check_documents(api, shuffler, campaign)
        connected.clear()
        _answer(shuffler, campaign, tmp_path)
        assert time.time() < end, "the machine was too slow for the round"
        # Not one socket of a device reached the collector, and none joins there.
        assert connected == {port}
        with pytest.raises(PlanRefused, match="it names the shuffler"):
            Client(address, ledger=tmp_path / "stray.sqlite3", caps=CAPS).join(campaign)
        assert _sent_directly(api, campaign, manifest).status_code == 409
        wait_until(lambda: _batch(api, campaign)["state"] == "counted", "counted")
        batch, blanket = _batch(api, campaign), manifest.route.blanket  # type: ignore[union-attr]
        assert (batch["received"], batch["blanket"], batch["reports"]) == (DEVICES, blanket, DEVICES + blanket)
        wait_until(lambda: api.get(f"/v1/campaigns/{campaign}/estimates").status_code == 200, "estimated")
        estimate = api.get(f"/v1/campaigns/{campaign}/estimates").json()
    assert (estimate["terms"]["users"], estimate["extras"]["blanket"]) == (DEVICES, blanket)
    table = estimate["table"]
    values, errors = table["value"], table["standard_error"]
    for value, error, share in zip(values, errors, (1 / 3, 2 / 3, 0, 0), strict=True):
        # False alarms: four in 10⁸.
        assert abs(value - share) < 6 * error
    assert not list(keys_folder.glob(f"{campaign}/round-*.key")), "the key lives as long as its round"


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


def _batch(api: httpx.Client, campaign: str) -> Any:
    return api.get(f"/v1/campaigns/{campaign}/rounds/0/batch").raise_for_status().json()


def _check_documents(api: httpx.Client, shuffler: str, campaign: str) -> Manifest:
    """The same bytes at both, and a task that the collector signed."""
    cbor = {"Accept": CBOR_MEDIA_TYPE}
    manifest = Manifest.read(httpx.get(f"{shuffler}/v1/campaigns/{campaign}").content)
    assert api.get(f"/v1/campaigns/{campaign}", headers=cbor).content == manifest.content
    task = Task.read(httpx.get(f"{shuffler}/v1/campaigns/{campaign}/task").content)
    assert isinstance(manifest.route, ShuffledRoute)
    assert task.signature is not None
    assert verify(manifest.route.task_key, task.signature, task.signed_message)
    assert urlsplit(shuffler).netloc in manifest.route.shuffler.urls[0]
    return manifest


def _sent_directly(api: httpx.Client, campaign: str, manifest: Manifest) -> httpx.Response:
    plan = manifest.rounds[0].plan
    assert plan is not None
    body = ReportBatch(plan.device, bytes(16), b"\0").content
    headers = {"Content-Type": CBOR_MEDIA_TYPE}
    return api.post(f"/v1/campaigns/{campaign}/rounds/0/reports", content=body, headers=headers)
