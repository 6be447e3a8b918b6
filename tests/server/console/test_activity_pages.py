"""Who did what to which question, by name: analysts read it, without keys, sign-ins and hashes."""

from __future__ import annotations

import json
import re
from typing import Any

from sordino_server.models import Role
from tests.server.console.test_question_pages import answered, seen


def test_activity_names_who_did_what_to_which_question(running: Any, browsers: Any) -> None:
    opened = running.campaign("open", "cancel", name="late <b>trains</b>")["id"]
    gone = running.campaign(name="late boats")["id"]
    running.api.delete(f"/v1/campaigns/{gone}").raise_for_status()
    running.api.post("/v1/keys", json={"name": "another", "role": "analyst"}).raise_for_status()
    running.clock.advance(86_400)
    running.campaign(name="late planes")
    browser = browsers.of(Role.ANALYST)
    page = browser.page("/console/activity")
    text = re.sub(r"\s+", " ", seen(page))
    assert re.search(r"opened late <b>trains</b> \d\d:\d\d UTC", text)
    assert text.index("late planes") < text.index("cancelled late") < text.index("opened late")
    assert "deleted a question" in text
    assert not re.search(r"[0-9a-f]{12,}", text)
    # Two days, newest first.
    days = re.findall(r"<h2>(\d{4}-\d\d-\d\d)</h2>", page)
    assert days == sorted(days, reverse=True)
    assert len(days) == 2
    entries = json.loads(browser.page("/console/activity.json"))["entries"]
    assert "another" not in str(entries)
    assert not [each for each in entries if "key" in each["done"] or "sign" in each["done"]]
    own = json.loads(browser.page(f"/console/activity.json?question={opened}"))["entries"]
    assert [each["done"] for each in own][:2] == ["cancelled campaign", "opened campaign"]
    assert {each["name"] for each in own} == {"late <b>trains</b>"}
    assert f"/console/activity?question={opened}" in browser.page(f"/console/campaigns/{opened}")
    browser.page("/console/activity?question=%25", 422)


def test_a_person_and_a_kind_are_chosen_and_the_server_says_why_it_closed(running: Any, browsers: Any) -> None:
    campaign = answered(running, "late trains", [0] * 600 + [1] * 300 + [3] * 100)
    terms = {"name": "late planes", "purpose": "We ask.", "population": "pilots", "close_after_s": 60}
    terms |= {"plan_request": running.ready_plan()["id"]}
    timed = running.api.post("/v1/campaigns", json=terms).raise_for_status().json()["id"]
    running.api.post(f"/v1/campaigns/{timed}/open").raise_for_status()
    running.clock.advance(60)
    running.work()
    analyst, admin = browsers.of(Role.ANALYST), browsers.of(Role.ADMIN)
    text = re.sub(r"\s+", " ", seen(analyst.page("/console/activity?person=The+server")))
    assert "The server closed a round of late planes" in text
    assert "0 reports; its time was up" in text
    assert "late trains" not in text
    assert "planned delays" not in seen(analyst.page("/console/activity?kind=campaign"))
    assert "agrees with the filter" in analyst.page("/console/activity?person=<b>nobody</b>")
    assert "<b>nobody" not in analyst.page("/console/activity?person=<b>nobody</b>")
    # The filter without a choice, as a browser sends it.
    assert "late planes" in analyst.page("/console/activity?person=&kind=")
    assert "signed in" in seen(admin.page("/console/activity?kind=session"))
    assert "signed in" not in seen(admin.page("/console/activity"))
    analyst.page("/console/activity?kind=session", 403)
    analyst.page("/console/activity?kind=thing", 422)
    # The result has the same entries.
    assert "closed campaign" in seen(analyst.page(f"/console/campaigns/{campaign}/estimate"))
