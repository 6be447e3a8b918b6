"""Devices of the TypeScript SDK at a real server: in node, with ledgers of memory and of files."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sordino_server.kit.clock import ManualClock
from tests.client.test_typescript import run
from tests.server.conftest import served

# A few reports say too little for their estimate to be worth its time.
ESTIMATED_FROM = 100


@pytest.fixture
def server(migrated_sqlite_url: str) -> Iterator[Any]:
    # Devices go by the clock of this machine, and so does their server.
    with served(migrated_sqlite_url, clock=ManualClock(int(time.time()))) as running:
        yield running


@pytest.mark.parametrize("tenth", [3, pytest.param(100, marks=pytest.mark.slow)])
def test_devices_answer_a_real_server(server: Any, tmp_path: Path, tenth: int) -> None:
    """Ten tenths of devices, the last with ledgers of files: a report each, and shares within 4 standard errors.

    A true law is refused in at most 2 runs of 10,000: two answers, 6·10⁻⁵ each.
    """
    campaign = server.campaign("open")
    name = campaign["id"]

    def fleet(values: list[Any], *folder: str) -> dict[str, int]:
        found: dict[str, int] = json.loads(run("test/fleet.ts", server.address, name, json.dumps(values), *folder))
        return found

    settled = {"refused": 0, "waiting": 0}
    most, kept = 9 * tenth, str(tmp_path)
    expected = {"recorded": most, "already_answered": most, "delivered": most} | settled
    assert fleet([5] * 3 * tenth + [30] * 3 * tenth + [90] * 3 * tenth) == expected
    # What is no number is in the first bin, where there is no `missing`.
    assert fleet([None] * tenth, kept) == dict.fromkeys(("recorded", "already_answered", "delivered"), tenth) | settled
    # The ledgers outlive their processes: nobody answers again.
    assert fleet([5] * tenth, kept) == {"already_answered": 2 * tenth, "delivered": 0} | settled
    status = server.api.post(f"/v1/campaigns/{name}/close").raise_for_status().json()
    assert status["rounds"][0]["reports"] == 10 * tenth
    if tenth < ESTIMATED_FROM:
        return
    server.work()
    estimate = server.api.get(f"/v1/campaigns/{name}/estimates").raise_for_status().json()
    for value, error, share in zip(*columns(estimate, "value", "standard_error"), (0.4, 0.7), strict=True):
        assert abs(value - share) < 4 * error, estimate


def columns(estimate: dict[str, Any], *names: str) -> list[list[float]]:
    """The columns of the first two answers: the shares at or below each edge."""
    return [estimate["table"][name][:2] for name in names]
