"""A campaign of strings over HTTP, from the workload to the list, on both databases; the SDK answers, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sordino_client import Caps, Client
from sordino_server.models import Role
from tests.server.answers.test_answers_on_demand_api import purge_last_round, report_texts
from tests.server.console.conftest import Browsers

WORKLOAD = {
    "name": "words",
    "domain": [{"name": "word", "kind": "text", "code": "bytes", "depth": 60}],
    # The salt is drawn: a list errs once in 1,000 runs.
    "queries": {"kind": "strings", "beam": 40, "error": 0.001},
}
OS = {"name": "os", "kind": "integers", "low": 0, "high": 1}
HOSTILE = {
    "=1+1": 600,
    "<b>x": 520,
    "a\u202eb": 480,
    "a long string": 440,
    "<script>alert(1)</script>": 460,
    "zero\u200bwidth": 400,
    "x" * 10_000: 420,
}


@pytest.fixture(params=["running", "running_on_postgres"])
def server(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def campaign_of(server: Any, *actions: str, workload: dict[str, Any] = WORKLOAD) -> dict[str, Any]:
    return server.campaign(*actions, workload=server.workload(workload), epsilon=4, mechanism=None)


def test_strings_go_the_whole_way(server: Any, tmp_path: Path) -> None:
    campaign = campaign_of(server, "open")
    texts = [text for text, count in HOSTILE.items() for _ in range(count)] + [None] * 440
    assert report_texts(server, campaign, texts).status_code == 200
    client = Client(
        server.address, ledger=tmp_path / "ledger.sqlite3", caps=Caps.of(4, days=28, lifetime=48), clock=server.clock
    )
    client.join(campaign["id"])
    client.answer(campaign["id"], "=1+1")
    client.flush()
    server.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    server.work()
    path = f"/v1/campaigns/{campaign['id']}"
    estimate = server.api.get(f"{path}/estimates").raise_for_status().json()
    table = estimate["table"]
    # 60 bits at eight a byte: seven bytes and a half of "a long string".
    true = {"=1+1": 601, "<b>x": 520, "a<U+202E>b": 480, "a long …[0111]": 440, "(no text)": 440}
    true |= {"<script…[0011]": 460, "zero<U+200B>…[0111]": 400, "xxxxxxx…[0111]": 420}
    kinds = dict(zip(table["label"], table["kind"], strict=True))
    cut = {label: "begins with" for label in true if "…" in label}
    assert kinds == dict.fromkeys(true, "string") | cut | {"(no text)": "no text"}
    assert table["uncut"] == sorted(table["uncut"], reverse=True)
    users = len(texts) + 1
    assert (estimate["kind"], estimate["terms"]["users"]) == ("strings", users)
    for label, low, high in zip(table["label"], table["band_lower"], table["band_upper"], strict=True):
        assert low <= true[label] / users <= high
    # A spreadsheet takes it for a formula otherwise.
    assert ",'=1+1," in server.api.get(f"{path}/estimates", params={"format": "csv"}).text
    _check_answers(server, path)
    _check_console(server, campaign["id"])
    purge_last_round(server, path)
    gone = server.api.get(f"{path}/answers", params={"string": "other"})
    assert gone.status_code == 409
    assert server.api.get(f"{path}/estimates").json() == estimate


def _check_answers(server: Any, path: str) -> None:
    texts = ["<b>x", "never", "a long story", "a\u202eb"]
    asked = server.api.get(f"{path}/answers", params={"string": texts}).raise_for_status().json()["table"]
    assert asked["label"] == ["<b>x", "never", "a long …[0111]", "a<U+202E>b"]
    assert asked["kind"] == ["string", "string", "begins with", "string"]
    assert max(asked["band_upper"]) < 1
    # The band, whose error is 2^-64 of the interval's: an interval of 95 % misses in one run of 20.
    assert asked["band_lower"][0] < 520 / 3761 < asked["band_upper"][0]
    assert asked["band_lower"][1] == 0
    assert asked["lower"][1] < 0.03
    assert all(low <= each for low, each in zip(asked["band_lower"], asked["lower"], strict=True))
    refused = server.api.get(f"{path}/answers", params={"cell": "x"})
    assert (refused.status_code, "no linear queries" in refused.text) == (422, True)
    assert server.api.get(f"{path}/answers", params={"string": "x", "given": "word=x"}).status_code == 422


def _check_console(server: Any, campaign: str) -> None:
    browsers = Browsers(server)
    try:
        page = browsers.of(Role.ANALYST).page(f"/console/campaigns/{campaign}/estimate")
    finally:
        browsers.close()
    assert "&lt;b&gt;x" in page
    assert "<b>x" not in page
    assert "&lt;script" in page
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "\u200b" not in page
    assert "held by at least one device that reported" in page


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"queries": "histogram"}, "asked alone and with `queries: strings`"),
        (
            {"domain": [*WORKLOAD["domain"], {"name": "os", "kind": "integers", "low": 0, "high": 1}]},
            "nothing beside it",
        ),
        ({"domain": [{"name": "os", "kind": "integers", "low": 0, "high": 1}]}, "text"),
        ({"domain": [{"name": "word", "kind": "text", "code": "letters"}]}, "code"),
        ({"queries": {"kind": "strings", "beam": 20_000}}, "beam"),
        ({"queries": {"kind": "strings", "error": 0.9}}, "error"),
    ],
)
def test_what_is_no_question_for_strings_is_refused(running: Any, change: dict[str, Any], said: str) -> None:
    refused = running.api.post("/v1/workloads", json=WORKLOAD | change)
    assert refused.status_code == 422
    assert said in refused.text


def test_what_is_not_built_is_refused(running: Any) -> None:
    plan = running.ready_plan(workload=running.workload(WORKLOAD), epsilon=4, mechanism=None)["id"]
    terms = {"name": "w", "purpose": "We ask for words.", "population": "people", "plan_request": plan}
    arms = {"arms": [{"name": "A", "weight": 1}, {"name": "B", "weight": 1}]}
    assert running.api.post("/v1/campaigns", json=terms | arms).status_code == 422
    few = {"workload": running.workload(WORKLOAD), "epsilon": 1, "users": 50}
    refused = running.api.post("/v1/plan-requests", json=few)
    if refused.status_code == 202:
        running.work()
        refused = running.api.get(f"/v1/plan-requests/{refused.json()['id']}")
    assert "expect" in refused.text
