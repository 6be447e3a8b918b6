"""A new question by hand, without JavaScript: its error from the server, as YAML, and the draft that one form makes."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from sordino_server.console import wizard_form
from sordino_server.console.privacy_words import stop
from sordino_server.console.question_form import check_yaml
from sordino_server.models import Role
from sordino_server.plans.previews import EPSILONS, ErrorPreview, PreviewRow
from sordino_shared.errors import InvalidValue

NEW = "/console/new"
FIELDS = {
    "name": "starts", "name1": "start", "kind1": "edges", "values1": "200, 500, 1000", "unit1": "ms",
    "queries": "prefix", "missing1": "yes", "stop": "2", "place": "47.0",
    "purpose": "We ask how long your app took to start, with noise added.", "population": "desktop",
}  # fmt: skip


def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A preview that takes no search: ± is 2·√(V/n), with V = 4 at ε = 1."""
    rows = [PreviewRow(epsilon=each, variance=4 / float(each) ** 2, bias_bound=0.0) for each in EPSILONS]

    async def known(_: object, checked: Any) -> ErrorPreview:
        return ErrorPreview(workload=checked.id, queries=3, level=0.95, factor=2.0, rows=rows)

    monkeypatch.setattr("sordino_server.plans.previews._compute", known)


def test_the_error_is_drawn_by_the_server_from_edges_alone(
    running: Any, browsers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _known(monkeypatch)
    browser = browsers.of(Role.ANALYST)
    asked = {name: FIELDS[name] for name in ("name", "name1", "kind1", "values1", "unit1", "queries")}
    page = browser.send("/console/preview", NEW, **asked, stop="2", place="47.0").text
    # 2·√(4/50,000) is 1.8 points.
    assert '<span id="half">± 1.8</span>' in page
    assert "with 50,000 devices at ε 1" in page
    assert "up to 1,000 ms" in page
    assert '<th scope="row">± 1</th><td class="number">160,000</td>' in page
    assert 'value="200, 500, 1000"' in page
    assert running.api.get("/v1/workloads").json()["workloads"] == []
    wrong = browser.send("/console/preview", NEW, **(asked | {"values1": "a, b"}))
    assert wrong.status_code == 422
    assert "edges are numbers" in wrong.text
    for slider in ({"stop": "9", "place": "47.0"}, {"stop": "2", "place": "x"}):
        off = browser.send("/console/preview", NEW, **asked, **slider)
        assert (off.status_code, 'value="200, 500, 1000"' in off.text) == (422, True)
    as_json = {**browser.form(NEW), **(asked | {"values1": ""})}
    refused = browser.http.post("/console/preview", data=as_json, headers={"Accept": "application/json"})
    assert (refused.status_code, "detail" in refused.json()) == (422, True)


def test_yaml_has_what_the_form_has(browsers: Any) -> None:
    browser = browsers.of(Role.ANALYST)
    page = browser.send("/console/new/yaml", NEW, **FIELDS).text
    written = unescape(re.search(r"<textarea id=\"yaml\"[^>]*>(.*?)</textarea>", page, re.S)[1])  # type: ignore[index]
    assert check_yaml(written) == wizard_form.check_question(FIELDS)
    assert browser.send("/console/new/yaml", NEW, **(FIELDS | {"name1": ""})).status_code == 422


def test_one_form_makes_workload_plan_and_draft(running: Any, browsers: Any) -> None:
    browser = browsers.of(Role.ANALYST)
    checked = wizard_form.check_question(FIELDS)
    running.ready_plan(workload=_registered(running, checked), mechanism=None, epsilon="1")
    form = browser.form(NEW)
    sent = browser.http.post(NEW, data={**form, **FIELDS})
    assert sent.status_code == 303, sent.text
    [draft] = running.api.get("/v1/campaigns").json()["campaigns"]
    assert sent.headers["location"] == f"/console/campaigns/{draft['id']}/actions/open"
    assert (draft["name"], draft["state"]) == ("starts", "ready")
    rounds = running.api.get(f"/v1/campaigns/{draft['id']}/status").json()["rounds"]
    assert rounds[0]["close_after_reports"] == 50_000
    # Sent again it makes nothing more.
    again = browser.http.post(NEW, data={**form, **FIELDS})
    assert again.headers["location"] == sent.headers["location"]
    assert len(running.api.get("/v1/campaigns").json()["campaigns"]) == 1


def test_a_plan_that_takes_long_leads_on_with_the_same_terms(
    running: Any, browsers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sordino_server.console.wizard_pages._WAIT_S", 0.1)
    browser = browsers.of(Role.ANALYST)
    sent = browser.send(NEW, NEW, **FIELDS)
    assert sent.headers["location"].startswith("/console/plans/")
    assert running.api.get("/v1/campaigns").json()["campaigns"] == []
    running.work()
    page = browser.page(sent.headers["location"])
    terms = browser.page(unescape(re.search(r'href="([^"]+/new-campaign[^"]*)"', page)[1]))  # type: ignore[index]
    assert FIELDS["purpose"] in unescape(terms)
    assert 'name="close_after_reports" value="50000"' in terms


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"purpose": ""}, "purpose"),
        ({"population": ""}, "population"),
        ({"stop": "5"}, "privacy is a stop from 0 to 4"),
        ({"place": "61"}, "the slider of devices goes from 24.8 to 60.0"),
        ({"values1": "3, 2, 1"}, "edges"),
    ],
)
def test_what_does_not_fit_is_said_and_nothing_is_lost(
    running: Any, browsers: Any, changed: dict[str, str], said: str
) -> None:
    browser = browsers.of(Role.ANALYST)
    sent = browser.send(NEW, NEW, **(FIELDS | changed))
    assert sent.status_code == 422
    assert said in unescape(re.search(r'role="alert">(.*?)</p>', sent.text, re.S)[1])  # type: ignore[index]
    assert 'value="start"' in sent.text
    assert running.api.get("/v1/workloads").json()["workloads"] == []


def test_sliders_say_what_they_mean() -> None:
    words = [stop(each) for each in EPSILONS]
    assert [int(re.search(r"true (\d+) times", each.words)[1]) for each in words] == [56, 62, 73, 88, 98]  # type: ignore[index]
    assert [re.search(r"factor of ([\d.]+) at", each.words)[1] for each in words] == ["1.3", "1.6", "2.7", "7.4", "55"]  # type: ignore[index]
    assert [each.weak for each in words] == [False] * 4 + [True]
    assert "Weak." in words[-1].words
    places = {"24.8": 300, "47.0": 50_000, "60.0": 1_000_000}
    assert {place: wizard_form.devices_of({"place": place}) for place in places} == places
    with pytest.raises(InvalidValue, match="slider"):
        wizard_form.devices_of({"place": "nan"})


def _registered(running: Any, checked: Any) -> str:
    headers = {"Content-Type": "application/json"}
    done = running.api.post("/v1/workloads", content=checked.specification, headers=headers).raise_for_status()
    return str(done.json()["id"])
