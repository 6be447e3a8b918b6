"""A server with a question in every state, and the address of every page that shows one."""

from __future__ import annotations

from typing import Any

from tests.server.answers.test_comparisons_api import two
from tests.server.answers.test_string_searches_api import estimated
from tests.server.console.test_question_pages import answered
from tests.server.experiments.test_experiments import DAY_S, Arms, order_of
from tests.server.series.conftest import begin

# Whatever wraps nowhere, and what would be HTML.
LONG = "x" * 150
HOSTILE = '<b>late</b> & "quoted" trains of the evening'
MANY = {
    "name": "late",
    "domain": [{"name": "delay", "kind": "ordinal", "edges": [0, 1, 2, 3, 5, 8, 13, 21, 34, 55], "unit": "min"}],
    "queries": "prefix",
}
LABELS = {
    "name": "themes",
    "domain": [{"name": "theme", "kind": "categorical", "labels": ["light", "dark", LONG[:60], HOSTILE, "system"]}],
    "queries": "histogram",
}


def pages_of_every_state(running: Any) -> dict[str, str]:
    """Addresses by the name of the page."""
    api = running.api
    may, june = two(running)
    few = answered(running, HOSTILE, [0] * 9 + [1] * 8)
    steps = answered(running, LONG, [0] * 300 + [4] * 900 + [9] * 99, workload=running.workload(MANY), epsilon=2)
    bars = answered(running, "themes", [0] * 500 + [1] * 300 + [2] * 99, workload=running.workload(LABELS), epsilon=2)
    draft = running.campaign(name=f"draft {LONG}")["id"]
    empty = running.campaign("open", name="nobody answered yet")["id"]
    terms = {
        "name": "collecting",
        "purpose": LONG,
        "population": LONG[:100],
        "public": True,
        "close_after_reports": 500,
    }
    open_ = (
        api.post("/v1/campaigns", json=terms | {"plan_request": running.ready_plan()["id"]}).raise_for_status().json()
    )
    api.post(f"/v1/campaigns/{open_['id']}/open").raise_for_status()
    running.report(open_, [0, 1, 2, 3] * 40).raise_for_status()
    cancelled = running.campaign("open", "cancel", name="cancelled")["id"]
    api.post("/v1/populations", json={"name": "spent", "epsilon_lifetime": "0.5"}).raise_for_status()
    refused = {
        "name": "too dear",
        "purpose": "We ask.",
        "population": "spent",
        "plan_request": running.ready_plan()["id"],
    }
    refused_id = api.post("/v1/campaigns", json=refused).raise_for_status().json()["id"]
    links = f"/v1/campaigns/{bars}/share-links"
    shared, gone = (api.post(links, json={"until": None}).raise_for_status().json() for _ in range(2))
    of_steps = api.post(f"/v1/campaigns/{steps}/share-links", json={"until": None}).json()["path"]
    api.delete(f"{links}/{gone['id']}").raise_for_status()
    strings = estimated(running).removeprefix("/v1")
    experiment = api.post("/v1/campaigns", json=order_of(running)).raise_for_status().json()["id"]
    api.post(f"/v1/campaigns/{experiment}/open").raise_for_status()
    arms = Arms(running, experiment)
    for count, of_b in ((400, 30.0), (2000, -5.0)):
        arms.answer(count, 30.0, of_b)
        running.clock.advance(DAY_S)
        running.work()
    series = begin(running)
    for day in (0, 1):
        series.at(day, 60)
        series.report(day, [0] * 300).raise_for_status()
    series.at(3, 60)
    running.work()
    ended = begin(running, population="others")
    ended.at(0, 60)
    ended.report(0, [0] * 300).raise_for_status()
    ended.at(2, 60)
    running.work()
    of_ended = api.post(f"/v1/campaigns/{ended.id}/share-links", json={"until": None}).raise_for_status().json()["path"]
    api.post(f"/v1/campaigns/{ended.id}/cancel").raise_for_status()
    plan = running.plan_request(epsilon=3)["id"]
    console = "/console/campaigns/"
    populations = {each["name"]: each["id"] for each in api.get("/v1/populations").json()["populations"]}
    api.post("/v1/keys", json={"name": LONG, "role": "analyst"}).raise_for_status()
    return {
        "questions": "/console/questions",
        "questions-none": "/console/questions?show=drafts&page_token=WzAsICIwIl0",
        "campaigns": "/console/campaigns",
        "result-differs": f"{console}{june}/estimate",
        "result-few": f"{console}{few}/estimate",
        "result-steps": f"{console}{steps}/estimate",
        "result-bars": f"{console}{bars}/estimate",
        "result-strings": f"/console{strings}/estimate",
        "series-cancelled": f"{console}{ended.id}",
        "draft": f"{console}{draft}",
        "draft-open": f"{console}{draft}/actions/open",
        "draft-delete": f"{console}{draft}/actions/delete",
        "refused": f"{console}{refused_id}/actions/open",
        "empty": f"{console}{empty}",
        "collecting": f"{console}{open_['id']}",
        "close": f"{console}{open_['id']}/actions/close",
        "cancel": f"{console}{open_['id']}/actions/cancel",
        "close-round": f"{console}{open_['id']}/rounds/0/actions/close",
        "cancelled": f"{console}{cancelled}",
        "public-open": f"/status/{open_['id']}",
        "answers": f"{console}{steps}/answers?pick=..5",
        "compare": f"/console/compare?left={may}&right={june}",
        "compare-none": "/console/compare",
        "card": f"{console}{bars}/card",
        "shared": shared["path"],
        "shared-steps": of_steps,
        "shared-cancelled": of_ended,
        "strings": f"/console{strings}/strings",
        "follow-up": f"/console{strings}/strings/follow-up",
        "experiments": "/console/experiments",
        "experiment": f"/console/experiments/{experiment}",
        "experiment-campaign": f"{console}{experiment}",
        "series": f"{console}{series.id}/series",
        "series-campaign": f"{console}{series.id}",
        "plans": "/console/plans",
        "plan-waiting": f"/console/plans/{plan}",
        "plan": f"/console/plans/{running.ready_plan()['id']}",
        "plan-users": f"/console/plans/{running.ready_plan()['id']}?margin=1%25",
        "terms": f"/console/plans/{running.ready_plan()['id']}/new-campaign",
        "new": "/console/new",
        "new-campaign": "/console/new-campaign",
        "populations": "/console/populations",
        "population": f"/console/populations/{populations['travellers']}",
        "population-spent": f"/console/populations/{populations['spent']}",
        "activity": "/console/activity",
        "activity-keys": "/console/activity?kind=key",
        "activity-one": f"/console/activity?question={open_['id']}",
        "words": "/console/words",
        "log": "/console/log",
        "keys": "/console/keys",
        "audit-log": "/console/audit-log",
    }
