"""Campaigns of two and of three rounds by commands and devices, whose worker is killed between the rounds."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest

from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.vectorized.domains import codes_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_client import AnswerStatus, Caps, Client, PureEpsilon
from sordino_server.simulation import DeviceFleet
from sordino_shared.protocol import DevicePart
from tests.estimates import facts_of
from tests.patience import PATIENCE_S

CAPS = Caps(per_period=PureEpsilon.of(2), period_days=30, lifetime=PureEpsilon.of(2))
COLOURS = ["red"] * 200 + ["green"] * 150 + ["blue"] * 50
TRUTH = 1 - (200 * 199 + 150 * 149 + 50 * 49) / (400 * 399)
GINI = {
    "name": "mixed colours",
    "domain": [{"name": "colour", "kind": "categorical", "labels": ["red", "green", "blue"]}],
    "statistic": {"kind": "gini_diversity"},
}
Installation = Any


SWITCHES = [{"name": name, "kind": "categorical", "labels": ["off", "on"]} for name in ("dark", "beta", "wifi")]
RULES = {
    "name": "what crashes",
    "domain": [*SWITCHES, {"name": "crashed", "kind": "categorical", "labels": ["no", "yes"]}],
    "queries": {
        "class": "conjunctions",
        "width": 2,
        "label": {"attribute": "crashed", "positive": "yes"},
        "protocol": {"top": 6},
    },
}
# Those with dark and beta crash, and nobody else.
SETTINGS = [
    (*("on" if bit else "off" for bit in bits), "yes" if bits[:2] == (1, 1) else "no")
    for bits in product((0, 1), repeat=3)
] * 300


@dataclass(frozen=True)
class Killing:
    """An operator's view of a server without a worker, and workers that are killed."""

    installation: Installation
    api: httpx.Client
    wait_until: Callable[..., None]
    written: Callable[..., str]

    def open(self, workload: Mapping[str, Any], **order: Any) -> str:
        """The path of an open campaign about the workload; its worker is killed."""
        worker, _ = self.installation.start("worker")
        asked = {"workload": self.api.post("/v1/workloads", json=workload).json()["id"], **order}
        request = self.api.post("/v1/plan-requests", json=asked).json()["id"]
        self.wait_until(
            lambda: self.api.get(f"/v1/plan-requests/{request}").json()["state"] == "ready", "the plan is there"
        )
        terms = {"name": "x", "purpose": "Your settings.", "population": "x", "plan_request": request}
        path = f"/v1/campaigns/{self.api.post('/v1/campaigns', json=terms).json()['id']}"
        assert self.api.post(f"{path}/open").status_code == 200
        _kill(worker)
        return path

    def close(self, path: str, index: int) -> None:
        """Close a round. A worker may die before, in or after its step; whoever comes next finds one of the three."""
        assert self.api.post(f"{path}/rounds/{index}/close").status_code == 200
        worker, log = self.installation.start("worker")
        self.written(worker, log, re.compile("worker started"))
        _kill(worker)
        worker, _ = self.installation.start("worker")
        self.wait_until(lambda: self._states(path)[index] == "estimated", "the next worker has finished the round")
        _kill(worker)

    def _states(self, path: str) -> list[str]:
        return [each["state"] for each in self.api.get(f"{path}/status").json()["rounds"]]


def _kill(worker: subprocess.Popen[bytes]) -> None:
    worker.kill()
    worker.wait()


@pytest.fixture
def killing(
    installation: Installation, wait_until: Callable[..., None], written: Callable[..., str]
) -> Iterator[tuple[Killing, str]]:
    """The workers, and the address of the server."""
    _, address = installation.serve("--no-worker")
    headers = {"Authorization": f"Bearer {installation.operator(address)['SORDINO_KEY']}"}
    with httpx.Client(base_url=address, headers=headers, timeout=PATIENCE_S) as api:
        yield Killing(installation, api, wait_until, written), address


def _app(address: str, campaign: str, value: object, ledger: Path) -> AnswerStatus:
    """An app that starts, answers and ends; what it knows of its rounds is in its ledger."""
    with Client(address, ledger=ledger, caps=CAPS, allow_http=True) as device:
        answer = device.answer(device.join(campaign), value)
        device.flush()
    return answer.status


def test_a_worker_killed_between_two_rounds_changes_nothing(killing: tuple[Killing, str], tmp_path: Path) -> None:
    workers, address = killing
    path = workers.open(GINI, epsilon=2, users=400, protocol="two_round_shared", effort="quick")
    campaign, statuses = path.rpartition("/")[2], []
    with Client(address, ledger=":memory:", caps=CAPS, allow_http=True) as client:
        fleet, randomness = DeviceFleet(client, client.join(campaign)), SeededRandomness(1)
        for index in range(2):
            statuses += [_app(address, campaign, "red", tmp_path / "device.sqlite3") for _ in range(2)]
            assert fleet.answer_many(COLOURS[1:], randomness) == {AnswerStatus.RECORDED: 399}
            assert fleet.flush().delivered == 399
            workers.close(path, index)
    status = workers.api.get(f"{path}/status").json()
    content = workers.api.get(f"{path}/estimates").raise_for_status()
    assert (status["state"], [each["reports"] for each in status["rounds"]]) == ("closed", [400, 400])
    assert statuses == [AnswerStatus.RECORDED, AnswerStatus.ALREADY_ANSWERED] * 2
    document = content.json()
    assert [each["users"] for each in document["extras"]["rounds"]] == [400, 400]
    (value,), (error,) = document["table"]["value"], document["table"]["standard_error"]
    # Six standard errors: one false alarm in 5·10^8.
    assert abs(value - TRUTH) < 6 * error
    assert workers.api.get(f"{path}/estimates").content == content.content


@pytest.mark.slow
def test_three_rounds_certify_a_rule_though_workers_are_killed_between_them(
    killing: tuple[Killing, str], tmp_path: Path
) -> None:
    """Every device answers the one round that it drew: an app too, whose value has more attributes than later plans."""
    workers, address = killing
    path = workers.open(RULES, epsilon=2, users=len(SETTINGS) + 1, effort="quick")
    campaign, statuses = path.rpartition("/")[2], []
    with Client(address, ledger=":memory:", caps=CAPS, allow_http=True) as client:
        fleet, randomness = DeviceFleet(client, client.join(campaign)), SeededRandomness(1)
        for index in range(3):
            statuses.append(_app(address, campaign, SETTINGS[0], tmp_path / "device.sqlite3"))
            fleet.answer_many(SETTINGS, randomness)
            assert fleet.flush().waiting == 0
            workers.close(path, index)
    assert statuses.count(AnswerStatus.RECORDED) == 1
    document = workers.api.get(f"{path}/estimates").raise_for_status().json()
    facts = facts_of(document)
    users = list(map(int, facts["users_by_round"].split()))
    assert (len(users), facts["certified_by_round"]) == (3, 2)
    assert (facts["users"], sum(users)) == (len(SETTINGS) + 1,) * 2
    asked = [each["device_digest"] for each in workers.api.get(f"{path}/status").json()["rounds"]]
    last = DevicePart.read(httpx.get(f"{address}/v1/plans/{asked[2]}", timeout=PATIENCE_S).content)
    assert len(last.domain.attributes) < len(RULES["domain"])
    # A report of the last round has a standard deviation of at most .66: six standard errors.
    reach = 6 * 0.66 / users[2] ** 0.5
    assert reach < 0.3
    rules = parse_specification(RULES).build()
    truth = dict(zip(rules.labels(), rules.truth_of_codes(codes_many(rules.domain, SETTINGS)), strict=True))
    low, high = facts["interval"]
    assert low < facts["loss"] < high
    assert abs(facts["loss"] - truth[facts["rule"]["text"]]) < reach
