"""What a question would tell at five ε: over REST, by digest, with a rate for each key."""

from __future__ import annotations

import asyncio
import math
from typing import Any, cast

import pytest

from sordino_analysis.documents.plan_summary import two_sided
from sordino_server.context import Context
from sordino_server.kit.token_buckets import TokenBuckets
from sordino_server.models import Role
from sordino_server.plans.previews import A_MINUTE, EPSILONS, ErrorPreview, Previews
from sordino_server.workloads.checking import CheckedWorkload, check_document

QUESTION = {"name": "h", "domain": [{"name": "v", "kind": "categorical", "labels": ["a", "b"]}], "queries": "histogram"}
PAIRS = {
    "name": "p",
    "statistic": "gini_mean_difference",
    "attribute": {"name": "v", "kind": "number", "low": 0, "high": 1},
}


def test_a_preview_is_the_error_of_its_plan_and_stores_nothing(running: Any) -> None:
    response = running.api.post("/v1/previews", json=QUESTION)
    assert response.status_code == 200, response.text
    preview = ErrorPreview.model_validate(response.json())
    assert [row.epsilon for row in preview.rows] == list(EPSILONS)
    assert preview.factor == pytest.approx(two_sided(0.95, 2))
    # Two labels: randomised response, whose variance of a share is e^ε/(e^ε − 1)² and at most as much for the count.
    for row in preview.rows:
        odds = math.exp(float(row.epsilon))
        assert row.variance == pytest.approx(odds / (odds - 1) ** 2, rel=0.1)
    half = preview.half_width(2, 10_000)
    assert half == pytest.approx(preview.factor * math.sqrt(preview.rows[2].variance / 1e4))
    assert preview.devices(2, half) in (10_000, 10_001)
    assert running.api.get("/v1/workloads").json()["workloads"] == []
    assert running.api.get("/v1/plan-requests").json()["plan_requests"] == []


def test_what_has_no_preview_is_said(running: Any) -> None:
    many = {**QUESTION, "domain": [{"name": "v", "kind": "integers", "low": 0, "high": 2000}]}
    response = running.api.post("/v1/previews", json=many)
    assert response.status_code == 422
    assert "at most 1,024 answers have a preview: request a plan" in response.json()["detail"]
    means = {**QUESTION, "domain": [{"name": "v", "kind": "integers", "low": 0, "high": 9}], "queries": {"v": ["mean"]}}
    assert "only questions of shares" in running.api.post("/v1/previews", json=means).json()["detail"]
    assert "of shares and means" not in running.api.post("/v1/previews", json=means).json()["detail"]
    assert running.api.post("/v1/previews", json={"name": "h"}).status_code == 422
    assert running.api.post("/v1/previews", content=b"{}").status_code == 415
    key = running.key(Role.UPLOADER)
    refused = running.anonymous.post("/v1/previews", json=QUESTION, headers={"Authorization": f"Bearer {key}"})
    assert refused.status_code == 403


def test_a_key_computes_ten_a_minute_and_known_ones_are_free(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def known(_: object, checked: Any) -> ErrorPreview:
        return ErrorPreview(workload=checked.id, queries=1, level=0.95, factor=2.0, rows=[])

    monkeypatch.setattr("sordino_server.plans.previews._compute", known)
    now = [0.0]
    monkeypatch.setattr(
        running.app.state.previews, "_buckets", TokenBuckets(A_MINUTE / 60, A_MINUTE, tick=lambda: now[0])
    )
    questions = [QUESTION | {"name": f"h{number}"} for number in range(A_MINUTE + 1)]
    for question in questions[:-1]:
        assert running.api.post("/v1/previews", json=question).status_code == 200
    assert running.api.post("/v1/previews", json=questions[0]).status_code == 200
    refused = running.api.post("/v1/previews", json=questions[-1])
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "6")
    assert refused.json()["detail"] == "a key may ask for 10 previews a minute: ask again in 6 s"
    now[0] = 6.0
    assert running.api.post("/v1/previews", json=questions[-1]).status_code == 200


def test_what_is_known_waits_for_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (
        check_document(QUESTION | {"domain": [{"name": "v", "kind": "categorical", "labels": labels}]})
        for labels in (["a", "b"], ["a", "c"])
    )
    searches, never = [0], asyncio.Event()

    async def computed(_: object, checked: CheckedWorkload) -> ErrorPreview:
        searches[0] += 1
        if checked.id == second.id:
            await never.wait()
        return ErrorPreview(workload=checked.id, queries=1, level=0.95, factor=2.0, rows=[])

    monkeypatch.setattr("sordino_server.plans.previews._compute", computed)

    async def ask() -> None:
        previews, context = Previews(), cast(Context, None)
        await previews.preview(context, first, "ana")
        slow = asyncio.create_task(previews.preview(context, second, "ben"))
        await asyncio.sleep(0)
        await asyncio.wait_for(previews.preview(context, first, "ana"), 1)
        assert searches[0] == 2
        slow.cancel()

    asyncio.run(ask())
