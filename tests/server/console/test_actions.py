"""Actions on campaigns from a browser: what the confirming page says, and forms that are sent twice."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select

from sordino_server.models import Role, Round


def _log(running: Any) -> list[tuple[str, str]]:
    entries = running.api.get("/v1/audit-log").json()["entries"]
    return [(each["action"], each["path"]) for each in entries]


def _state(running: Any, campaign: str) -> str:
    return str(running.api.get(f"/v1/campaigns/{campaign}/status").json()["state"])


def test_a_campaign_opens_once_whatever_two_tabs_send(running: Any, browsers: Any) -> None:
    campaign = running.campaign()["id"]
    page = f"/console/campaigns/{campaign}/actions/open"
    browser, other = browsers.of(Role.ANALYST), browsers.of(Role.ANALYST)
    text = browser.page(page)
    assert "We ask how late you were." in text
    assert "one of 4 values" in text
    assert "once; there is no limit" in text
    # Nobody said how many will answer: the reports to hope for, and nothing to tick.
    assert "Each answer within ± 10 % of its scale (95 %, of the population) takes" in text
    assert "anyway" not in text
    assert _state(running, campaign) == "ready"
    first, second = browser.form(page), other.form(page)
    opened = browser.http.post(page, data=first)
    assert (opened.status_code, opened.headers["location"]) == (303, f"/console/campaigns/{campaign}")
    replayed = browser.http.post(page, data=first)
    assert (replayed.status_code, replayed.headers["location"]) == (303, f"/console/campaigns/{campaign}")
    refused = other.http.post(page, data=second)
    assert refused.status_code == 409
    assert f'href="/console/campaigns/{campaign}"' in refused.text
    assert _log(running).count(("open campaign", f"/v1/campaigns/{campaign}/open")) == 1
    population = running.api.get("/v1/populations").json()["populations"][0]["id"]
    assert len(running.api.get(f"/v1/populations/{population}/ledger").json()["entries"]) == 1
    assert browser.http.post(page, data={"token": first["token"]}).status_code == 422
    # The same number on another form.
    close = f"/console/campaigns/{campaign}/actions/close"
    conflict = browser.http.post(close, data=first)
    assert conflict.status_code == 409
    assert "sent before with other fields" in conflict.text
    assert _state(running, campaign) == "open"


def test_the_confirming_page_says_what_the_caps_leave(running: Any, browsers: Any) -> None:
    caps = {"name": "travellers", "epsilon_per_period": 1.5, "period_days": 30, "epsilon_lifetime": "2.5"}
    running.api.post("/v1/populations", json=caps).raise_for_status()
    first, second = running.campaign()["id"], running.campaign(epsilon=0.75)["id"]
    browser = browsers.of(Role.ANALYST)
    page = browser.page(f"/console/campaigns/{first}/actions/open")
    assert "Limit in 30 days, ε 1.5: 0 spent · 1 for this question · 0.5 left" in page
    assert "Limit for life, ε 2.5: 0 spent · 1 for this question · 1.5 left" in page
    assert "once; leaves ε 0.5 of 1.5 in 30 days" in page
    open_first = f"/console/campaigns/{first}/actions/open"
    assert browser.send(open_first, open_first).status_code == 303
    open_second = f"/console/campaigns/{second}/actions/open"
    refusing = browser.page(open_second)
    assert "0.25 too much: the server refuses to open it" in refusing
    # What comes next: the first question leaves the period 30 days after it opened.
    assert "There is room again on 14 Feb 2027: then a question at ε 1.5 fits." in refusing
    refused = browser.send(open_second, open_second)
    assert refused.status_code == 409
    assert "in 30 days" in refused.text
    assert _state(running, second) == "ready"


def test_actions_are_offered_where_they_apply_and_done(running: Any, browsers: Any) -> None:
    browser = browsers.of(Role.ANALYST)
    campaign = running.campaign()["id"]
    base = f"/console/campaigns/{campaign}"

    def offered() -> list[str]:
        page = browser.page(base)
        names = ("open", "close", "cancel", "pause", "resume", "archive", "restore", "delete")
        return [name for name in names if f"{base}/actions/{name}" in page]

    assert offered() == ["open", "cancel", "archive", "delete"]
    running.api.post(f"/v1/campaigns/{campaign}/open").raise_for_status()
    assert offered() == ["close", "cancel"]
    close_round = f"{base}/rounds/0/actions/close"
    assert close_round in browser.page(base)
    assert browser.send(close_round, close_round).status_code == 303
    running.work()
    assert offered() == ["archive"]
    assert "nothing is deleted" in browser.page(f"{base}/actions/archive")
    browser.send(f"{base}/actions/archive", f"{base}/actions/archive")
    assert offered() == ["restore"]
    browser.send(f"{base}/actions/restore", f"{base}/actions/restore")
    assert offered() == ["archive"]
    for path in ("actions/nothing", "rounds/0/actions/nothing"):
        assert browser.http.get(f"{base}/{path}").status_code == 404
    other = running.campaign(epsilon=0.5)["id"]
    delete = f"/console/campaigns/{other}/actions/delete"
    assert browser.send(delete, delete).headers["location"] == "/console/campaigns"
    assert browser.http.get(f"/console/campaigns/{other}").status_code == 404
    assert ("delete campaign", f"/v1/campaigns/{other}") in _log(running)


def test_a_round_that_failed_says_why_and_is_retried(running: Any, browsers: Any) -> None:
    campaign = running.campaign("open")
    running.report(campaign, [0, 1, 2] * 20)
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    with running.database.write("test") as session:
        row = session.scalars(select(Round).where(Round.campaign_id == campaign["id"])).one()
        row.error = "the plan is <gone>; restore it, then retry"
    browser, path = browsers.of(Role.ANALYST), f"/console/campaigns/{campaign['id']}"
    page = browser.page(path)
    assert "the plan is &lt;gone&gt;; restore it, then retry" in page
    retry = f"{path}/rounds/0/actions/retry"
    assert retry in page
    assert browser.http.get(f"{path}/estimate").status_code == 409
    assert browser.send(retry, retry).status_code == 303
    assert retry not in browser.page(path)
    running.work()
    assert browser.http.get(f"{path}/estimate").status_code == 200


def test_a_key_is_made_once_and_shown_once(running: Any, browsers: Any) -> None:
    browser = browsers.of(Role.ADMIN)
    form = {**browser.form("/console/keys"), "name": "new one", "role": "analyst"}
    made, replayed = (browser.http.post("/console/keys", data=form) for _ in range(2))
    assert (made.status_code, replayed.status_code) == (201, 201)
    assert "sdo_analyst_" in made.text
    assert "sdo_analyst_" not in replayed.text
    assert "This form was sent before" in replayed.text
    keys = running.api.get("/v1/keys").json()["keys"]
    assert [each["name"] for each in keys].count("new one") == 1
    assert browser.http.post("/console/keys", data=form | {"name": "another"}).status_code == 409
    assert browser.http.post("/console/keys", data=form | {"role": "king"}).status_code == 422


def test_the_audit_log_has_who_signed_in_and_out(running: Any, browsers: Any) -> None:
    browser = browsers.of(Role.ANALYST)
    browser.send("/console/sign-out", "/console/campaigns")
    assert _log(running) == [("sign out", "/console"), ("sign in", "/console")]
    browsers.anonymous().sign_in("sdo_admin_x_y")
    assert len(_log(running)) == 2
