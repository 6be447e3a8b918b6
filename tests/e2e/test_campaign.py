"""From an empty folder to estimates that never change, with the commands and the SDK that users have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx

from sordino_client import Caps, Client, PureEpsilon
from tests.patience import PATIENCE_S

CAPS = Caps(per_period=PureEpsilon.of(1), period_days=30, lifetime=PureEpsilon.of(1))
DELAYS = [-5.0, 3.0, 3.0, 20.0, 90.0, 200.0, 1.0, 40.0]
Installation = Any


def _answer_all(address: str, campaign: str, folder: Path) -> None:
    for number, delay in enumerate(DELAYS):
        ledger = folder / f"device-{number}.sqlite3"
        with Client(address, ledger=ledger, caps=CAPS, allow_http=True) as device:
            device.answer(device.join(campaign), delay)
            assert device.flush().delivered == 1


def test_a_campaign_by_commands_and_devices(installation: Installation, workload_file: Path, tmp_path: Path) -> None:
    process, address = installation.serve()
    operator = installation.operator(address)
    terms = ("--name", "delays", "--purpose", "We ask how late you were.", "--population", "travellers")
    plan = ("--workload", str(workload_file), "--epsilon", "1")
    campaign = installation.json("campaigns", "create", *terms, *plan, "--open", **operator)
    assert (campaign["state"], campaign["rounds"][0]["state"]) == ("open", "open")
    _answer_all(address, campaign["id"], tmp_path)
    closed = installation.json("campaigns", "close", campaign["id"], **operator)
    assert closed["rounds"][0]["reports"] == len(DELAYS)
    document = installation.json("campaigns", "estimates", campaign["id"], **operator)
    assert (document["terms"]["users"], document["terms"]["campaign_id"]) == (len(DELAYS), campaign["id"])
    assert document["table"]["label"] == [f"delay ≤ {edge} min" for edge in (0, 15, 60)]

    path = f"/v1/campaigns/{campaign['id']}/rounds/0/estimates"
    headers = {"Authorization": f"Bearer {operator['SORDINO_KEY']}"}
    first = httpx.get(address + path, headers=headers, timeout=PATIENCE_S)
    assert first.json() == document
    process.terminate()
    assert process.wait(PATIENCE_S) == 0
    _, address = installation.serve("--no-worker")
    assert httpx.get(address + path, headers=headers, timeout=PATIENCE_S).content == first.content
