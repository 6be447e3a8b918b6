"""The page of wider searches: begun by a form, with what was seen as text, and what is refused said beside the form."""

from __future__ import annotations

import csv
import io
import re
from html import unescape
from typing import Any

from sordino_server.models import Role
from tests.server.answers.test_answers_on_demand_api import purge_last_round
from tests.server.answers.test_string_searches_api import estimated
from tests.server.console.conftest import Browsers
from tests.server.console.test_pages import HELP, Checked


def test_a_search_is_begun_followed_and_read(running: Any, browsers: Browsers) -> None:
    path = estimated(running)
    page = f"/console{path.removeprefix('/v1')}/strings"
    browser = browsers.of(Role.ANALYST)
    assert page in Checked(browser.page(page.removesuffix("strings") + "estimate")).links
    first = browser.page(page)
    assert "followed 40 paths" in first
    assert 'value="120"' in first
    sent = browser.send(page, page, beam="200")
    assert (sent.status_code, sent.headers["location"]) == (303, f"{page}?beam=200")
    # The same search once more, as a second visitor may.
    assert browser.send(page, page, beam="200").headers["location"] == f"{page}?beam=200"
    waiting = browser.page(f"{page}?beam=200")
    assert "queued" in waiting
    assert 'hx-get="' in waiting
    refused = browser.send(page, page, beam="300")
    assert (refused.status_code, "a beam of 200 is not finished" in refused.text) == (409, True)
    running.work()
    ended = browser.http.get(f"{page}/progress?beam=200")
    assert ended.headers["hx-refresh"] == "true"
    assert "hx-get" not in ended.text
    shown = browser.page(f"{page}?beam=200")
    found = running.api.get(f"{path}/strings", params={"beam": 200}).json()
    assert browser.http.get(f"{page}.json?beam=200").json() == found
    labels = [unescape(each) for each in re.findall(r'<th scope="row">([^<]*)</th>', shown)]
    assert labels == [each["label"] for each in found["paths"]]
    assert {"=1+1", "<b>x", "a<U+202E>b"} <= set(labels)
    checked = Checked(shown)
    assert not checked.faults
    assert all(link.startswith(("/", "#", "?", HELP)) for link in checked.links)
    assert "<b>x" not in shown
    assert "\u202e" not in shown
    assert "hx-get" not in shown
    rows = list(csv.DictReader(io.StringIO(browser.page(f"{page}.csv?beam=200"))))
    assert [row["label"] for row in rows][:3] == [f"'{each}" if each[0] == "=" else each for each in labels[:3]]
    assert browser.http.get(f"{page}.json").json() == {
        "beam": 40,
        "purged": False,
        "searches": [{"beam": 200, "state": "done", "progress": 1.0, "error": None}],
    }
    entries = [each for each in running.api.get("/v1/audit-log").json()["entries"] if each["after"] == '{"beam": 200}']
    assert [entry["path"] for entry in entries][-1] == f"{path}/strings"
    purge_last_round(running, path)
    gone = browser.page(page)
    assert "were purged" in gone
    assert '<input name="beam"' not in gone
    late = browser.http.post(page, data={"token": browser.token(page), "once": "late", "beam": "250"})
    assert (late.status_code, "purged" in late.text) == (409, True)
    # What was found before stays.
    assert "<b>x" in unescape(browser.page(f"{page}?beam=200"))


def test_what_is_no_beam_is_said_beside_the_form(running: Any, browsers: Browsers) -> None:
    page = f"/console{estimated(running).removeprefix('/v1')}/strings"
    browser = browsers.of(Role.ANALYST)
    for beam, said in (("40", "give more"), ("10001", "from 2 to 10,000"), ("", "whole number"), ("9" * 9, "10,000")):
        refused = browser.send(page, page, beam=beam)
        assert (refused.status_code, said in refused.text) == (422, True), beam
        assert f'name="beam" value="{beam}"' in refused.text
    assert browser.http.get(f"{page}?beam=200").status_code == 404
    assert browser.http.get(f"{page}?beam=1").status_code == 422
