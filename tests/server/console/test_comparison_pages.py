"""The page that compares two campaigns: what the API says, with the first difference named where nothing can be."""

from __future__ import annotations

import re
import shutil
import subprocess
from html import unescape
from typing import Any
from xml.etree import ElementTree

import pytest

from sordino_server.models import Role
from tests.server.answers.test_answers_on_demand_api import TABLE, closed
from tests.server.answers.test_comparisons_api import DELAY, identifier, order, two

PAGE = "/console/compare"


def words(page: str) -> str:
    """The page with single blanks."""
    return unescape(" ".join(page.split()))


def test_two_campaigns_are_chosen_and_their_differences_are_those_of_the_api(
    running: Any, browsers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    may, june = two(running)
    browser = browsers.of(Role.ANALYST)
    form = browser.page(PAGE)
    assert "<h2>Verdict</h2>" not in form
    assert set(re.findall(r'<option value="([0-9a-f]{64})">', form)) == {may, june}
    # From the page of a campaign the left one is chosen.
    assert f'href="{PAGE}?left={may}"' in browser.page(f"/console/campaigns/{may}")
    assert f'<option value="{may}" selected>' in browser.page(f"{PAGE}?left={may}")

    # As the form sends it, with empty fields.
    asked = f"left={may}&right={june}&level=0.95&population=false&query="
    page = browser.page(f"{PAGE}?{asked}")
    api = running.api.get(f"/v1/comparisons?left={may}&right={june}")
    table = api.json()["table"]
    assert browser.http.get(f"{PAGE}.json?{asked}").content == api.content
    csv = running.api.get(f"/v1/comparisons?left={may}&right={june}&format=csv")
    assert browser.http.get(f"{PAGE}.csv?{asked}").content == csv.content
    assert table["verdict"][0] == "lower"
    assert f"{table['label'][0]} is lower: june − may = " in words(page)
    shown = re.findall(r'<td class="number">(higher|lower|undecided)</td>', page)
    assert shown == table["verdict"]
    drawn = browser.http.get(unescape(re.search(r'href="([^"]+\.svg\?[^"]*)"', page)[1]))  # type: ignore[index]
    root = ElementTree.fromstring(drawn.text)
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert [text for text in texts if text in ("higher", "lower", "undecided")] == table["verdict"]
    assert "june − may" in texts

    # The same differences on the page: in grey, and in words, where nothing can be told.
    assert page.count("cannot tell</td>") == table["verdict"].count("undecided")
    assert page.count('<rect class="span0"') == table["verdict"].count("undecided")
    assert page.count('<rect class="span1"') == len(table["verdict"]) - table["verdict"].count("undecided")

    curl, command = (unescape(text) for text in re.findall(r"<code>((?:curl|sordino).*?)</code>", page, flags=re.S))
    monkeypatch.setenv("SORDINO_KEY", running.key(Role.ANALYST))
    if shutil.which("curl"):
        assert subprocess.run(["sh", "-c", curl], capture_output=True, check=True).stdout == api.content
    assert f"compare {may} {june}" in command


def test_queries_level_and_populations_are_asked_for(running: Any, browsers: Any) -> None:
    may, june = two(running)
    browser = browsers.of(Role.ANALYST)
    asked = {"left": may, "right": june, "query": ["os: linux, wifi: no", ""], "level": 0.9, "population": "true"}
    page = browser.http.get(PAGE, params=asked)
    assert page.status_code == 200
    document = browser.http.get(f"{PAGE}.json", params=asked).json()
    assert document["table"]["label"] == ["os: linux, wifi: no"]
    assert document["terms"]["level"] == 0.9
    assert "assumes different people" in page.text
    assert 'value="os: linux, wifi: no"' in page.text
    assert "--population" in page.text
    # A level that the form does not offer stays chosen.
    assert '<option value="0.8" selected>' in browser.page(f"{PAGE}?left={may}&level=0.8")


def test_what_cannot_be_compared_is_said_beside_the_form(running: Any, browsers: Any) -> None:
    may, june = two(running)
    browser = browsers.of(Role.ANALYST)
    running_still = running.campaign("open", **order(running, "august", 4))["id"]
    cancelled = running.campaign("open", "cancel", **order(running, "september", 4))["id"]
    other = TABLE | {"queries": {"matrix": [[1, 0, 1, 0], [0, 1, 0, 1]], "labels": ["os: linux, wifi: no", "mine"]}}
    rows = {"no": TABLE | {"queries": {"matrix": [[1, 1, 0, 0]], "labels": ["mine"]}}, "other": other}
    thirds = {name: _closed(running, name, workload) for name, workload in rows.items()}
    for right, status, said in (
        (may, 422, "is the left campaign too: compare two campaigns"),
        ("0" * 64, 404, f"campaign {'0' * 64}: "),
        (running_still, 409, f"campaign {running_still}: round 0 of 1 is open; close it first"),
        (cancelled, 409, f"campaign {cancelled}: round 0 was cancelled and will have no estimate"),
        (thirds["no"], 422, "the estimates have no query in common: the left one asks 'os: linux, wifi: no'"),
        (thirds["other"], 422, "query 'os: linux, wifi: no' is another row on either side: the cell"),
    ):
        page = browser.page(f"{PAGE}?left={may}&right={right}", status)
        (alert,) = re.findall(r'<p role="alert">(.*?)</p>', page, flags=re.S)
        assert said in unescape(alert)
        # What was chosen is still there.
        assert f'<option value="{right}" selected>' in page
        assert browser.http.get(f"{PAGE}.json?left={may}&right={right}").status_code == status
        assert browser.http.get(f"{PAGE}.svg?left={may}&right={right}").status_code == status
    assert "no query &#39;late&#39;" in browser.page(f"{PAGE}?left={may}&right={june}&query=late", 422)
    assert "choose two campaigns" in browser.http.get(f"{PAGE}.json?left={may}").json()["detail"]
    assert browser.http.get(f"{PAGE}?left=may&right={june}").status_code == 422
    assert browser.http.get(f"{PAGE}?left={may}&right={june}&level=1").status_code == 422


def test_quantiles_and_a_distribution_are_asked_for(running: Any, browsers: Any) -> None:
    sides = [
        identifier(closed(running, cells, **order(running, name, 4, DELAY)))
        for name, cells in (("may", [2] * 900 + [6] * 300), ("june", [4] * 900 + [7] * 300))
    ]
    browser = browsers.of(Role.ANALYST)
    # As the form sends them, with empty fields.
    asked = f"left={sides[0]}&right={sides[1]}&left_periods=&right_periods=&query="
    page = words(browser.page(f"{PAGE}?{asked}&quantile=0.5&quantile=&distribution="))
    assert "0.5 quantile of delay is higher: june − may" in page
    assert 'name="quantile" value="0.5"' in page
    assert "--quantile 0.5" in page
    page = words(browser.page(f"{PAGE}?{asked}&quantile=&distribution=delay"))
    assert "--distribution delay" in page
    assert len(re.findall(r'<td class="number">(?:higher|lower|undecided)</td>', page)) == 7
    assert "leave `distribution` out" in unescape(
        browser.http.get(f"{PAGE}?{asked}&quantile=0.5&distribution=delay").text
    )


def test_two_distributions_are_one_picture_and_other_steps_are_named(running: Any, browsers: Any) -> None:
    fine = DELAY["domain"][0] | {"edges": [1, 2, 3, 4, 5, 6, 7]}  # type: ignore[index]
    coarse = fine | {"edges": [2, 4, 6]}
    sides = [
        identifier(closed(running, cells, **order(running, name, 4, DELAY | {"domain": [domain]})))
        for name, cells, domain in (("may", [2] * 900 + [6] * 300, fine), ("june", [1] * 600 + [2] * 600, fine))
    ]
    browser = browsers.of(Role.ANALYST)
    page = browser.page(f"{PAGE}?left={sides[0]}&right={sides[1]}")
    for form in ("wide", "phone"):
        [drawn] = re.findall(rf'<svg class="chart {form}".*?</svg>', page, flags=re.S)
        # The right one first, and a dashed line for the left one, each with its name; a bar for each step.
        assert drawn.count('<polyline class="line1"') == drawn.count('<polyline class="line2"') == 1
        assert drawn.count('<rect class="span1"') == drawn.count('<rect class="span2"') == 7
        assert re.findall(r'class="name([12])"[^>]*>(\w+)<', drawn) == [("1", "june"), ("2", "may")]
    third = identifier(closed(running, [1] * 900, **order(running, "july", 4, DELAY | {"domain": [coarse]})))
    answer = browser.http.get(f"{PAGE}?left={sides[0]}&right={third}")
    assert answer.status_code == 422
    assert "its edges are 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0 on the left and 2.0, 4.0, 6.0 on the right" in unescape(
        answer.text
    )


def _closed(running: Any, name: str, workload: Any) -> str:
    campaign: dict[str, Any] = running.campaign("open", **order(running, name, 4, workload), mechanism=None)
    running.report(campaign, [0] * 60 + [1] * 40).raise_for_status()
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    return str(campaign["id"])
