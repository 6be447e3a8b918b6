"""A worker computes each thing once, survives another's death, and keeps the reason where something cannot be had."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sordino_analysis.planning_options import PlanError
from sordino_analysis.progress import Progress, ProgressCallback
from sordino_server.jobs import worker as worker_module
from sordino_server.jobs.worker import Worker
from sordino_server.kit.database_errors import DatabaseBusy
from sordino_server.plans import service as plans
from sordino_shared.protocol import Problem


def _state(running: Any, identifier: str) -> dict[str, Any]:
    document: dict[str, Any] = running.api.get(f"/v1/plan-requests/{identifier}").raise_for_status().json()
    return document


def _claim_and_die(running: Any, owner: str) -> None:
    now, seconds = running.clock.now(), running.settings.lease_s
    with running.database.write("claim") as session:
        row = plans.begin(session, owner=owner, now=now, seconds=seconds)
        assert row is None or row.lease_owner == owner


def test_nothing_to_do(running: Any) -> None:
    assert running.worker().step() is False


def test_the_work_of_a_dead_worker_goes_to_another(running: Any) -> None:
    identifier = running.plan_request()["id"]
    _claim_and_die(running, "dead")
    assert running.worker().step() is False
    assert _state(running, identifier)["state"] == "running"
    running.clock.advance(running.settings.lease_s)
    assert running.worker().step() is True
    document = _state(running, identifier)
    assert (document["state"], document["attempts"]) == ("ready", 2)


@pytest.mark.parametrize("jump", [-400 * 86_400, 400 * 86_400])
def test_the_work_of_a_dead_worker_is_found_after_the_clock_jumped(running: Any, jump: int) -> None:
    identifier = running.plan_request()["id"]
    _claim_and_die(running, "dead")
    running.clock.advance(jump)
    assert running.worker().step() is True
    assert _state(running, identifier)["state"] == "ready"


def test_a_campaign_goes_on_while_the_clock_jumps(running: Any) -> None:
    """The head of report ids is the round's and not the day's; nothing is refused and nothing counts twice."""
    campaign = running.campaign("open")
    for jump, seed in ((-86_400, 1), (3 * 86_400, 2), (-400 * 86_400, 3), (0, 1)):
        running.clock.advance(jump)
        assert running.report(campaign, [0, 1, 2, 3], seed=seed).status_code == 200
    path = f"/v1/campaigns/{campaign['id']}"
    assert running.api.post(f"{path}/close").raise_for_status().json()["rounds"][0]["reports"] == 12
    running.work()
    first = running.api.get(f"{path}/rounds/0/estimates")
    running.clock.advance(10**8)
    assert running.api.get(f"{path}/rounds/0/estimates").content == first.raise_for_status().content


def test_what_kills_every_worker_ends_as_failed(running: Any) -> None:
    identifier = running.plan_request()["id"]
    for number in range(plans.MAX_ATTEMPTS):
        _claim_and_die(running, f"dead {number}")
        running.clock.advance(running.settings.lease_s)
    running.work()
    document = _state(running, identifier)
    assert document["state"] == "failed"
    assert "smaller" in document["error"]


@pytest.mark.parametrize("silent", [False, True])
def test_a_result_after_the_lease_is_lost_is_dropped(running: Any, silent: bool) -> None:
    identifier = running.plan_request()["id"]
    plans_made: list[str] = []
    finished: list[int] = []

    def compile_slowly(request: Any, progress: ProgressCallback) -> Any:
        if not plans_made:
            plans_made.append("slow")
            running.clock.advance(running.settings.lease_s)
            assert running.worker().step() is True
            finished.append(_state(running, identifier)["finished_at"])
            running.clock.advance(1)
            if not silent:
                progress(Progress(0.5, "far too late"))
            return request.compile()
        plans_made.append("quick")
        return request.compile()

    running.compute = compile_slowly
    assert running.worker().step() is True
    document = _state(running, identifier)
    assert (document["state"], document["stage"], plans_made) == ("ready", "ready", ["slow", "quick"])
    assert [document["finished_at"]] == finished


def test_progress_is_shown(running: Any) -> None:
    identifier = running.plan_request()["id"]
    seen = []

    def watched(request: Any, progress: ProgressCallback) -> Any:
        for told in (Progress(0.25, "bounding"), Progress(0.5, "searching", variance=3.0, bound=2.0)):
            progress(told)
            document = _state(running, identifier)
            seen.append([document[name] for name in ("state", "stage", "progress", "variance", "ratio")])
        return request.compile()

    running.compute = watched
    running.work()
    assert seen == [["running", "bounding", 0.25, None, None], ["running", "searching", 0.5, 3.0, 1.5]]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (PlanError("no mechanism applies; ask fewer queries"), "ask fewer queries"),
        (RuntimeError("the password is s3cret"), "RuntimeError"),
        (MemoryError(), "MemoryError"),
    ],
)
def test_a_plan_that_fails_keeps_its_reason(running: Any, error: Exception, told: str) -> None:
    def refuse(*_: object) -> None:
        raise error

    identifier = running.plan_request()["id"]
    running.compute = refuse
    running.work()
    document = _state(running, identifier)
    assert document["state"] == "failed"
    assert told in document["error"]
    assert "s3cret" not in document["error"]
    assert document["finished_at"] == running.clock.now()


def test_a_database_that_fails_for_a_while_fails_nothing(running: Any) -> None:
    def busy(*_: object) -> None:
        raise DatabaseBusy("the database is locked")

    identifier = running.plan_request()["id"]
    usual, running.compute = running.compute, busy
    with pytest.raises(DatabaseBusy):
        running.worker().step()
    running.compute = usual
    assert _state(running, identifier)["state"] == "running"
    running.clock.advance(running.settings.lease_s)
    running.work()
    assert _state(running, identifier)["state"] == "ready"


def test_a_worker_that_is_stopped_gives_its_work_back(running: Any) -> None:
    identifier = running.plan_request()["id"]
    stopped: Worker = running.worker()

    def stop_in_the_middle(_: Any, progress: ProgressCallback) -> None:
        stopped.stop.set()
        progress(Progress(0.5, "searching"))
        raise AssertionError("progress ends a computation that is to stop")

    usual, running.compute = running.compute, stop_in_the_middle
    stopped.run()
    running.compute = usual
    document = _state(running, identifier)
    assert (document["state"], document["attempts"]) == ("queued", 0)
    running.work()
    assert _state(running, identifier)["state"] == "ready"


def test_the_lease_is_renewed_while_a_computation_says_nothing(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock passes two leases, a third of one at a time; the renewing thread keeps the row all the while."""
    monkeypatch.setattr(worker_module, "_RENEWALS_A_LEASE", 3_000)
    identifier = running.plan_request()["id"]
    lease = running.settings.lease_s

    def compile_silently(request: Any, _: ProgressCallback) -> Any:
        for _ in range(6):
            running.clock.advance(lease // 3)
            _wait_for_renewal(running, identifier, running.clock.now() + lease)
            assert running.worker().step() is False
        return request.compile()

    running.compute = compile_silently
    assert running.worker().step() is True
    assert _state(running, identifier)["attempts"] == 1


def _wait_for_renewal(running: Any, identifier: str, until: int) -> None:
    for _ in range(2_000):
        with running.database.read() as session:
            row = plans.get(session, identifier)
            if row.lease_until == until:
                return
    pytest.fail("the lease was not renewed")


def test_estimates_that_cannot_be_had_keep_their_reason(
    running: Any, check_problem: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = running.campaign("open")
    running.report(campaign, [0, 1, 2])
    running.api.post(f"/v1/campaigns/{campaign['id']}/close")

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the password is s3cret")

    monkeypatch.setattr("sordino_server.answers.next_step.compute", fail)
    running.work()
    response = running.api.get(f"/v1/campaigns/{campaign['id']}/rounds/0/estimates")
    check_problem(response, Problem.ESTIMATE_NOT_READY, "RuntimeError")
    assert "s3cret" not in response.text
