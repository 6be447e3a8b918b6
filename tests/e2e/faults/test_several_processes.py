"""Two servers and two workers on one PostgreSQL: a campaign under load, whose every report counts once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import numpy as np

from sordino_analysis.vectorized.payloads import pack_indices
from sordino_server import aggregates, rounds
from sordino_server.kit.db import Database
from sordino_shared.protocol import CBOR_MEDIA_TYPE, DevicePart, ReportBatch, Task
from tests.patience import PATIENCE_S

CLIENTS, BATCHES, BATCH = 5, 4, 20
CELLS = CLIENTS * BATCHES * BATCH
LINE = {"name": "value", "kind": "ordinal", "edges": list(range(1, CELLS))}
WORKLOAD = {"name": "buckets", "domain": [LINE], "queries": "histogram"}


class Campaign:
    """A campaign of the API, in which report n says cell n."""

    def __init__(self, api: httpx.Client, wait_until: Callable[..., None]) -> None:
        order = {"workload": self._post(api, "/v1/workloads", WORKLOAD)["id"], "epsilon": 1}
        plan = self._post(api, "/v1/plan-requests", order | {"mechanism": "randomized_response"})["id"]
        asked = f"/v1/plan-requests/{plan}"
        wait_until(lambda: api.get(asked).json()["state"] == "ready", "a worker has computed the plan")
        terms = {"name": "x", "purpose": "We ask.", "population": "all", "plan_request": plan}
        self.id = self._post(api, "/v1/campaigns", terms)["id"]
        self.api_path = f"/v1/campaigns/{self.id}"
        self._post(api, f"{self.api_path}/open")
        self.path = f"{self.api_path}/rounds/0/reports"
        task = Task.read(api.get(f"{self.api_path}/task", headers={"Accept": CBOR_MEDIA_TYPE}).content)
        self._epoch = task.epoch
        self.part = DevicePart.read(api.get(f"/v1/plans/{task.device_parts[0]}").content, task.device_parts[0])

    def body(self, numbers: range) -> bytes:
        ids = b"".join(self._epoch.to_bytes(2, "big") + number.to_bytes(14, "big") for number in numbers)
        return ReportBatch(self.part.digest, ids, pack_indices(np.array(numbers), 2).tobytes()).content

    def counted(self, database: Database) -> set[int]:
        """Numbers of the reports that count, none of them twice."""
        with database.read() as session:
            row = rounds.find(session, self.id, 0)
        assert row is not None
        total = aggregates.aggregate(database, row.id, self.part.randomizer)
        logged = aggregates.re_aggregate(database, row.id, self.part.randomizer, total.count)
        assert logged.sums.tobytes() == total.sums.tobytes()
        assert set(total.sums.tolist()) <= {0, 1}
        return {int(cell) for cell in np.flatnonzero(total.sums)}

    @staticmethod
    def _post(api: httpx.Client, path: str, document: Any = None) -> Any:
        return api.post(path, json=document).raise_for_status().json()


def test_two_servers_and_two_workers_on_one_postgresql(
    installation: Any, migrated_postgres_url: str, load: Callable[..., Any], wait_until: Callable[..., None]
) -> None:
    """A worker dies, the round is closed by one server while both take reports, and the other worker estimates it."""
    here = {"SORDINO_DATABASE_URL": migrated_postgres_url}
    workers = [installation.start("worker", **here)[0] for _ in range(2)]
    (first, address), (second, other) = installation.serve_several(2, **here)
    key = installation.json("keys", "create", "--role", "admin", "--name", "test", **here)["key"]
    with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {key}"}, timeout=PATIENCE_S) as api:
        campaign = Campaign(api, wait_until)
        clients = load(campaign, [address, other], clients=CLIENTS, batches=BATCHES)
        with clients.running():
            clients.await_answers(5)
            workers[0].kill()
            clients.await_answers(5)
            clients.closing = True
            closed = api.post(f"{campaign.api_path}/close").raise_for_status().json()
        database = Database(migrated_postgres_url)
        assert campaign.counted(database) == clients.acknowledged
        assert closed["rounds"][0]["reports"] == len(clients.acknowledged)
        database.close()

        estimates = f"{campaign.api_path}/rounds/0/estimates"
        wait_until(lambda: api.get(estimates).status_code == 200, "the worker that is left has estimated the round")
        document = api.get(estimates)
        headers = dict(api.headers)
        assert httpx.get(other + estimates, headers=headers, timeout=PATIENCE_S).content == document.content
        assert document.json()["terms"]["users"] == len(clients.acknowledged)
    for process in (first, second, workers[1]):
        process.terminate()
    assert [process.wait(PATIENCE_S) for process in (first, second, workers[1])] == [0, 0, 0]
