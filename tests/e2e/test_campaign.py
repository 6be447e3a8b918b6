"""From an empty folder to estimates that never change, with the commands and the SDK that users have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx

from sordino_client import Caps, Client, PureEpsilon
from tests.patience import PATIENCE_S

CAPS = Caps(per_period=PureEpsilon.of(1), period_days=30, lifetime=PureEpsilon.of(1))
DELAYS = [-5.0, 3.0, 3.0, 20.0, 90.0, 200.0, 1.0, 40.0]
LOADS = """
name: load times
domain:
  - {name: country, kind: categorical, labels: [DE, FR]}
  - {name: load_ms, kind: number, low: 0, high: 60000, unit: ms, missing: true}
queries: {load_ms: [mean, {share_above: 5000}]}
"""
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


def test_a_mean_of_numbers_by_commands_and_devices(installation: Installation, tmp_path: Path) -> None:
    """Twelve devices are too few to tell a mean: what is checked is the whole way, with units, groups and CSV."""
    (tmp_path / "loads.yaml").write_text(LOADS)
    _, address = installation.serve()
    operator = installation.operator(address)
    terms = ("--name", "loads", "--purpose", "We ask how long pages load.", "--population", "visitors")
    plan = ("--workload", str(tmp_path / "loads.yaml"), "--epsilon", "1", "--mechanism", "randomized_response")
    campaign = installation.json("campaigns", "create", *terms, *plan, "--open", **operator)
    for number, load in enumerate([150.5, 80000, -3, None, 59999, 0, 1200, 4000, 6000, 30000, 12, 700]):
        ledger = tmp_path / f"visitor-{number}.sqlite3"
        with Client(address, ledger=ledger, caps=CAPS, allow_http=True) as device:
            device.answer(device.join(campaign["id"]), {"country": "DE" if number % 3 else "FR", "load_ms": load})
            assert device.flush().delivered == 1
            assert "numbers below 0 ms count as 0 ms" in str(device.account())
    installation.json("campaigns", "close", campaign["id"], **operator)
    document = installation.json("campaigns", "estimates", campaign["id"], **operator)
    labels = document["table"]["label"]
    assert labels[:3] == ["mean of load_ms", "load_ms > 5,000 ms", "load_ms: missing"]
    assert "mean of load_ms, country: FR" in labels
    assert document["table"]["unit"][:3] == ["ms", "share", "share"]
    assert document["extras"]["ranges"] == [{"attribute": "load_ms", "low": 0.0, "high": 60000.0, "unit": "ms"}]
    asked = ("campaigns", "answers", campaign["id"], "--mean", "load_ms", "--given", "country=DE")
    answer = installation.json(*asked, **operator)
    assert answer["table"]["kind"] == ["mean"]
    assert answer["table"]["unit"] == ["ms"]
