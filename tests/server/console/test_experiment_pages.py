"""The list of experiments and an experiment's page: one verdict, by the rule that was pinned, and no other interval."""

from __future__ import annotations

import csv
import io
import re
from html import unescape
from typing import Any

import pytest

from sordino_analysis.experiments.looks import Looks
from sordino_server.console.experiment_pages import RULES
from sordino_server.models import Role
from tests.server.experiments.test_experiments import DAY_S, PRIMARY, Arms, order_of


@pytest.fixture
def looked_at(running: Any) -> str:
    """An experiment that found a difference on its second day."""
    campaign = running.api.post("/v1/campaigns", json=order_of(running)).raise_for_status().json()["id"]
    running.api.post(f"/v1/campaigns/{campaign}/open").raise_for_status()
    arms = Arms(running, campaign)
    for count, of_b in ((400, 30.0), (2000, -5.0)):
        arms.answer(count, 30.0, of_b)
        running.clock.advance(DAY_S)
        running.work()
    return str(campaign)


def test_a_page_has_one_verdict_and_the_interval_of_the_rule(running: Any, browsers: Any, looked_at: str) -> None:
    browser, path = browsers.of(Role.ANALYST), f"/console/experiments/{looked_at}"
    document = running.api.get(f"/v1/campaigns/{looked_at}/experiment").json()
    page = browser.page(path)
    assert browser.http.get(f"{path}.json").json() == document
    assert [look["comparisons"][0]["verdict"] for look in document["made"]] == ["undecided", "higher"]
    assert unescape(page).count(document["finding"]) == 1
    assert PRIMARY in unescape(page)
    assert "planned looks: every day" in page
    rows = list(csv.DictReader(io.StringIO(browser.page(f"{path}.csv"))))
    assert [(row["day"], row["arm"], row["verdict"]) for row in rows] == [("1", "B", "undecided"), ("2", "B", "higher")]
    found = [look["comparisons"][0] for look in document["made"]]
    assert [float(row["lower"]) for row in rows] == [each["lower"] for each in found]
    # No interval of one look, ± 1.96, stands beside that of the rule, which is wider.
    cells = re.findall(r"<td class=\"number\">([^<]* … [^<]*)</td>", page)
    assert len(cells) == 2
    assert all(each["boundary"] > 2.5 for each in found)
    assert "1.96" not in page
    drawn = browser.page(f"{path}/looks.svg")
    assert re.findall(r">(day \d: [^<]*)<", drawn) == ["day 1: B − A", "day 2: B − A"]
    assert drawn.count('class="band"') == 1 + 1
    assert drawn.count('class="doubt"') == 1 + 1


def test_the_list_says_what_each_found(running: Any, browsers: Any, looked_at: str) -> None:
    browser = browsers.of(Role.ANALYST)
    waiting = running.api.post("/v1/campaigns", json=order_of(running) | {"name": "later"}).json()["id"]
    listed = running.api.get("/v1/experiments").json()
    assert browser.http.get("/console/experiments.json").json() == listed
    by_name = {each["name"]: each for each in listed["experiments"]}
    assert {each["campaign"] for each in listed["experiments"]} == {looked_at, waiting}
    alone = running.api.get(f"/v1/campaigns/{looked_at}/experiment").json()
    assert by_name["faster-start"]["finding"] == alone["finding"]
    assert (by_name["faster-start"]["day"], by_name["later"]["day"]) == (2, None)
    assert by_name["later"]["finding"].startswith("no look was made yet")
    page = browser.page("/console/experiments")
    assert f'href="/console/experiments/{looked_at}"' in page
    assert unescape(page).count("B is higher") == 1
    first = running.api.get("/v1/experiments?page_size=1").json()
    second = running.api.get("/v1/experiments", params={"page_size": 1, "page_token": first["next_page_token"]}).json()
    names = [each["name"] for half in (first, second) for each in half["experiments"]]
    assert sorted(names) == ["faster-start", "later"]
    assert second["next_page_token"] is None


def test_before_the_first_look_and_without_any_experiment(running: Any, browsers: Any) -> None:
    browser = browsers.of(Role.ANALYST)
    assert "There is no experiment yet" in browser.page("/console/experiments")
    campaign = running.api.post("/v1/campaigns", json=order_of(running)).json()["id"]
    page = browser.page(f"/console/experiments/{campaign}")
    assert "no look was made yet" in page
    assert "looks.svg" not in page
    assert browser.http.get(f"/console/experiments/{campaign}/looks.svg").status_code == 404
    plain = running.campaign("open")["id"]
    assert "no experiment" in browser.page(f"/console/experiments/{plain}", 404)
    browser.page(f"/console/experiments/{'0' * 64}", 404)


@pytest.mark.parametrize("looks", list(Looks))
def test_each_rule_has_a_page(running: Any, browsers: Any, looks: Looks) -> None:
    campaign = running.api.post("/v1/campaigns", json=order_of(running, looks=looks)).raise_for_status().json()["id"]
    assert f"<dt>Rule</dt><dd>{RULES[looks]}</dd>" in browsers.of(Role.ANALYST).page(f"/console/experiments/{campaign}")


def test_a_cancelled_experiment_tells_no_look_any_more(running: Any, browsers: Any, looked_at: str) -> None:
    running.api.post(f"/v1/campaigns/{looked_at}/cancel").raise_for_status()
    browser = browsers.of(Role.ANALYST)
    for path in (f"/console/experiments/{looked_at}", "/console/experiments", f"/console/campaigns/{looked_at}"):
        page = unescape(browser.page(path))
        assert "the experiment was cancelled: it tells nothing any more" in page
        assert not re.search(r"higher|lower|undecided", page), path
    assert running.api.get(f"/v1/campaigns/{looked_at}/experiment").json()["made"] == []
    assert running.api.get("/v1/experiments").json()["experiments"][0]["day"] is None
    assert running.api.get(f"/v1/campaigns/{looked_at}/finding").status_code == 409


def test_a_look_that_could_not_be_made_is_said(running: Any, browsers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from sordino_server import aggregates

    campaign = running.api.post("/v1/campaigns", json=order_of(running)).json()["id"]
    running.api.post(f"/v1/campaigns/{campaign}/open").raise_for_status()
    Arms(running, campaign).answer(50, 30.0, 30.0)
    monkeypatch.setattr(aggregates, "arms_of", lambda *_: 1 / 0)
    running.clock.advance(DAY_S)
    running.work()
    browser = browsers.of(Role.ANALYST)
    assert "the look of day 1 could not be made" in browser.page(f"/console/experiments/{campaign}")
    assert "could not be made" in browser.page("/console/experiments")


def test_once_it_is_closed_its_arms_are_compared_over_all_answers(running: Any, browsers: Any, looked_at: str) -> None:
    browser, path = browsers.of(Role.ANALYST), f"/console/experiments/{looked_at}"
    assert "/console/compare" not in browser.page(path).partition("<main")[2]
    running.api.post(f"/v1/campaigns/{looked_at}/close").raise_for_status()
    running.work()
    (link,) = re.findall(r'href="(/console/compare\?left=[^"]*)"', browser.page(path))
    page = unescape(browser.page(unescape(link)))
    api = running.api.get("/v1/comparisons", params={"left": f"{looked_at}:A", "right": f"{looked_at}:B"}).json()
    assert "B − A = " in page
    assert f'<option value="{looked_at}:B" selected>{looked_at[:12]}:B</option>' in page
    assert re.findall(r'<td class="number">(higher|lower|undecided)</td>', page) == api["table"]["verdict"]
