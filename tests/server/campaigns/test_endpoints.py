"""The life of a campaign: what it promises never changes, and its state only as the table says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sordino_shared.protocol import (
    CAMPAIGN_TRANSITIONS,
    CBOR_MEDIA_TYPE,
    CampaignId,
    CampaignState,
    Digest,
    Manifest,
    Problem,
    RetryWindow,
    Task,
)

Check = Callable[..., dict[str, Any]]
ACTIONS = {CampaignState.OPEN: "open", CampaignState.CLOSED: "close", CampaignState.CANCELLED: "cancel"}
TO_REACH = {
    CampaignState.READY: (),
    CampaignState.OPEN: ("open",),
    CampaignState.CLOSED: ("open", "close"),
    CampaignState.CANCELLED: ("cancel",),
}


def test_the_manifest_is_the_promise(running: Any) -> None:
    status = running.campaign()
    response = running.anonymous.get(f"/v1/campaigns/{status['id']}", headers={"accept-encoding": "identity"})
    assert response.headers["content-type"] == CBOR_MEDIA_TYPE
    assert "immutable" in response.headers["cache-control"]
    manifest = Manifest.read(response.content, Digest.parse(status["id"]))
    assert (manifest.name, manifest.population) == ("delays", "travellers")
    assert manifest.purpose == "We ask how late you were."
    assert manifest.created_at == running.clock.now()
    assert manifest.device_guarantee.nano == manifest.rounds[0].guarantee.nano == 10**9
    plan = manifest.rounds[0].plan
    assert plan is not None
    assert str(plan.device) == status["rounds"][0]["device_digest"]
    assert manifest.domain == running.device_part(status).domain


def test_people_get_json_and_devices_cbor(running: Any) -> None:
    """Caches must tell the two apart; a device names CBOR, browsers and curl do not."""
    identifier = running.campaign()["id"]
    for path, shown in ((f"/v1/campaigns/{identifier}", "digest"), (f"/v1/campaigns/{identifier}/task", "campaign")):
        for accept in ("*/*", "application/json", "text/html,application/xhtml+xml,*/*;q=0.8", "application/cbor-seq"):
            answer = running.anonymous.get(path, headers={"accept": accept})
            assert answer.headers["content-type"] == "application/json"
            assert answer.json()[shown] == identifier
            assert "Accept" in answer.headers["vary"]
        for accept in (CBOR_MEDIA_TYPE, "application/json, Application/CBOR;q=0.5"):
            answer = running.anonymous.get(path, headers={"accept": accept})
            assert answer.headers["content-type"] == CBOR_MEDIA_TYPE
            assert "Accept" in answer.headers["vary"]


def test_the_task_tells_what_the_settings_say(running: Any) -> None:
    """When devices try again, and how long caches keep it."""
    path = f"/v1/campaigns/{running.campaign()['id']}/task"
    changed = running.settings.model_copy(update={"retry_min_s": 7, "retry_max_s": 11, "task_max_age_s": 13})
    running.app.state.context = replace(running.app.state.context, settings=changed)
    response = running.anonymous.get(path)
    assert Task.read(response.content).retry == RetryWindow(7, 11)
    assert response.headers["cache-control"] == "public, max-age=13"


def _closing(running: Any, **rule: int) -> dict[str, Any]:
    terms = {"name": "delays", "purpose": "We ask how late you were.", "population": "travellers"}
    order = terms | rule | {"plan_request": running.ready_plan()["id"]}
    status: dict[str, Any] = running.api.post("/v1/campaigns", json=order).raise_for_status().json()
    return status


def test_the_task_tells_until_when_a_device_answers_offline_and_when_the_round_closes(running: Any) -> None:
    """A midnight, the same for all who ask on one day, at most the round's end, and no time without an open round."""
    day, opened = 86_400, running.clock.now()
    status = _closing(running, close_after_s=9 * day + 5)
    path = f"/v1/campaigns/{status['id']}"

    def times(**settings: int) -> tuple[int | None, int | None]:
        changed = running.settings.model_copy(update=settings)
        running.app.state.context = replace(running.app.state.context, settings=changed)
        task = Task.read(running.anonymous.get(f"{path}/task").content)
        return task.answer_until, task.accept_until

    assert times() == (None, None)
    running.api.post(f"{path}/open").raise_for_status()
    closes, midnight = opened + 9 * day + 5, opened // day * day
    assert times() == (midnight + 7 * day, closes)
    running.clock.advance(midnight + day - 1 - running.clock.now())
    assert times() == (midnight + 7 * day, closes)
    running.clock.advance(1)
    assert times() == (midnight + 8 * day, closes)
    assert times(offline_days=30) == (closes, closes)
    assert times(offline_days=0) == (None, closes)
    running.api.post(f"{path}/close").raise_for_status()
    assert times(offline_days=30) == (None, None)


def test_a_round_without_a_time_is_accepted_until_nobody_knows_when(running: Any) -> None:
    status = _closing(running, close_after_reports=10)
    running.api.post(f"/v1/campaigns/{status['id']}/open").raise_for_status()
    task = Task.read(running.anonymous.get(f"/v1/campaigns/{status['id']}/task").content)
    assert task.accept_until is None
    assert task.answer_until is not None
    assert 6 * 86_400 < task.answer_until - running.clock.now() <= 7 * 86_400


def test_opening_changes_the_task_and_not_the_manifest(running: Any) -> None:
    status = running.campaign()
    path = f"/v1/campaigns/{status['id']}"
    before, manifest = running.anonymous.get(f"{path}/task"), running.anonymous.get(path).content
    assert Task.read(before.content).round is None
    opened = running.api.post(f"{path}/open").json()
    assert (opened["state"], opened["rounds"][0]["state"]) == ("open", "open")
    after = running.anonymous.get(f"{path}/task")
    task = Task.read(after.content)
    assert (task.round, task.state, str(task.campaign)) == (0, CampaignState.OPEN, status["id"])
    assert [str(digest) for digest in task.device_parts] == [status["rounds"][0]["device_digest"]]
    assert after.headers["cache-control"] == "public, max-age=5"
    assert running.anonymous.get(path).content == manifest


@pytest.mark.parametrize("state", CampaignState)
@pytest.mark.parametrize("wanted", ACTIONS)
def test_only_the_transitions_of_the_table(
    running: Any, check_problem: Check, state: CampaignState, wanted: CampaignState
) -> None:
    campaign = running.campaign(*TO_REACH[state])
    for alone in ("upload_token", "reports_days", "reports_until"):
        campaign.pop(alone, None)
    response = running.api.post(f"/v1/campaigns/{campaign['id']}/{ACTIONS[wanted]}")
    if wanted in CAMPAIGN_TRANSITIONS[state]:
        assert response.json()["state"] == wanted
        return
    document = check_problem(response, Problem.ILLEGAL_TRANSITION)
    assert (document["state"], document["wanted"]) == (state, wanted)
    assert running.api.get(f"/v1/campaigns/{campaign['id']}/status").json() == campaign


@pytest.mark.parametrize("actions", [("cancel",), ("open", "cancel")])
def test_cancelling_ends_the_round(running: Any, check_problem: Check, actions: tuple[str, ...]) -> None:
    campaign = running.campaign(*actions)
    assert campaign["rounds"][0]["state"] == "cancelled"
    check_problem(running.report(campaign, [0]), Problem.ROUND_NOT_OPEN)
    response = running.api.get(f"/v1/campaigns/{campaign['id']}/rounds/0/estimates")
    assert "retry-after" not in response.headers
    check_problem(response, Problem.ESTIMATE_NOT_READY, "cancelled")


def test_reports_and_refusals_are_counted(running: Any, check_problem: Check) -> None:
    campaign = running.campaign("open")
    path = f"/v1/campaigns/{campaign['id']}"
    assert running.report(campaign, [0, 1, 2, 3], seed=1).status_code == 200
    assert running.report(campaign, [0, 1, 2, 3], seed=1).status_code == 200
    bad = running.anonymous.post(f"{path}/rounds/0/reports", content=b"\xff", headers={"content-type": CBOR_MEDIA_TYPE})
    check_problem(bad, Problem.MALFORMED_BODY)
    closed = running.api.post(f"{path}/close").json()
    assert closed["rounds"][0]["reports"] == 4
    check_problem(running.report(campaign, [0, 1], seed=2), Problem.ROUND_NOT_OPEN)
    status = running.api.get(f"{path}/status").json()
    assert status["rounds"][0]["reports"] == 4
    assert status["refusals"] == {"malformed-body": 1, "round-not-open": 2}


@pytest.mark.parametrize("state", ["queued", "failed"])
def test_a_campaign_needs_a_plan_that_is_ready(running: Any, check_problem: Check, state: str) -> None:
    request = running.plan_request()
    if state == "failed":

        def refuse(*_: object) -> None:
            raise RuntimeError

        running.compute = refuse
        running.work()
    terms = {"name": "x", "purpose": "x", "population": "x", "plan_request": request["id"]}
    document = check_problem(running.api.post("/v1/campaigns", json=terms), Problem.PLAN_NOT_READY, state)
    assert document["state"] == state


@pytest.mark.parametrize(
    ("changes", "mentioned"),
    [
        ({"name": " "}, "name"),
        ({"purpose": "  "}, "purpose"),
        ({"purpose": "x" * 2001}, "purpose"),
        ({"population": "a\tb"}, "population"),
        ({"device_epsilon": 0.5}, "above the stated"),
        ({"device_epsilon": 0}, "above 0"),
        ({"plan_request": "0" * 32}, "no plan request"),
        ({"rounds": 3}, "rounds"),
        ({"texts": [{"language": "Deutsch!", "purpose": "x"}]}, "/texts/0: language must be a BCP 47 tag"),
        ({"texts": [{"language": "de", "purpose": "x", "link": "http://x.example"}]}, "/texts/0: link must be"),
        ({"texts": [{"language": "de", "purpose": "x"}, {"language": "DE", "purpose": "y"}]}, "each once"),
        ({"texts": [{"language": "de"}]}, "purpose"),
        ({"texts": [{"language": "de" + "-abcdefgh" * 3 + "-abcdef", "purpose": "x"}]}, "/texts/0: language"),
        ({"texts": [{"language": "de", "purpose": "a\u202eb"}]}, "/texts/0: the purpose"),
        ({"texts": [{"language": "de", "purpose": "x", "contact": "a\u2066b"}]}, "/texts/0: contact"),
        ({"texts": [{"language": f"{a}{b}", "purpose": "x"} for a in "abcdef" for b in "abcdefg"][:41]}, "40"),
    ],
)
def test_terms_that_are_refused(running: Any, check_problem: Check, changes: dict[str, Any], mentioned: str) -> None:
    terms = {"name": "x", "purpose": "x", "population": "x", "plan_request": running.ready_plan()["id"]}
    response = running.api.post("/v1/campaigns", json=terms | changes)
    check_problem(response, Problem.INVALID_REQUEST, mentioned)
    assert running.api.get("/v1/campaigns").json()["campaigns"] == []


def test_the_purpose_in_other_languages_is_under_the_digest(running: Any) -> None:
    texts = [
        {"language": "pt-BR", "purpose": "Perguntamos se atrasou.", "contact": "equipe", "link": "https://x.example/p"},
        {"language": "de", "purpose": "Wir fragen, wie spät Sie waren."},
    ]
    terms = {"name": "x", "purpose": "x", "population": "x", "plan_request": running.ready_plan()["id"]}
    status = running.api.post("/v1/campaigns", json=terms | {"texts": texts}).raise_for_status().json()
    content = running.anonymous.get(f"/v1/campaigns/{status['id']}").content
    manifest = Manifest.read(content, CampaignId.parse(status["id"]))
    assert [each.language for each in manifest.texts] == ["de", "pt-BR"]
    assert manifest.texts[1].link == "https://x.example/p"


def test_two_alike_need_two_seconds(running: Any, check_problem: Check) -> None:
    terms = {"name": "x", "purpose": "x", "population": "x", "plan_request": running.ready_plan()["id"]}
    first = running.api.post("/v1/campaigns", json=terms).json()
    assert check_problem(running.api.post("/v1/campaigns", json=terms), Problem.ALREADY_EXISTS)["id"] == first["id"]
    running.clock.advance(1)
    second = running.api.post("/v1/campaigns", json=terms).json()
    listed = running.api.get("/v1/campaigns").json()["campaigns"]
    assert [each["id"] for each in listed] == [second["id"], first["id"]]


def test_unknown_campaign(running: Any, check_problem: Check) -> None:
    path = "/v1/campaigns/" + "0" * 64
    for response in (
        running.anonymous.get(path),
        running.anonymous.get(f"{path}/task"),
        running.api.get(f"{path}/status"),
        running.api.post(f"{path}/open"),
        running.api.get(f"{path}/rounds/0/estimates"),
    ):
        check_problem(response, Problem.NOT_FOUND)


def test_times_are_told_in_seconds_and_as_iso_8601(running: Any) -> None:
    campaign = running.campaign("open")
    assert (campaign["created"], campaign["opened"], campaign["closed"]) == ("2027-01-15T08:00:00Z",) * 2 + (None,)
    running.clock.advance(3661)
    closed = running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status().json()
    assert closed["closed"] == closed["rounds"][0]["closed"] == "2027-01-15T09:01:01Z"
    assert closed["rounds"][0]["opened"] == closed["opened"] == campaign["opened"]
    (entry,) = running.api.get("/v1/campaigns").json()["campaigns"]
    assert [entry[name] for name in ("created", "opened", "closed")] == [
        closed[name] for name in ("created", "opened", "closed")
    ]
