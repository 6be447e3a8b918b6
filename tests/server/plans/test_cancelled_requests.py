"""A plan request that nobody wants any more: queued, being computed, finished."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from sordino_analysis.progress import Progress, ProgressCallback
from sordino_server.jobs import watch, worker
from sordino_shared.protocol import Problem
from tests.patience import PATIENCE_S

Check = Callable[..., dict[str, Any]]


def _cancel(running: Any, identifier: str) -> Any:
    return running.api.post(f"/v1/plan-requests/{identifier}/cancel")


def test_a_queued_request_is_never_computed(running: Any, check_problem: Check) -> None:
    request = running.plan_request()
    cancelled = _cancel(running, request["id"]).raise_for_status().json()
    assert (cancelled["state"], cancelled["finished_at"]) == ("cancelled", running.clock.now())
    assert not running.worker().step()
    check_problem(_cancel(running, request["id"]), Problem.ILLEGAL_TRANSITION)
    terms = {"name": "delays", "purpose": "How late?", "population": "travellers", "plan_request": request["id"]}
    document = check_problem(running.api.post("/v1/campaigns", json=terms), Problem.PLAN_NOT_READY)
    assert "cancelled; make another request" in document["detail"]
    assert running.ready_plan()["id"] != request["id"]


def test_a_computation_that_reports_nothing_new_ends_and_its_plan_is_dropped(
    running: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker looks at its lease at the planner's heartbeat, long before it would renew it."""
    monkeypatch.setattr(watch, "_CHECK_EVERY_S", 0.01)
    identifier, beats, outcomes = running.plan_request()["id"], 0, []

    def compile_for_ever(_: Any, progress: ProgressCallback) -> Any:
        nonlocal beats
        _cancel(running, identifier).raise_for_status()
        begun = time.monotonic()
        while time.monotonic() - begun < PATIENCE_S:
            progress(Progress(0.0))
            beats += 1
            time.sleep(0.02)

    busy = worker.Worker.of(
        running.database,
        running.clock,
        running.settings,
        compile_for_ever,
        lambda kind, outcome, seconds: outcomes.append(outcome),
    )
    assert busy.step()
    assert outcomes == ["lost"]
    assert beats < 10
    assert running.api.get(f"/v1/plan-requests/{identifier}").json()["state"] == "cancelled"


def test_unknown_and_finished_requests_are_not_cancelled(running: Any, check_problem: Check) -> None:
    check_problem(_cancel(running, "0" * 32), Problem.NOT_FOUND)
    check_problem(_cancel(running, running.ready_plan()["id"]), Problem.ILLEGAL_TRANSITION)
