"""Histograms that are too long to list, from the workload to the estimate: the largest items, or none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sordino_analysis.estimation.items import MOST_PUBLISHED_ITEMS, ItemEstimator
from sordino_analysis.evaluation.item_counts import count_items
from sordino_analysis.vectorized.domains import codes_many
from sordino_analysis.vectorized.randomizers import randomize_part
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_server.aggregates.log_pages import log_pages
from sordino_server.plans import service as plans
from sordino_shared.protocol import CBOR_MEDIA_TYPE, ReportBatch, Task
from tests.estimates import answers_of, ends_of, facts_of

INTEGERS = {"name": "item", "kind": "integers", "low": 1, "high": 1 << 17}
HASHED = {"name": "url", "kind": "hashed", "bits": 64}
BATCHES, SIZE = 20, 1000


def _estimated(running: Any, attribute: dict[str, Any], values: list[object]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A closed campaign in which each of the values is reported BATCHES·SIZE/len(values) times, and its estimate."""
    workload = running.workload({"name": "items", "domain": [attribute], "queries": "histogram"})
    campaign = running.campaign("open", workload=workload, mechanism="coarsened_histogram", epsilon=4)
    part = running.device_part(campaign)
    codes = codes_many(part.domain, (values * SIZE)[:SIZE])
    path = f"/v1/campaigns/{campaign['id']}"
    epoch = Task.read(running.anonymous.get(f"{path}/task").content).epoch
    for seed in range(BATCHES):
        randomness = SeededRandomness(100 + seed)
        payloads = randomize_part(part, codes, randomness)
        ids = b"".join(epoch.to_bytes(2, "big") + randomness.bytes(14) for _ in range(SIZE))
        body = ReportBatch(part.digest, ids, payloads.tobytes()).content
        sent = running.anonymous.post(
            f"{path}/rounds/0/reports", content=body, headers={"Content-Type": CBOR_MEDIA_TYPE}
        )
        assert sent.status_code == 200
    running.api.post(f"{path}/close").raise_for_status()
    running.work()
    return campaign, running.api.get(f"{path}/rounds/0/estimates").raise_for_status().json()


def test_the_largest_items_are_published_with_a_band_for_all(running: Any) -> None:
    _, document = _estimated(running, INTEGERS, [70_000] * 6 + [3] * 3 + [131_072])
    rows = answers_of(document)
    assert len(rows) == MOST_PUBLISHED_ITEMS
    assert document["terms"]["unlisted"] == (1 << 17) - MOST_PUBLISHED_ITEMS
    assert document["terms"]["mechanism"] == "coarsened_histogram"
    assert [row["label"] for row in rows[:3]] == ["70000", "3", "131072"]
    assert [[row["item_low"], row["item_high"]] for row in rows] == [[int(row["label"])] * 2 for row in rows]
    for row, share in zip(rows, (0.6, 0.3, 0.1, *[0.0] * 997), strict=True):
        # False alarms: one in 20 for the whole list, by construction; the seeds are fixed.
        assert row["band_lower"] <= share <= row["band_upper"]
        # Chosen after looking, even the smallest of the thousand look larger than they are: the band knows.
        assert ends_of(row) == ends_of(row, "population_") == ends_of(row, "band_")
        assert row["value"] > 2 * row["standard_error"]
    assert "largest of 131072 items" in document["extras"]["warnings"][0]
    assert sum(row["best"] for row in rows) <= 1 + 1e-9


def test_hashed_texts_are_answered_item_by_item_from_the_log(running: Any) -> None:
    texts = ["https://a.example"] * 7 + ["https://b.example"] * 3
    campaign, document = _estimated(running, HASHED, texts)
    facts = facts_of(document)
    assert (answers_of(document), facts["unlisted"], facts["users"]) == ([], 2**64, BATCHES * SIZE)
    assert "ask for items by their values" in document["extras"]["warnings"][0]
    with running.database.read("test") as session:
        number = session.connection().exec_driver_sql("SELECT id FROM rounds").scalar_one()
        device = plans.device_part(session, campaign["rounds"][0]["device_digest"])
        analyst = plans.analyst_part(session, campaign["rounds"][0]["analyst_digest"])
    codes = codes_many(device.domain, ["https://a.example", "https://b.example", "https://c.example"])
    pages = log_pages(running.database, number, device.randomizer.payload_bytes)
    counts = sum(count_items(device.randomizer, page, codes) for page in pages)
    found = ItemEstimator(device, analyst).of_counts(codes, np.asarray(counts), BATCHES * SIZE)
    # Six standard errors: one false alarm in 5·10^8 for each.
    assert np.abs(found.value - [0.7, 0.3, 0.0]) == pytest.approx(0, abs=6 * found.standard_error.max())
    assert found.standard_error.max() < 0.01


def test_what_cannot_be_asked_is_refused(running: Any) -> None:
    def refused(*domain: dict[str, Any], queries: Any = "histogram") -> str:
        body = {"name": "items", "domain": list(domain), "queries": queries}
        response = running.api.post("/v1/workloads", json=body)
        assert response.status_code == 422
        return str(response.json())

    assert "from 1 to 64" in refused({**HASHED, "bits": 65})
    assert "from 1 to 64" in refused({**HASHED, "bits": 0})
    assert "no members" in refused({**INTEGERS, "high": 0})
    assert "at least two" in refused({**INTEGERS, "high": 1})
    assert "highest integer" in refused({**INTEGERS, "high": 2**64})
    assert "needs an order" in refused(HASHED, queries="prefix")
    assert "step" in refused({"name": "x", "kind": "ordinal", "edges": {"start": 0, "step": 0, "count": 9}})
    registered = running.api.get(
        f"/v1/workloads/{running.workload({'name': 'u', 'domain': [HASHED], 'queries': 'histogram'})}"
    )
    assert "cells" not in registered.json() or registered.json()["cells"] is None
    assert registered.json()["queries"] == 1
