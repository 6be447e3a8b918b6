"""A campaign of two rounds by commands and devices, whose worker is killed between the rounds."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from sordino_client import AnswerStatus, Caps, Client, PureEpsilon
from sordino_client.simulation import DeviceFleet
from sordino_shared.randomness import SeededRandomness
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


def _answer(address: str, campaign: str, ledger: Path) -> AnswerStatus:
    """An app that starts, answers and ends; what it knows of its rounds is in its ledger."""
    with Client(address, ledger=ledger, caps=CAPS, allow_http=True) as device:
        answer = device.answer(device.join(campaign), "red")
        device.flush()
    return answer.status


def test_a_worker_killed_between_rounds_changes_nothing(
    installation: Installation, wait_until: Callable[..., None], written: Callable[..., str], tmp_path: Path
) -> None:
    _, address = installation.serve("--no-worker")
    headers = {"Authorization": f"Bearer {installation.operator(address)['SORDINO_KEY']}"}
    with (
        httpx.Client(base_url=address, headers=headers, timeout=PATIENCE_S) as api,
        Client(address, ledger=":memory:", caps=CAPS, allow_http=True) as client,
    ):
        worker, _ = installation.start("worker")
        workload = api.post("/v1/workloads", json=GINI).json()["id"]
        order = {"workload": workload, "epsilon": 2, "users": 400, "protocol": "two_round_shared", "effort": "quick"}
        request = api.post("/v1/plan-requests", json=order).json()["id"]
        wait_until(lambda: api.get(f"/v1/plan-requests/{request}").json()["state"] == "ready", "the plan is there")
        terms = {"name": "x", "purpose": "Your colour.", "population": "x", "plan_request": request}
        campaign = api.post("/v1/campaigns", json=terms).json()["id"]
        path = f"/v1/campaigns/{campaign}"
        assert api.post(f"{path}/open").status_code == 200

        fleet, randomness = DeviceFleet(client, client.join(campaign)), SeededRandomness(1)
        statuses = []
        for index in range(2):
            statuses += [_answer(address, campaign, tmp_path / "device.sqlite3") for _ in range(2)]
            assert fleet.answer_many(COLOURS[1:], randomness) == {AnswerStatus.RECORDED: 399}
            assert fleet.flush().delivered == 399
            worker.kill()
            worker.wait()
            assert api.post(f"{path}/rounds/{index}/close").status_code == 200
            # It may die before, in or after its step; whoever comes next finds one of the three.
            worker, log = installation.start("worker")
            written(worker, log, re.compile("worker started"))
            worker.kill()
            worker.wait()
            worker, _ = installation.start("worker")
            wait_until(lambda at=index: _states(api, path)[at] == "estimated", "the next worker has finished the round")
        status = api.get(f"{path}/status").json()
        content = api.get(f"{path}/estimates").raise_for_status()
        assert (status["state"], [each["reports"] for each in status["rounds"]]) == ("closed", [400, 400])
        assert statuses == [AnswerStatus.RECORDED, AnswerStatus.ALREADY_ANSWERED] * 2
        document = content.json()
        assert [each["users"] for each in document["rounds"]] == [400, 400]
        # Six standard errors: one false alarm in 5·10^8.
        assert abs(document["value"] - TRUTH) < 6 * document["standard_error"]
        assert api.get(f"{path}/estimates").content == content.content


def _states(api: httpx.Client, path: str) -> list[str]:
    return [each["state"] for each in api.get(f"{path}/status").json()["rounds"]]
