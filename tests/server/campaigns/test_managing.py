"""What operators see of a campaign's question and error, and how they put campaigns away."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from sordino_server.campaigns.question import Question
from sordino_shared.protocol import Problem

Check = Callable[..., dict[str, Any]]


def _campaigns(running: Any, **filters: Any) -> list[str]:
    answer = running.api.get("/v1/campaigns", params=filters).raise_for_status().json()
    return [campaign["id"] for campaign in answer["campaigns"]]


def test_the_status_states_the_question_and_the_error_now_and_with_the_users_wanted(running: Any) -> None:
    request = running.ready_plan(users=400)
    terms = {"name": "delays", "purpose": "How late?", "population": "travellers", "plan_request": request["id"]}
    created = running.api.post("/v1/campaigns", json=terms).raise_for_status().json()
    question, summary = created["question"], request["summary"]
    assert (question["workload"], question["plan_request"]) == (request["workload"], request["id"])
    assert (question["name"], question["queries"], created["epsilon"]) == ("delays", summary["queries"], 1.0)
    assert created["predicted"] == {
        "users_now": 0,
        "rmse_now": None,
        "users_wanted": 400,
        "rmse_wanted": pytest.approx(summary["predicted_max_rmse"]),
    }
    assert [created["rounds"][0][part] for part in ("device_digest", "analyst_digest")] == [
        request["device_digest"],
        request["analyst_digest"],
    ]
    running.api.post(f"/v1/campaigns/{created['id']}/open").raise_for_status()
    running.report(created, [0, 1, 2, 1]).raise_for_status()
    predicted = running.api.get(f"/v1/campaigns/{created['id']}/status").json()["predicted"]
    assert predicted["users_now"] == 4
    assert predicted["rmse_now"] == pytest.approx(10 * predicted["rmse_wanted"])


def test_a_campaign_that_closes_by_itself_wants_that_many_users(running: Any) -> None:
    request = running.ready_plan(users=400)
    terms = {"name": "delays", "purpose": "How late?", "population": "travellers", "plan_request": request["id"]}
    closing = running.api.post("/v1/campaigns", json=terms | {"close_after_reports": 100}).raise_for_status().json()
    assert closing["predicted"]["users_wanted"] == 100
    assert closing["predicted"]["rmse_wanted"] == pytest.approx(2 * request["summary"]["predicted_max_rmse"])


def test_bias_does_not_shrink_with_users_and_a_statistic_has_an_error_for_its_users_alone() -> None:
    common = {"plan_request": "0" * 32, "workload": "0" * 64, "name": "made up", "queries": 3}
    linear = Question(**common, users=None, variance=4.0, bias_bound=0.3, predicted_rmse=None)
    assert linear.rmse(25) == pytest.approx(math.sqrt(4 / 25 + 0.09))
    assert linear.rmse(0) is None
    pairwise = Question(**common, users=1000, variance=None, bias_bound=0.0, predicted_rmse=0.1)
    assert (pairwise.rmse(1000), pairwise.rmse(999)) == (0.1, None)


def test_an_archived_campaign_is_listed_apart_until_it_is_restored_or_opened(
    running: Any, check_problem: Check
) -> None:
    identifier = running.campaign()["id"]
    path = f"/v1/campaigns/{identifier}"
    archived = running.api.post(f"{path}/archive").raise_for_status().json()
    assert archived["archived_at"] == running.clock.now()
    assert archived["archived"].endswith("Z")
    assert (_campaigns(running, archived=False), _campaigns(running, archived=True)) == ([], [identifier])
    assert _campaigns(running) == [identifier]
    assert running.api.post(f"{path}/restore").json()["archived_at"] is None
    assert _campaigns(running, archived=False) == [identifier]
    running.api.post(f"{path}/archive").raise_for_status()
    assert running.api.post(f"{path}/open").raise_for_status().json()["archived_at"] is None
    check_problem(running.api.post(f"{path}/archive"), Problem.ILLEGAL_TRANSITION)
    running.api.post(f"{path}/close").raise_for_status()
    running.api.post(f"{path}/archive").raise_for_status()
    assert running.anonymous.get(path).is_success


def test_only_a_campaign_that_was_never_opened_is_deleted(running: Any, check_problem: Check) -> None:
    """With its upload token and its counts of refusals; the audit log says who did it."""
    opened = running.campaign("open")
    check_problem(running.api.delete(f"/v1/campaigns/{opened['id']}"), Problem.ILLEGAL_TRANSITION)
    terms = {"name": "draft", "purpose": "How late?", "population": "travellers", "upload_token": True}
    terms |= {"plan_request": running.ready_plan()["id"], "close_after_reports": 10}
    draft = running.api.post("/v1/campaigns", json=terms).raise_for_status().json()
    assert running.report(draft, [0]).status_code == 401
    with running.client(draft["upload_token"]) as device:
        check_problem(device.delete(f"/v1/campaigns/{draft['id']}"), Problem.FORBIDDEN)
    deleted = running.api.delete(f"/v1/campaigns/{draft['id']}")
    assert (deleted.status_code, deleted.content) == (204, b"")
    check_problem(running.anonymous.get(f"/v1/campaigns/{draft['id']}"), Problem.NOT_FOUND)
    check_problem(running.api.delete(f"/v1/campaigns/{draft['id']}"), Problem.NOT_FOUND)
    assert _campaigns(running) == [opened["id"]]
    assert all(key["campaign"] is None for key in running.api.get("/v1/keys").json()["keys"])
    newest = running.api.get("/v1/audit-log").json()["entries"][0]
    assert (newest["action"], newest["path"]) == ("delete campaign", f"/v1/campaigns/{draft['id']}")


def test_every_time_is_also_iso_8601(running: Any) -> None:
    """Whatever ends in `_at` has the same time in text beside it."""
    running.campaign("open", "close")
    for path in ("plan-requests", "keys", "populations", "workloads", "audit-log", "campaigns"):
        answer: httpx.Response = running.api.get(f"/v1/{path}")
        [items] = [value for value in answer.json().values() if isinstance(value, list)]
        times = {name for item in items for name in item if name.endswith("_at")}
        assert times, path
        for item in items:
            for name in times:
                text = item[name.removesuffix("_at")]
                assert (item[name] is None) == (text is None)
                assert text is None or (text[10], text[-1]) == ("T", "Z")
