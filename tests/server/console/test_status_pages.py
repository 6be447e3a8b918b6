"""The public page of a campaign: for everybody, without a key, cacheable, and no more than it may say."""

from __future__ import annotations

import re
from html import escape
from typing import Any

import pytest

from sordino_analysis.conformance.part_counts import part_law
from sordino_analysis.figures import amount
from sordino_server.console.shared_texts import SharedTexts
from sordino_server.console.status_pages import counted, rounded_down

TERMS = {"name": "<delays>", "purpose": "We ask how late you were.", "population": "travellers"}


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, 0), (7, 7), (42, 42), (99, 99), (123, 120), (999, 990), (12_999, 12_000), (10**9 - 1, 99 * 10**7)],
)
def test_counts_are_rounded_down_to_two_digits(count: int, shown: int) -> None:
    assert rounded_down(count) == shown


@pytest.mark.parametrize("is_open", [True, False])
def test_counts_of_a_few_people_are_not_told(is_open: bool) -> None:
    assert {counted(reports, is_open) for reports in range(100)} == {"fewer than 100"}
    assert counted(100, is_open) == ("at least 100" if is_open else "100")
    assert counted(12_999, is_open) == ("at least 12,000" if is_open else "12,999")


def test_no_page_tells_how_few_took_part(running: Any) -> None:
    running.app.state.public_texts = SharedTexts(0.0)
    terms = {**TERMS, "plan_request": running.ready_plan()["id"], "public": True}
    public = running.api.post("/v1/campaigns", json=terms).json()
    path = f"/status/{public['id']}"
    running.api.post(f"/v1/campaigns/{public['id']}/open").raise_for_status()
    assert "<dd>fewer than 100</dd>" in running.anonymous.get(path).text
    running.report(public, [0] * 77)
    assert "<dd>fewer than 100</dd>" in running.anonymous.get(path).text
    running.api.post(f"/v1/campaigns/{public['id']}/close").raise_for_status()
    running.work()
    for each in (path, f"{path}/estimate.svg"):
        shown = running.anonymous.get(each)
        assert shown.status_code == 200
        assert re.search(r"\b77\b *(reports|users|devices|<)", shown.text) is None, each
    assert "<dd>fewer than 100</dd>" in running.anonymous.get(path).text


def test_a_campaign_that_never_opened_has_no_page(running: Any) -> None:
    running.app.state.public_texts = SharedTexts(0.0)
    terms = {**TERMS, "plan_request": running.ready_plan()["id"], "public": True}
    draft = running.api.post("/v1/campaigns", json=terms).json()["id"]
    for path in (f"/status/{draft}", f"/status/{draft}/estimate.svg"):
        assert running.anonymous.get(path).status_code == 404
    running.api.post(f"/v1/campaigns/{draft}/cancel").raise_for_status()
    assert running.anonymous.get(f"/status/{draft}").status_code == 404


def test_owners_read_the_status_of_a_public_campaign(running: Any) -> None:
    running.app.state.public_texts = SharedTexts(0.0)
    plan = running.ready_plan()["id"]
    public = running.api.post("/v1/campaigns", json={**TERMS, "plan_request": plan, "public": True}).json()
    assert public["public"]
    running.clock.advance(1)
    private = running.api.post("/v1/campaigns", json={**TERMS, "plan_request": plan}).json()
    assert not private["public"]
    path = f"/status/{public['id']}"
    assert running.anonymous.get(f"/status/{private['id']}").status_code == 404
    assert running.anonymous.get(f"/status/{'0' * 64}").status_code == 404
    running.api.post(f"/v1/campaigns/{public['id']}/open").raise_for_status()
    running.report(public, [0] * 77 + [1] * 48)
    page = running.anonymous.get(path)
    assert page.status_code == 200
    assert page.headers["cache-control"] == "public, max-age=60"
    assert page.headers["content-security-policy"].startswith("default-src 'self'")
    assert "set-cookie" not in page.headers
    assert "We ask how late you were." in page.text
    assert "&lt;delays&gt;" in page.text
    assert "at least 120" in page.text
    # As a number: digests and nonces may hold these digits.
    assert re.search(r"\b125\b", page.text) is None
    assert running.anonymous.get(f"{path}/estimate.svg").status_code == 404

    running.api.post(f"/v1/campaigns/{public['id']}/close").raise_for_status()
    assert "What we learned" not in running.anonymous.get(path).text
    running.work()
    page = running.anonymous.get(path)
    assert "<dd>125</dd>" in page.text
    told = running.api.get(f"/v1/campaigns/{public['id']}/finding").json()
    # How many more devices would help is no matter of theirs.
    assert all(escape(each) in page.text for each in (told["headline"], *told["others"], *told["untold"]))
    estimate = running.api.get(f"/v1/campaigns/{public['id']}/estimates").json()
    assert amount(estimate["table"]["value"][0], "share", estimate["table"]["standard_error"][0]) in page.text
    picture = running.anonymous.get(f"{path}/estimate.svg")
    assert picture.headers["cache-control"] == "public, max-age=60"
    assert picture.text.count('class="band"') == 1 + 3


def test_a_page_is_made_once_for_all_who_ask(running: Any) -> None:
    plan = running.ready_plan()["id"]
    public = running.api.post("/v1/campaigns", json={**TERMS, "plan_request": plan, "public": True}).json()
    running.api.post(f"/v1/campaigns/{public['id']}/open").raise_for_status()
    running.app.state.public_texts = SharedTexts(3600.0)
    before = running.anonymous.get(f"/status/{public['id']}").text
    running.report(public, [0] * 10)
    assert running.anonymous.get(f"/status/{public['id']}").text == before


def test_owners_read_what_is_sent_with_its_chances_and_what_their_rights_are(running: Any) -> None:
    running.app.state.public_texts = SharedTexts(0.0)
    german = {"language": "de-CH", "purpose": "Wir fragen <b>.", "contact": "post@beispiel.example"}
    texts = [german | {"link": "https://beispiel.example/mehr"}]
    order = {**TERMS, "plan_request": running.ready_plan()["id"], "public": True, "texts": texts}
    public = running.api.post("/v1/campaigns", json=order).raise_for_status().json()
    running.api.post(f"/v1/campaigns/{public['id']}/open").raise_for_status()
    page = running.anonymous.get(f"/status/{public['id']}").text
    part = running.device_part(public)
    law = part_law(part, 0)
    own = float(max(law.values()))
    assert f"if it holds “{escape(part.domain.label(0))}”, it says so {100 * own:.0f} times in 100" in page
    shown = [float(each) for each in re.findall(r'<td class="number">([0-9.]+)</td></tr>', page)]
    assert shown == [pytest.approx(100 * float(chance), abs=0.5) for chance in sorted(law.values(), reverse=True)]
    assert '<a href="#text-de-ch" lang="de-CH">de-CH</a>' in page
    assert '<blockquote lang="de-CH" id="text-de-ch">Wir fragen &lt;b&gt;.' in page
    assert 'href="https://beispiel.example/mehr" rel="noreferrer"' in page
    assert "<dt>Ask us</dt><dd>post@beispiel.example</dd>" in page
    assert "single answers until 30 days after the question ends, then only their sums" in page
    assert "Nothing yet: answers are shown when the question closes." in page
    assert len(page.encode()) < 60_000


def test_owners_of_another_mechanism_read_one_sentence_about_it(running: Any) -> None:
    running.app.state.public_texts = SharedTexts(0.0)
    plan = running.ready_plan(mechanism="subset_selection")["id"]
    order = {**TERMS, "plan_request": plan, "public": True, "series": {"slots": 7, "answers_max": 12}}
    public = running.api.post("/v1/campaigns", json=order).raise_for_status().json()
    running.api.post(f"/v1/campaigns/{public['id']}/open").raise_for_status()
    page = running.anonymous.get(f"/status/{public['id']}").text
    assert "no answer becomes more than 2.7 times as likely (ε 1)" in page
    assert "One answer in any 7 days in a row, 12 times at most." in page
    assert "in 100 cases" not in page
