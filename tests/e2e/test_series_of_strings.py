"""A series of strings with real processes: devices answer every period, and server and worker are killed in between."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from sordino_client import AnswerStatus, Caps, Client
from tests.patience import PATIENCE_S

# Devices answer within, on a machine with other work.
PERIOD_S, LATE_S = 20, 8
DEVICES = 24
CAPS = Caps.of(16, days=28, lifetime=48)
# The new text is certified and higher in all but 1 of 1,000 runs: its reports at ε = 8 tell it from any other.
WORKLOAD = {
    "name": "words",
    "domain": [{"name": "word", "kind": "text", "code": "bytes", "depth": 17}],
    "queries": {"kind": "strings", "beam": 20, "error": 0.2},
}


@pytest.mark.slow
def test_periods_are_estimated_by_whoever_is_left(
    installation: Any, tmp_path: Path, wait_until: Callable[..., None]
) -> None:
    server, address = installation.serve()
    operator = installation.operator(address)
    headers = {"Authorization": f"Bearer {operator['SORDINO_KEY']}"}
    with httpx.Client(base_url=address, headers=headers, timeout=PATIENCE_S) as api:
        campaign, start = _opened(api, wait_until)
    devices = [
        Client(address, ledger=tmp_path / f"device-{number}.sqlite3", caps=CAPS, largest_part=1 << 20)
        for number in range(DEVICES)
    ]
    for device in devices:
        device.join(campaign)
    for period, text in enumerate(("a", "b")):
        time.sleep(max(0.0, start + period * PERIOD_S - time.time()))
        for device in devices:
            assert device.answer(campaign, text).status is AnswerStatus.RECORDED
            assert device.flush(5).delivered == 1
        assert time.time() < start + (period + 1) * PERIOD_S, "the machine was too slow for the period"
    for device in devices:
        device.close()
    # Killed while the periods are closed and estimated: another server goes on where it was.
    time.sleep(max(0.0, start + PERIOD_S + LATE_S - time.time()))
    server.kill()
    server.wait()
    again, address = installation.serve()
    time.sleep(1)
    again.kill()
    again.wait()
    _, address = installation.serve()
    with httpx.Client(base_url=address, headers=headers, timeout=PATIENCE_S) as api:
        path = f"/v1/campaigns/{campaign}/series"

        def states() -> list[str]:
            found: dict[str, Any] = api.get(path, params={"to": 1}).raise_for_status().json()
            return [each["state"] for each in found["extras"]["periods"]]

        wait_until(lambda: states() == ["estimated", "estimated"], "estimated")
        document = api.get(path, params={"to": 1}).json()
        table = api.get(path, params={"to": 1, "format": "csv"}).text
    assert [each["reports"] for each in document["extras"]["periods"]] == [DEVICES, DEVICES]
    columns = document["table"]
    listed = {
        (period, label): sentence
        for part, period, label, sentence in zip(
            columns["part"], columns["period"], columns["label"], columns["sentence"], strict=True
        )
        if part == "period"
    }
    assert listed[0, "a"] == "first listed"
    assert listed[1, "b"] in ("new", "first listed")
    assert (1, "a") not in listed
    assert ",b," in table


def _opened(api: httpx.Client, wait_until: Callable[..., None]) -> tuple[str, int]:
    """The id of an open series, and when its period 0 begins."""
    workload = api.post("/v1/workloads", json=WORKLOAD).raise_for_status().json()["id"]
    request = api.post("/v1/plan-requests", json={"workload": workload, "epsilon": 8}).raise_for_status().json()["id"]
    wait_until(lambda: api.get(f"/v1/plan-requests/{request}").json()["state"] == "ready", "planned")
    start = int(time.time()) + PERIOD_S
    series = {"period_s": PERIOD_S, "slots": 1, "answers_max": 2, "late_s": LATE_S, "start": start}
    order = {"name": "words", "purpose": "Which word it is.", "population": "app users", "plan_request": request}
    campaign = api.post("/v1/campaigns", json=order | {"series": series}).raise_for_status().json()["id"]
    api.post(f"/v1/campaigns/{campaign}/open").raise_for_status()
    return campaign, start
