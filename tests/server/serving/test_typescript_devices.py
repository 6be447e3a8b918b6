"""Devices of the TypeScript SDK at a real server: in node, with ledgers of memory and of files."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from sordino_server.kit.clock import ManualClock
from tests.client.test_typescript import run
from tests.server.conftest import served


@pytest.mark.slow
@pytest.mark.parametrize("tenth", [20, 200])
def test_a_fleet_answers_a_real_server(migrated_sqlite_url: str, tmp_path: Path, tenth: int) -> None:
    """Ten tenths of devices, the last with ledgers of files: a report each, and shares within 4 standard errors.

    A true law is refused in at most 2 runs of 10,000: three answers, 6·10⁻⁵ each.
    """
    # Devices go by the clock of this machine, and so does their server.
    with served(migrated_sqlite_url, clock=ManualClock(int(time.time()))) as server:
        name = server.campaign("open")["id"]

        def fleet(values: list[Any], **more: str) -> dict[str, int]:
            order = {"server": server.address, "campaign": name, "values": values} | more
            found: dict[str, int] = json.loads(run("test/fleet.ts", json.dumps(order)))
            return found

        settled = {"refused": 0, "waiting": 0}
        most, kept = 9 * tenth, str(tmp_path)
        expected = {"recorded": most, "already_answered": most, "delivered": most} | settled
        assert fleet([5] * 3 * tenth + [30] * 3 * tenth + [90] * 3 * tenth) == expected
        # What is no number is in the first bin, where there is no `missing`.
        assert (
            fleet([None] * tenth, folder=kept)
            == dict.fromkeys(("recorded", "already_answered", "delivered"), tenth) | settled
        )
        # The ledgers outlive their processes: nobody answers again.
        assert fleet([5] * tenth, folder=kept) == {"already_answered": 2 * tenth, "delivered": 0} | settled
        status = server.api.post(f"/v1/campaigns/{name}/close").raise_for_status().json()
        assert status["rounds"][0]["reports"] == 10 * tenth
        server.work()
        table = server.api.get(f"/v1/campaigns/{name}/estimates").raise_for_status().json()["table"]
    # The shares at or below each edge.
    for value, error, share in zip(table["value"], table["standard_error"], (0.1, 0.4, 0.7), strict=True):
        assert abs(value - share) < 4 * error, table
