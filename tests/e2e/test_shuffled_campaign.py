"""Both programs and real devices: opened at a collector, answered at a shuffler, estimated without its blanket."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from sordino_client import AnswerStatus, Caps, Client, PlanRefused
from sordino_shared.ed25519 import verify
from sordino_shared.protocol import (
    CBOR_MEDIA_TYPE,
    Manifest,
    ReportBatch,
    SealedReports,
    ShuffledRoute,
    Task,
    TokenEvaluations,
    TokenRequest,
)
from sordino_shared.protocol.sealed import sealing_info
from sordino_shared.protocol.tokens import SECRET_BYTES, TOKEN_BYTES, token_of
from sordino_shared.randomness import SystemRandomness
from sordino_shared.sealing import seal
from sordino_shared.tokens import IssuerKey, blind, finalize, redeem
from sordino_shuffler.statements import SigningKey
from tests.patience import PATIENCE_S
from tests.ports import free_ports

Installation = Any
DEVICES = 24
# From opening to the end of the round; devices answer within, on a machine with other work.
ROUND_S = 40
CAPS = Caps.of(4, days=28, lifetime=48)  # pins a shuffler
# A period of a series, and how long its reports count after it. Devices answer within, on a machine with other work.
PERIOD_S, LATE_S = 30, 4
SERIES_CAPS = Caps.of(16, days=28, lifetime=48)
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


@dataclass(frozen=True)
class Both:
    """A server with a plan, and the shuffler of a campaign that is still to be opened."""

    folder: Path
    installation: Installation
    api: httpx.Client
    address: str
    plan: str
    port: int
    metrics_port: int
    key: SigningKey
    wait_until: Callable[..., None]

    @property
    def shuffler(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def round_keys(self) -> Path:
        return self.folder / "round-keys"

    def opened(self, route: dict[str, object], **terms: object) -> str:
        """The id of an open campaign, which the shuffler serves."""
        route = {"name": "mix", "urls": [self.shuffler], "key": self.key.public.hex()} | route
        order = {"name": "colours", "purpose": "Which colour the app has.", "population": "app users", **terms}
        order |= {"plan_request": self.plan, "route": route}
        campaign = str(self.api.post("/v1/campaigns", json=order).raise_for_status().json()["id"])
        self.api.post(f"/v1/campaigns/{campaign}/open").raise_for_status()
        made = ("--role", "shuffler", "--name", "mix", "--campaign", campaign)
        own_key = self.installation.json("keys", "create", *made)["key"]
        listed = f'[[campaign]]\nid = "{campaign}"\ncollector = "{self.address}"\nkey = "{own_key}"\n'
        (self.folder / "campaigns.toml").write_text(listed)
        return campaign

    def environment(self) -> dict[str, str]:
        own = {
            "FOLDER": str(self.folder / "sealed"),
            "KEPT": str(self.folder / "kept"),
            "CAMPAIGNS": str(self.folder / "campaigns.toml"),
            "PORT": str(self.port),
            "METRICS_PORT": str(self.metrics_port),
            "UPLOADS_PER_S": "0",
            "LEAST_FREE_MB": "1",
            "REFRESH_S": "1",
        }
        return os.environ | {f"SORDINO_SHUFFLER_{name}": value for name, value in own.items()}


@pytest.fixture
def both(installation: Installation, tmp_path: Path, wait_until: Callable[..., None]) -> Iterator[Both]:
    _, address = installation.serve(SORDINO_ROUND_KEYS=str(tmp_path / "round-keys"))
    headers = {"Authorization": f"Bearer {installation.operator(address)['SORDINO_KEY']}"}
    port, metrics_port = free_ports(2)
    with httpx.Client(base_url=address, headers=headers, timeout=PATIENCE_S) as api:
        yield Both(
            folder=tmp_path,
            installation=installation,
            api=api,
            address=address,
            plan=_planned(api, wait_until),
            port=port,
            metrics_port=metrics_port,
            key=SigningKey.create(tmp_path / "kept" / "signing.key"),
            wait_until=wait_until,
        )


@pytest.fixture
def serve(both: Both) -> Iterator[Callable[[str], None]]:
    """Starts the shuffler, and waits until it serves a campaign."""
    started: list[subprocess.Popen[bytes]] = []

    def start(campaign: str) -> None:
        with (both.folder / "shuffler.log").open("ab") as log:
            program = [sys.executable, "-m", "sordino_shuffler", "serve"]
            started.append(subprocess.Popen(program, env=both.environment(), stdout=log, stderr=log))
        both.wait_until(lambda: _answers(f"{both.shuffler}/v1/campaigns/{campaign}/task"), "served")

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


def _answer(address: str, campaign: str, folder: Path, log: str) -> None:
    """Devices, a third of them red; each answers once at the shuffler, which has the proof of the collector's log."""
    for number in range(DEVICES):
        client = Client(address, ledger=folder / f"device-{number}.sqlite3", caps=CAPS, log=log)
        client.answer(client.join(campaign), "red" if number % 3 == 0 else "green")
        assert client.flush(5).delivered == 1
        assert "log: entry 1 of 1" in str(client.account())
        client.close()


@pytest.mark.parametrize("gate", [{"kind": "address", "per_day": 100}, pytest.param(None, marks=pytest.mark.slow)])
def test_a_campaign_through_both_programs(
    gate: dict[str, object] | None,
    both: Both,
    serve: Callable[[str], None],
    connected: set[int],
    tmp_path: Path,
    wait_until: Callable[..., None],
) -> None:
    api, end = both.api, int(time.time()) + ROUND_S
    campaign = both.opened({"floor": 10, "end": end}, gate=gate)
    serve(campaign)
    manifest = _check_documents(api, both.shuffler, campaign)
    connected.clear()
    log = api.get("/v1/log").raise_for_status().json()["key"]
    wait_until(lambda: _answers(f"{both.shuffler}/v1/campaigns/{campaign}/log-proof"), "in the log")
    connected.clear()
    _answer(both.shuffler, campaign, tmp_path, log)
    assert time.time() < end, "the machine was too slow for the round"
    # Not one socket of a device reached the collector, and none joins there.
    assert connected == {both.port}
    cheats = _cheat(both.shuffler, manifest) if gate else 0
    with pytest.raises(PlanRefused, match="it names the shuffler"):
        Client(both.address, ledger=tmp_path / "stray.sqlite3", caps=CAPS).join(campaign)
    assert _sent_directly(api, campaign, manifest).status_code == 409
    wait_until(lambda: _batch(api, campaign)["state"] == "counted", "counted")
    assert isinstance(manifest.route, ShuffledRoute)
    batch, blanket = _batch(api, campaign), manifest.route.blanket
    received = DEVICES + cheats
    assert (batch["received"], batch["blanket"], batch["reports"]) == (received, blanket, received + blanket)
    refusals = {"wrong-route": 1} | ({"token-invalid": 3, "token-spent": 2} if gate else {})
    assert (batch["refused"], api.get(f"/v1/campaigns/{campaign}/status").json()["refusals"]) == (
        5 if gate else 0,
        refusals,
    )
    wait_until(lambda: api.get(f"/v1/campaigns/{campaign}/estimates").status_code == 200, "estimated")
    estimate = api.get(f"/v1/campaigns/{campaign}/estimates").json()
    # The one report that a cheat may have counts as any device's.
    users = DEVICES + (1 if gate else 0)
    assert (estimate["terms"]["users"], estimate["extras"]["blanket"]) == (users, blanket)
    table = estimate["table"]
    values, errors = table["value"], table["standard_error"]
    for value, error, share in zip(values, errors, (1 / 3, 2 / 3, 0, 0), strict=True):
        # False alarms: four in 10⁸.
        assert abs(value - share) < 6 * error
    # The worker deletes the key once the estimate is written: a moment after it can be read.
    wait_until(lambda: not list(both.round_keys.glob(f"{campaign}/round-*.key")), "the key deleted with its round")


@pytest.mark.slow
def test_strings_through_both_programs(
    both: Both, serve: Callable[[str], None], tmp_path: Path, wait_until: Callable[..., None]
) -> None:
    """Every device holds one text, which is found among random reports."""
    api, end = both.api, int(time.time()) + ROUND_S
    texts = {"name": "word", "kind": "text", "code": "bytes", "depth": 17}
    # An error of .2 of the list: 24 devices certify one text in all but 1 of 1,000 runs.
    strings = {"name": "words", "domain": [texts], "queries": {"kind": "strings", "beam": 20, "error": 0.2}}
    workload = api.post("/v1/workloads", json=strings).raise_for_status().json()["id"]
    order = {"workload": workload, "epsilon": 8, "collector": {"epsilon": 6, "delta": "1e-2"}}
    request: str = api.post("/v1/plan-requests", json=order).raise_for_status().json()["id"]
    wait_until(lambda: api.get(f"/v1/plan-requests/{request}").json()["state"] == "ready", "planned")
    campaign = replace(both, plan=request).opened({"floor": 10, "end": end})
    serve(campaign)
    for number in range(DEVICES):
        with Client(both.shuffler, ledger=tmp_path / f"device-{number}.sqlite3", caps=SERIES_CAPS) as client:
            client.answer(client.join(campaign), "a")
            assert client.flush(5).delivered == 1
    assert time.time() < end, "the machine was too slow for the round"
    wait_until(lambda: api.get(f"/v1/campaigns/{campaign}/estimates").status_code == 200, "estimated")
    estimate = api.get(f"/v1/campaigns/{campaign}/estimates").json()
    blanket = _batch(api, campaign)["blanket"]
    assert (estimate["kind"], estimate["terms"]["users"], estimate["extras"]["blanket"]) == (
        "strings",
        DEVICES,
        blanket,
    )
    found = dict(zip(estimate["table"]["label"], estimate["table"]["band_upper"], strict=True))
    assert found["a"] == 1
    asked = api.get(f"/v1/campaigns/{campaign}/answers", params={"string": "a"}).raise_for_status().json()
    assert asked["terms"]["users"] == DEVICES
    assert asked["table"]["upper"] == [1]


@pytest.mark.slow
def test_an_experiment_through_both_programs(
    both: Both, serve: Callable[[str], None], tmp_path: Path, wait_until: Callable[..., None]
) -> None:
    """Each device answers by the arm that it drew; one look after the end, without m random reports of each arm."""
    api, end = both.api, int(time.time()) + ROUND_S
    arms = [{"name": name, "weight": 32768} for name in "AB"]
    rule = {"primary": "colour: red", "days": 1, "users": DEVICES}
    campaign = both.opened({"floor": 10, "end": end}, arms=arms, experiment=rule)
    serve(campaign)
    drawn = {"A": 0, "B": 0}
    for number in range(DEVICES):
        with Client(both.shuffler, ledger=tmp_path / f"device-{number}.sqlite3", caps=CAPS) as client:
            client.join(campaign)
            arm = client.arm(campaign)
            assert arm is not None
            drawn[arm] += 1
            client.answer(campaign, "red" if arm == "B" else "green")
            assert client.flush(5).delivered == 1
    assert time.time() < end, "the machine was too slow for the round"
    path = f"/v1/campaigns/{campaign}/experiment"
    assert api.get(path).json()["made"] == []
    wait_until(lambda: bool(api.get(path).json()["made"]), "looked at")
    found, batch = api.get(path).json(), _batch(api, campaign)
    (look,) = found["made"]
    assert (batch["received"], batch["blanket"]) == (DEVICES, 2 * found["blanket"])
    assert {arm["arm"]: arm["reports"] for arm in look["arms"]} == drawn
    if min(drawn.values()):
        (one,) = look["comparisons"]
        assert abs(one["value"] - 1) < 6 * one["standard_error"]


@pytest.mark.slow
def test_a_series_through_both_programs(
    both: Both, serve: Callable[[str], None], tmp_path: Path, wait_until: Callable[..., None]
) -> None:
    """Three periods, each with a batch of its own; the key of the second one is lost, and no other period with it."""
    api, start = both.api, int(time.time()) + PERIOD_S
    series = {"period_s": PERIOD_S, "slots": 1, "answers_max": 4, "late_s": LATE_S, "start": start}
    campaign = both.opened({"floor": 5, "keys": 4}, series=series)
    serve(campaign)
    devices = [Client(both.shuffler, ledger=tmp_path / f"device-{number}", caps=SERIES_CAPS) for number in range(8)]
    for device in devices:
        device.join(campaign)
    (both.round_keys / campaign / "round-1.key").unlink()
    for period in range(3):
        time.sleep(max(0.0, start + period * PERIOD_S - time.time()))
        for number, device in enumerate(devices):
            answered = device.answer(campaign, "red" if number < 6 else "green")
            assert (answered.status, answered.round) == (AnswerStatus.RECORDED, period)
            assert device.flush(5).delivered == 1
        assert time.time() < start + (period + 1) * PERIOD_S, "the machine was too slow for the period"
    for device in devices:
        device.close()
    told = ["estimated", "unreadable", "estimated"]
    wait_until(lambda: _states(api, campaign)[:3] == told, "estimated")
    found = api.get(f"/v1/campaigns/{campaign}/series", params={"window": 3}).raise_for_status().json()
    lost = api.get(f"/v1/campaigns/{campaign}/rounds/1/batch").raise_for_status().json()
    assert lost["state"] == "unreadable"
    assert [each["reports"] for each in found["extras"]["periods"]][:3] == [8, 0, 8]
    assert found["extras"]["blanket"] == lost["blanket"] > 0
    table = found["table"]
    window = [place for place, part in enumerate(table["part"]) if part == "window" and table["period"][place] == 0]
    for place, share in zip(window, (3 / 4, 1 / 4, 0, 0), strict=True):
        assert table["users"][place] == 16
        # False alarms: four in 10⁸.
        assert abs(table["value"][place] - share) < 6 * table["standard_error"][place]
    wait_until(
        lambda: [each.name for each in both.round_keys.glob(f"{campaign}/round-*.key")] == ["round-3.key"], "one key"
    )


def _states(api: httpx.Client, campaign: str) -> list[str]:
    shown = api.get(f"/v1/campaigns/{campaign}/series")
    return [each["state"] for each in shown.json()["extras"]["periods"]] if shown.status_code == 200 else []


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


def _cheat(shuffler: str, manifest: Manifest) -> int:
    """Reports without a token, with one of another round's key, and three with one that a device gets."""
    key, plan, route = IssuerKey(7), manifest.rounds[0].plan, manifest.route
    assert isinstance(route, ShuffledRoute)
    assert manifest.issuer is not None
    assert plan is not None
    secret = bytes(SECRET_BYTES)
    scalar, element = blind(secret, SystemRandomness())
    path, headers = f"{shuffler}/v1/campaigns/{manifest.campaign}/rounds/0", {"Content-Type": CBOR_MEDIA_TYPE}
    answer = httpx.post(f"{path}/tokens", content=TokenRequest(element, b"").content, headers=headers)
    given = TokenEvaluations.read(answer.raise_for_status().content)
    [output] = finalize([secret], [scalar], given.elements(), given.proof, manifest.issuer.keys[0])
    own, other = token_of(secret, output), token_of(secret, redeem(key, secret))
    info = sealing_info(manifest.campaign, 0, plan.device)
    shown = [bytes(TOKEN_BYTES), other, own[:-1] + bytes([own[-1] ^ 1]), own, own, own]
    sealed = [seal(route.key_of(0), info, b"\x02" + each) for each in shown]
    body = SealedReports(b"".join(sealed), len(sealed)).content
    httpx.post(f"{path}/sealed", content=body, headers=headers).raise_for_status()
    return len(sealed)


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
