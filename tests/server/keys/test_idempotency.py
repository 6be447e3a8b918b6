"""A POST with an Idempotency-Key happens once, however often it is sent."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from sordino_server.keys.idempotency import REMEMBERED_S
from sordino_shared.protocol import Problem

Check = Callable[..., dict[str, Any]]


def _ask(running: Any, token: str, **changes: Any) -> Any:
    order = {"workload": running.workload(), "epsilon": 1} | changes
    return running.api.post("/v1/plan-requests", json=order, headers={"Idempotency-Key": token})


def test_the_same_request_gets_the_same_answer(running: Any) -> None:
    first, second = _ask(running, "a"), _ask(running, "a")
    assert (second.status_code, second.json()) == (202, first.json())
    assert second.headers["location"] == first.headers["location"]
    assert len(running.api.get("/v1/plan-requests").json()["plan_requests"]) == 1


def test_another_request_under_the_key_is_refused(running: Any, check_problem: Check) -> None:
    _ask(running, "a")
    check_problem(_ask(running, "a", epsilon=2), Problem.IDEMPOTENCY_CONFLICT)
    elsewhere = running.api.post("/v1/keys", json={}, headers={"Idempotency-Key": "a"})
    check_problem(elsewhere, Problem.INVALID_REQUEST)


def test_the_same_body_under_another_path_is_refused(running: Any, check_problem: Check) -> None:
    """Neither has a body: what tells the two apart is where they go."""
    path, key = f"/v1/campaigns/{running.campaign()['id']}", {"Idempotency-Key": "a"}
    assert running.api.post(f"{path}/open", headers=key).json()["state"] == "open"
    check_problem(running.api.post(f"{path}/close", headers=key), Problem.IDEMPOTENCY_CONFLICT, f"POST {path}/open")
    assert running.api.get(f"{path}/status").json()["state"] == "open"


def test_a_refused_request_leaves_the_key_free(running: Any) -> None:
    assert _ask(running, "a", epsilon=0).status_code == 422
    assert _ask(running, "a").status_code == 202


def test_keys_of_two_operators_are_their_own(running: Any) -> None:
    first = _ask(running, "a").json()
    with running.client(running.key("analyst")) as other:
        order = {"workload": running.workload(), "epsilon": 1}
        second = other.post("/v1/plan-requests", json=order, headers={"Idempotency-Key": "a"}).json()
    assert second["id"] != first["id"]


def test_the_key_is_forgotten_after_some_days(running: Any) -> None:
    first = _ask(running, "a").json()
    running.clock.advance(REMEMBERED_S + 1)
    assert _ask(running, "a").json()["id"] != first["id"]


@pytest.mark.parametrize("server", ["running", "running_on_postgres"])
def test_many_at_once_do_it_once(request: pytest.FixtureRequest, server: str) -> None:
    running = request.getfixturevalue(server)
    workload = running.workload()
    order = {"workload": workload, "epsilon": 1}

    def ask(_: int) -> tuple[int, str]:
        response = running.api.post("/v1/plan-requests", json=order, headers={"Idempotency-Key": "a"})
        return response.status_code, response.json().get("id")

    with ThreadPoolExecutor(8) as pool:
        answers = set(pool.map(ask, range(16)))
    assert len(answers) == 1
    assert len(running.api.get("/v1/plan-requests").json()["plan_requests"]) == 1
