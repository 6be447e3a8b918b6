"""What a worker says of its jobs: how they ended, how long they took, and how long the oldest one waits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sordino_analysis.planning_options import PlanError
from sordino_server.jobs.watch import Stopped
from sordino_server.jobs.worker import Worker
from sordino_server.jobs.worker_metrics import WorkerMetrics
from sordino_server.kit.database_errors import DatabaseBusy
from sordino_server.plans import service as plans

DAY_S = 86_400


@pytest.fixture
def metrics(running: Any) -> WorkerMetrics:
    return WorkerMetrics(running.database, running.clock)


def worker(running: Any, metrics: WorkerMetrics) -> Worker:
    def compute(*arguments: Any) -> Any:
        return running.compute(*arguments)  # looked up when it is called

    return Worker.of(running.database, running.clock, running.settings, compute, metrics.finished)


def jobs(metrics: WorkerMetrics) -> dict[tuple[str, str], float]:
    """Jobs by kind and outcome, where there were any."""
    samples = [
        sample
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == "sordino_jobs_total"
    ]
    assert len(samples) == 25, "every counter is there from the start"
    return {(sample.labels["kind"], sample.labels["outcome"]): sample.value for sample in samples if sample.value}


def age(metrics: WorkerMetrics, kind: str) -> float | None:
    return metrics.registry.get_sample_value("sordino_oldest_waiting_job_age_seconds", {"kind": kind})


def test_a_plan_and_a_round_and_a_purge(running: Any, metrics: WorkerMetrics) -> None:
    assert jobs(metrics) == {}
    running.plan_request()
    assert worker(running, metrics).step()
    assert jobs(metrics) == {("plan", "done"): 1}
    campaign = running.campaign("open")
    running.report(campaign, [0, 1, 2, 3])
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    while worker(running, metrics).step():
        pass
    assert jobs(metrics) == {("plan", "done"): 1, ("round", "done"): 1}
    running.clock.advance(2 * DAY_S)
    keeping = running.settings.model_copy(update={"raw_report_retention_days": 1})
    replace(worker(running, metrics), settings=keeping).purge()
    assert jobs(metrics)["purge", "done"] == 1
    for kind in ("plan", "round", "purge"):
        assert metrics.registry.get_sample_value("sordino_job_duration_seconds_count", {"kind": kind}) == 1


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (PlanError("no mechanism applies"), "failed"),
        (RuntimeError("a bug"), "failed"),
        (Stopped(), "stopped"),
        (DatabaseBusy("busy"), "interrupted"),
    ],
)
def test_how_a_plan_may_end(running: Any, metrics: WorkerMetrics, error: Exception, outcome: str) -> None:
    def fail(*_: object) -> None:
        raise error

    running.plan_request()
    running.compute = fail
    try:
        worker(running, metrics).step()
    except DatabaseBusy:
        assert outcome == "interrupted"
    assert jobs(metrics) == {("plan", outcome): 1}


@pytest.mark.parametrize("fails", [False, True])
def test_a_lease_that_is_lost(running: Any, metrics: WorkerMetrics, fails: bool) -> None:
    other = WorkerMetrics(running.database, running.clock)

    def slow(request: Any, _: object) -> Any:
        running.compute = lambda request, _: request.compile()
        running.clock.advance(running.settings.lease_s)
        assert worker(running, other).step()
        if fails:
            raise PlanError("too late")
        return request.compile()

    running.plan_request()
    running.compute = slow
    assert worker(running, metrics).step()
    assert jobs(metrics) == {("plan", "lost"): 1}
    assert jobs(other) == {("plan", "done"): 1}


def test_the_seconds_of_a_job(running: Any, metrics: WorkerMetrics) -> None:
    metrics.finished("plan", "done", 7.0)
    metrics.finished("plan", "failed", 0.2)
    value = metrics.registry.get_sample_value
    assert value("sordino_job_duration_seconds_sum", {"kind": "plan"}) == 7.2
    assert value("sordino_job_duration_seconds_bucket", {"kind": "plan", "le": "5.0"}) == 1
    assert value("sordino_job_duration_seconds_bucket", {"kind": "plan", "le": "10.0"}) == 2


def test_a_plan_waits_until_somebody_has_it_and_again_when_its_worker_died(
    running: Any, metrics: WorkerMetrics
) -> None:
    assert age(metrics, "plan") == 0
    running.plan_request()
    running.clock.advance(100)
    running.plan_request(epsilon=2)
    assert age(metrics, "plan") == 100
    for owner in ("first", "second"):
        with running.database.write("claim") as session:
            plans.begin(session, owner=owner, now=running.clock.now(), seconds=30)
    assert age(metrics, "plan") == 0
    running.clock.advance(30)
    assert age(metrics, "plan") == 130
    running.clock.advance(-1000)
    assert age(metrics, "plan") == 0
    running.clock.advance(1000)
    running.work()
    assert age(metrics, "plan") == 0


def test_a_round_waits_from_its_closing_on(running: Any, metrics: WorkerMetrics) -> None:
    campaign = running.campaign("open")
    running.report(campaign, [0, 1, 2, 3])
    running.clock.advance(50)
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.clock.advance(70)
    assert (age(metrics, "round"), age(metrics, "plan")) == (70, 0)
    running.work()
    assert age(metrics, "round") == 0
