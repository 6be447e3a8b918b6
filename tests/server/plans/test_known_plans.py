"""What was planned once answers every later request of the same content; what failed or was cut short does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning.planning_request import PlanningRequest
from sordino_analysis.planning_options import PlanError
from sordino_analysis.progress import ProgressCallback

SHOWN = ("summary", "device_digest", "analyst_digest", "variance", "ratio", "state", "progress", "stage")


def refused(request: PlanningRequest, progress: ProgressCallback) -> FinishedPlan:
    """A planner that must not be asked."""
    raise PlanError("nobody was to compute this")


def shown(running: Any, identifier: str) -> dict[str, Any]:
    """The plan request as it is now."""
    document: dict[str, Any] = running.api.get(f"/v1/plan-requests/{identifier}").raise_for_status().json()
    return document


def test_a_plan_that_is_known_is_there_at_once(running: Any) -> None:
    first = running.ready_plan(seed=3, users=100)
    running.compute = refused
    again = running.plan_request(epsilon="1.0", seed=3, users=100, time_limit=60)
    assert again["id"] != first["id"]
    assert {name: again[name] for name in SHOWN} == {name: first[name] for name in SHOWN}
    assert again["finished_at"] == again["created_at"]
    assert running.worker().step() is False


@pytest.mark.parametrize(
    "change", [{"seed": 4}, {"users": 101}, {"epsilon": 2}, {"objective": "mean"}, {"effort": "quick"}]
)
def test_another_request_is_computed(running: Any, change: dict[str, Any]) -> None:
    running.ready_plan(seed=3, users=100)
    assert running.plan_request(**{"seed": 3, "users": 100} | change)["state"] == "queued"


def test_twins_that_wait_are_computed_once(running: Any) -> None:
    twins = [running.plan_request()["id"] for _ in range(3)]
    usual, computed = running.compute, []

    def count(request: PlanningRequest, progress: ProgressCallback) -> FinishedPlan:
        computed.append(request)
        plan: FinishedPlan = usual(request, progress)
        return plan

    running.compute = count
    running.work()
    assert len(computed) == 1
    assert len({shown(running, twin)["device_digest"] for twin in twins}) == 1


def test_what_failed_is_computed_when_it_is_asked_again(running: Any) -> None:
    usual, running.compute = running.compute, refused
    failed = running.plan_request()
    running.work()
    assert shown(running, failed["id"])["state"] == "failed"
    running.compute = usual
    again = running.plan_request()
    assert again["state"] == "queued"
    running.work()
    assert shown(running, again["id"])["state"] == "ready"
    assert shown(running, failed["id"])["state"] == "failed"


def test_what_was_cut_short_answers_nobody_else(running: Any) -> None:
    usual = running.compute

    def cut(request: PlanningRequest, progress: ProgressCallback) -> FinishedPlan:
        plan: FinishedPlan = usual(request, progress)
        return replace(plan, summary=plan.summary.model_copy(update={"cut_short": "time limit"}))

    running.compute = cut
    assert running.ready_plan(time_limit=1)["summary"]["cut_short"] == "time limit"
    running.compute = usual
    assert running.plan_request()["state"] == "queued"
    assert running.plan_request(time_limit=1)["state"] == "queued"
