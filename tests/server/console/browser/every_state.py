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


CONSOLE = "/console/campaigns/"


def pages_of_every_state(running: Any) -> dict[str, str]:
    """Addresses by the name of the page."""
    return {
        **_results(running),
        **_not_closed(running),
        **_strings(running),
        **_experiment(running),
        **_series(running),
        **_plans(running),
        **_populations(running),
        **_lists(running),
    }


def _results(running: Any) -> dict[str, str]:
    """Closed questions that differ, are too few, have many steps or bars; shared, compared and asked again."""
    api = running.api
    may, june = two(running)
    few = answered(running, HOSTILE, [0] * 9 + [1] * 8)
    steps = answered(running, LONG, [0] * 300 + [4] * 900 + [9] * 99, workload=running.workload(MANY), epsilon=2)
    bars = answered(running, "themes", [0] * 500 + [1] * 300 + [2] * 99, workload=running.workload(LABELS), epsilon=2)
    links = f"/v1/campaigns/{bars}/share-links"
    shared, gone = (api.post(links, json={"until": None}).raise_for_status().json() for _ in range(2))
    api.delete(f"{links}/{gone['id']}").raise_for_status()
    return {
        "result-differs": f"{CONSOLE}{june}/estimate",
        "result-few": f"{CONSOLE}{few}/estimate",
        "result-steps": f"{CONSOLE}{steps}/estimate",
        "result-bars": f"{CONSOLE}{bars}/estimate",
        "answers": f"{CONSOLE}{steps}/answers?pick=..5",
        "compare": f"/console/compare?left={may}&right={june}",
        "compare-none": "/console/compare",
        "card": f"{CONSOLE}{bars}/card",
        "shared": shared["path"],
        "shared-steps": api.post(f"/v1/campaigns/{steps}/share-links", json={"until": None}).json()["path"],
    }


def _not_closed(running: Any) -> dict[str, str]:
    """A draft, one that nobody answered, one that collects, a cancelled one."""
    api = running.api
    draft = running.campaign(name=f"draft {LONG}")["id"]
    terms = {
        "name": "collecting",
        "purpose": LONG,
        "population": LONG[:100],
        "public": True,
        "close_after_reports": 500,
        "plan_request": running.ready_plan()["id"],
    }
    collecting = api.post("/v1/campaigns", json=terms).raise_for_status().json()
    name = collecting["id"]
    api.post(f"/v1/campaigns/{name}/open").raise_for_status()
    running.report(collecting, [0, 1, 2, 3] * 40).raise_for_status()
    return {
        "draft": f"{CONSOLE}{draft}",
        "draft-open": f"{CONSOLE}{draft}/actions/open",
        "draft-delete": f"{CONSOLE}{draft}/actions/delete",
        "empty": f"{CONSOLE}{running.campaign('open', name='nobody answered yet')['id']}",
        "collecting": f"{CONSOLE}{name}",
        "close": f"{CONSOLE}{name}/actions/close",
        "cancel": f"{CONSOLE}{name}/actions/cancel",
        "close-round": f"{CONSOLE}{name}/rounds/0/actions/close",
        "cancelled": f"{CONSOLE}{running.campaign('open', 'cancel', name='cancelled')['id']}",
        "public-open": f"/status/{name}",
        "activity-one": f"/console/activity?question={name}",
    }


def _strings(running: Any) -> dict[str, str]:
    path = estimated(running).removeprefix("/v1")
    return {
        "result-strings": f"/console{path}/estimate",
        "strings": f"/console{path}/strings",
        "follow-up": f"/console{path}/strings/follow-up",
    }


def _experiment(running: Any) -> dict[str, str]:
    """One with two looks."""
    name = running.api.post("/v1/campaigns", json=order_of(running)).raise_for_status().json()["id"]
    running.api.post(f"/v1/campaigns/{name}/open").raise_for_status()
    arms = Arms(running, name)
    for count, of_b in ((400, 30.0), (2000, -5.0)):
        arms.answer(count, 30.0, of_b)
        running.clock.advance(DAY_S)
        running.work()
    return {
        "experiments": "/console/experiments",
        "experiment": f"/console/experiments/{name}",
        "experiment-campaign": f"{CONSOLE}{name}",
    }


def _series(running: Any) -> dict[str, str]:
    """One that runs, and one that was cancelled after it was shared."""
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
    link = running.api.post(f"/v1/campaigns/{ended.id}/share-links", json={"until": None}).raise_for_status().json()
    running.api.post(f"/v1/campaigns/{ended.id}/cancel").raise_for_status()
    return {
        "series": f"{CONSOLE}{series.id}/series",
        "series-campaign": f"{CONSOLE}{series.id}",
        "series-cancelled": f"{CONSOLE}{ended.id}",
        "shared-cancelled": link["path"],
    }


def _plans(running: Any) -> dict[str, str]:
    ready = running.ready_plan()["id"]
    return {
        "plans": "/console/plans",
        "plan-waiting": f"/console/plans/{running.plan_request(epsilon=3)['id']}",
        "plan": f"/console/plans/{ready}",
        "plan-users": f"/console/plans/{ready}?margin=1%25",
        "terms": f"/console/plans/{ready}/new-campaign",
    }


def _populations(running: Any) -> dict[str, str]:
    """One with room, and one whose limit refuses a question."""
    api = running.api
    api.post("/v1/populations", json={"name": "spent", "epsilon_lifetime": "0.5"}).raise_for_status()
    terms = {
        "name": "too dear",
        "purpose": "We ask.",
        "population": "spent",
        "plan_request": running.ready_plan()["id"],
    }
    refused = api.post("/v1/campaigns", json=terms).raise_for_status().json()["id"]
    known = {each["name"]: each["id"] for each in api.get("/v1/populations").json()["populations"]}
    return {
        "refused": f"{CONSOLE}{refused}/actions/open",
        "populations": "/console/populations",
        "population": f"/console/populations/{known['travellers']}",
        "population-spent": f"/console/populations/{known['spent']}",
    }


def _lists(running: Any) -> dict[str, str]:
    running.api.post("/v1/keys", json={"name": LONG, "role": "analyst"}).raise_for_status()
    return {
        "questions": "/console/questions",
        "questions-none": "/console/questions?show=drafts&page_token=WzAsICIwIl0",
        "campaigns": "/console/campaigns",
        "new": "/console/new",
        "new-campaign": "/console/new-campaign",
        "activity": "/console/activity",
        "activity-keys": "/console/activity?kind=key",
        "words": "/console/words",
        "log": "/console/log",
        "keys": "/console/keys",
        "audit-log": "/console/audit-log",
    }
