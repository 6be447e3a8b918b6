"""Two operators at once: one of them changes the campaign, the other is told."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest


@pytest.mark.parametrize("server", ["running", "running_on_postgres"])
def test_a_campaign_ends_once(request: pytest.FixtureRequest, server: str) -> None:
    running = request.getfixturevalue(server)
    campaign = running.campaign("open")

    def act(action: str) -> int:
        return int(running.api.post(f"/v1/campaigns/{campaign['id']}/{action}").status_code)

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(act, ["close", "cancel"] * 4))
    assert sorted(statuses) == [200] + [409] * 7
    status: dict[str, Any] = running.api.get(f"/v1/campaigns/{campaign['id']}/status").json()
    assert status["state"] == ["closed", "cancelled"][statuses.index(200) % 2]
    assert status["rounds"][0]["state"] == status["state"]


@pytest.mark.parametrize("server", ["running", "running_on_postgres"])
def test_the_same_workload_twice_at_once(request: pytest.FixtureRequest, server: str) -> None:
    running = request.getfixturevalue(server)
    with ThreadPoolExecutor(8) as pool:
        identifiers = set(pool.map(lambda _: running.workload(), range(8)))
    assert len(identifiers) == 1


@pytest.mark.parametrize("server", ["running", "running_on_postgres"])
def test_the_same_campaign_twice_at_once(request: pytest.FixtureRequest, server: str) -> None:
    running = request.getfixturevalue(server)
    terms = {"name": "x", "purpose": "x", "population": "x", "plan_request": running.ready_plan()["id"]}
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda _: running.api.post("/v1/campaigns", json=terms).status_code, range(8)))
    assert sorted(statuses) == [201] + [409] * 7


@pytest.mark.parametrize("server", ["running", "running_on_postgres"])
def test_the_same_plan_from_two_workers_at_once(request: pytest.FixtureRequest, server: str) -> None:
    """Equal orders give equal parts, which are stored once; neither worker fails for the other's."""
    running = request.getfixturevalue(server)
    orders = [running.plan_request()["id"] for _ in range(6)]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: running.work(), range(3)))
    documents = [running.api.get(f"/v1/plan-requests/{order}").json() for order in orders]
    assert [document["state"] for document in documents] == ["ready"] * 6
    assert len({document["device_digest"] for document in documents}) == 1
