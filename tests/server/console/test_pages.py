"""Every page and form of the console as every role, and what the pages say."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute

from sordino_analysis.answers.parquet import read_parquet
from sordino_analysis.figures import SHARE, amount, figure
from sordino_server.console import person_sign_in
from sordino_server.console.rendering import POLICY, _moment
from sordino_server.console.routes import PARTS
from sordino_server.console.shared_texts import SharedTexts
from sordino_server.jobs.log_keeper import LogKeeper
from sordino_server.models import Role
from sordino_server.public_log import setup
from tests.server.console.conftest import HIDDEN, Browsers

FORMS = ("", ".json", ".csv")
# The one address of others that pages link, and load nothing from.
HELP = "https://sordino.example/docs/"
READ = {None: 303, Role.ANALYST: 200, Role.ADMIN: 200}
READ_BY_ADMIN = {None: 303, Role.ANALYST: 403, Role.ADMIN: 200}
PICTURE = {None: 401, Role.ANALYST: 200, Role.ADMIN: 200}
# Every path of the console and what each role gets; a path that is missing here fails.
PAGES: dict[str, dict[Role | None, int]] = {
    "/console/questions": READ,
    "/console/words": READ,
    "/console/activity": READ,
    "/console/campaigns": READ,
    "/console/campaigns/{campaign_id}": READ,
    "/console/campaigns/{campaign_id}/estimate": READ,
    "/console/campaigns/{campaign_id}/answers": READ,
    "/console/compare": READ,
    "/console/experiments": READ,
    "/console/plans": READ,
    "/console/plans/{request_id}": READ,
    "/console/populations": READ,
    "/console/populations/{population_id}": READ,
    "/console/log": READ,
    "/console/keys": READ_BY_ADMIN,
    "/console/audit-log": READ_BY_ADMIN,
}
OTHER_GETS: dict[str, dict[Role | None, int]] = {
    # The campaign is not public.
    "/status/{campaign_id}": {None: 404, Role.ANALYST: 404, Role.ADMIN: 404},
    "/status/{campaign_id}/estimate.svg": {None: 404, Role.ANALYST: 404, Role.ADMIN: 404},
    "/status/{campaign_id}/card": {None: 404, Role.ANALYST: 404, Role.ADMIN: 404},
    # Of no link.
    "/shared/{token}": {None: 404, Role.ANALYST: 404, Role.ADMIN: 404},
    "/console/campaigns/{campaign_id}/card": READ,
    "/console/new": READ,
    "/console/new-campaign": READ,
    "/console/plans/{request_id}/new-campaign": READ,
    "/console/plans/{request_id}/progress": READ,
    "/console/plans/{request_id}/users": {None: 303, Role.ANALYST: 422, Role.ADMIN: 422},
    "/console/plans/{request_id}/users/{epsilon}": {None: 303, Role.ANALYST: 422, Role.ADMIN: 422},
    "/console": {None: 303, Role.ANALYST: 303, Role.ADMIN: 303},
    "/console/sign-in": {None: 200, Role.ANALYST: 200, Role.ADMIN: 200},
    # People sign in here with keys alone.
    "/console/sign-in/person": {None: 404, Role.ANALYST: 404, Role.ADMIN: 404},
    "/console/sign-in/callback": {None: 404, Role.ANALYST: 404, Role.ADMIN: 404},
    "/console/static/{name}": {None: 200, Role.ANALYST: 200, Role.ADMIN: 200},
    "/console/campaigns/{campaign_id}/counts": READ,
    "/console/campaigns/{campaign_id}/estimate.parquet": {None: 303, Role.ANALYST: 200, Role.ADMIN: 200},
    "/console/campaigns/{campaign_id}/actions/{action}": READ,
    "/console/campaigns/{campaign_id}/rounds/{index}/actions/{round_action}": READ,
    "/console/campaigns/{campaign_id}/estimate.svg": PICTURE,
    "/console/campaigns/{campaign_id}/reports.svg": PICTURE,
    # The campaign is no series.
    "/console/campaigns/{campaign_id}/series.svg": {None: 401, Role.ANALYST: 422, Role.ADMIN: 422},
    # It is no experiment either.
    "/console/experiments/{campaign_id}": {None: 303, Role.ANALYST: 404, Role.ADMIN: 404},
    "/console/experiments/{campaign_id}.json": {None: 401, Role.ANALYST: 404, Role.ADMIN: 404},
    "/console/experiments/{campaign_id}.csv": {None: 401, Role.ANALYST: 404, Role.ADMIN: 404},
    "/console/campaigns/{campaign_id}/series": {None: 303, Role.ANALYST: 422, Role.ADMIN: 422},
    "/console/campaigns/{campaign_id}/series.json": {None: 401, Role.ANALYST: 422, Role.ADMIN: 422},
    "/console/campaigns/{campaign_id}/series.csv": {None: 401, Role.ANALYST: 422, Role.ADMIN: 422},
    # It collects no strings.
    "/console/campaigns/{campaign_id}/strings": {None: 303, Role.ANALYST: 422, Role.ADMIN: 422},
    "/console/campaigns/{campaign_id}/strings.json": {None: 401, Role.ANALYST: 422, Role.ADMIN: 422},
    "/console/campaigns/{campaign_id}/strings.csv": {None: 401, Role.ANALYST: 422, Role.ADMIN: 422},
    "/console/campaigns/{campaign_id}/strings/progress": {None: 303, Role.ANALYST: 422, Role.ADMIN: 422},
    "/console/campaigns/{campaign_id}/strings/follow-up": {None: 303, Role.ANALYST: 422, Role.ADMIN: 422},
    "/console/campaigns/{campaign_id}/strings/follow-up.json": {None: 401, Role.ANALYST: 422, Role.ADMIN: 422},
    "/console/campaigns/{campaign_id}/strings/follow-up.csv": {None: 401, Role.ANALYST: 422, Role.ADMIN: 422},
    # A picture of no question.
    "/console/campaigns/{campaign_id}/answers.svg": {None: 401, Role.ANALYST: 422, Role.ADMIN: 422},
    # A picture of no two campaigns, and of a campaign that is no experiment.
    "/console/compare.svg": {None: 401, Role.ANALYST: 422, Role.ADMIN: 422},
    "/console/experiments/{campaign_id}/looks.svg": {None: 401, Role.ANALYST: 404, Role.ADMIN: 404},
    "/console/plans/{request_id}/kernel.svg": PICTURE,
    "/console/plans/{request_id}/variances.svg": PICTURE,
    "/console/populations/{population_id}/ledger.svg": PICTURE,
}
POSTS: dict[str, dict[Role | None, int]] = {
    # Forms that an operator may send, and that are not filled in.
    "/console/new": {None: 401, Role.ANALYST: 422, Role.ADMIN: 422},
    "/console/new/yaml": {None: 401, Role.ANALYST: 422, Role.ADMIN: 422},
    "/console/preview": {None: 401, Role.ANALYST: 422, Role.ADMIN: 422},
    "/console/new-campaign": {None: 401, Role.ANALYST: 422, Role.ADMIN: 422},
    "/console/plans/{request_id}/new-campaign": {None: 401, Role.ANALYST: 422, Role.ADMIN: 422},
    # The plan is finished.
    "/console/plans/{request_id}/cancel": {None: 401, Role.ANALYST: 409, Role.ADMIN: 409},
    "/console/campaigns/{campaign_id}/strings": {None: 401, Role.ANALYST: 422, Role.ADMIN: 422},
    "/console/campaigns/{campaign_id}/actions/{action}": {None: 401, Role.ANALYST: 303, Role.ADMIN: 303},
    # The round has not failed.
    "/console/campaigns/{campaign_id}/rounds/{index}/actions/{round_action}": {
        None: 401,
        Role.ANALYST: 409,
        Role.ADMIN: 409,
    },
    # No end is chosen, and no link was made.
    "/console/campaigns/{campaign_id}/share-links": {None: 401, Role.ANALYST: 422, Role.ADMIN: 422},
    "/console/campaigns/{campaign_id}/share-links/{link_id}/revoke": {None: 401, Role.ANALYST: 404, Role.ADMIN: 404},
    "/console/keys": {None: 401, Role.ANALYST: 403, Role.ADMIN: 201},
    "/console/keys/{key_id}/revoke": {None: 401, Role.ANALYST: 403, Role.ADMIN: 303},
    # Last, since it ends the session.
    "/console/sign-out": {None: 401, Role.ANALYST: 303, Role.ADMIN: 303},
}


class Checked(HTMLParser):
    """Notes what a page must not have, and its addresses."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.faults: list[str] = []
        self.links: list[str] = []
        self.labels: set[str | None] = set()
        self._inside_label = 0
        self._inside_script = False
        self.headings = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._inside_script = tag == "script"
        if tag in ("style", "iframe") or (tag == "script" and not str(given.get("src")).startswith("/console/static/")):
            self.faults.append(tag)
        self.faults += [name for name in given if name == "style" or name.startswith("on")]
        if tag == "img" and not given.get("alt"):
            self.faults.append("img without alt")
        if tag == "label":
            self._inside_label += 1
            self.labels.add(given.get("for"))
        if tag in ("input", "select") and given.get("type") != "hidden":
            labelled = self._inside_label or given.get("id") in self.labels
            self.faults += [] if labelled else [f"{tag} without label"]
        self.headings += tag == "h1"
        self.links += [value for name in ("href", "src", "action") if (value := given.get(name))]

    def handle_endtag(self, tag: str) -> None:
        self._inside_label -= tag == "label"
        self._inside_script = False

    def handle_data(self, data: str) -> None:
        if self._inside_script and data.strip():
            self.faults.append("inline script")


@pytest.fixture
def known(running: Any) -> dict[str, str]:
    """Ids of a campaign with an estimate, and of what belongs to it; the server keeps a log."""
    setup.prepare(running.settings, running.database, running.clock.now())
    campaign = running.campaign("open")
    running.report(campaign, [0] * 60 + [1] * 40)
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    LogKeeper(running.database, running.clock, running.settings).step()
    population = running.api.get("/v1/populations").json()["populations"][0]["id"]
    plan = running.api.get("/v1/plan-requests").json()["plan_requests"][0]["id"]
    key = running.key(Role.UPLOADER).split("_")[2]
    return {
        "name": "console.css",
        "token": "A" * 43,
        "link_id": "1",
        "campaign_id": campaign["id"],
        "population_id": population,
        "request_id": plan,
        "key_id": key,
        "action": "archive",
        "epsilon": "2",
        "index": "0",
        "round_action": "retry",
    }


def test_the_tables_have_every_route() -> None:
    routes = {
        (method, each.path)
        for router in [*(part.router for part in PARTS), person_sign_in.callback]
        for each in router.routes
        if isinstance(each, APIRoute)
        for method in each.methods or ()
    }
    pages = {("GET", path + form) for path in PAGES for form in FORMS}
    assert routes == pages | {("GET", path) for path in OTHER_GETS} | {
        ("POST", path) for path in [*POSTS, "/console/sign-in", "/console/sign-in-link", "/console/sign-in-links"]
    }


def test_every_page_and_form_as_every_role(browsers: Any, known: dict[str, str]) -> None:
    visitors = {None: browsers.anonymous(), **{role: browsers.of(role) for role in (Role.ANALYST, Role.ADMIN)}}
    for role, browser in visitors.items():
        for path, expected in {**PAGES, **OTHER_GETS}.items():
            response = browser.http.get(path.format(**known))
            assert response.status_code == expected[role], (role, path, response.text[:300])
            if path in PAGES and expected[role] != 200:
                refused = {browser.http.get(path.format(**known) + form).status_code for form in (".json", ".csv")}
                assert refused == {401 if role is None else 403}, (role, path)
        token = "" if role is None else browser.token("/console/campaigns")
        for path, expected in POSTS.items():
            address = path.format(**known)
            if role is not None:
                assert browser.http.post(address, data={"name": "x", "role": "analyst"}).status_code == 403, path
            fields = {"name": "new", "role": "analyst", "once": f"{role} {path}"[:64]}
            sent = browser.http.post(address, data={"token": token, **fields})
            assert sent.status_code == expected[role], (role, path, sent.text[:300])


def test_pages_load_nothing_from_elsewhere_and_say_what_they_are(browsers: Any, known: dict[str, str]) -> None:
    browser = browsers.of(Role.ADMIN)
    for path in [*PAGES, "/console/sign-in"]:
        response = browser.http.get(path.format(**known))
        assert response.headers["content-security-policy"] == POLICY
        assert response.headers["cache-control"] == "no-store"
        checked = Checked(response.text)
        assert not checked.faults, (path, checked.faults)
        assert checked.headings == 1
        assert 'lang="en"' in response.text
        for link in checked.links:
            assert link.startswith(("/", "#", "?", HELP)), (path, link)
            if link.startswith("/") and not link.endswith(("/revoke", "/share-links", "/sign-out", "/sign-in-link")):
                assert browser.http.get(link).status_code in (200, 303), (path, link)


def test_the_data_of_a_page_is_that_of_the_api(running: Any, browsers: Any, known: dict[str, str]) -> None:
    browser = browsers.of(Role.ADMIN)
    campaign = f"/campaigns/{known['campaign_id']}"
    page = browser.page(f"/console{campaign}")
    assert "We ask how late you were." in page
    status = running.api.get(f"/v1{campaign}/status").json()
    assert browser.http.get(f"/console{campaign}.json").json() == status
    (row,) = csv.DictReader(io.StringIO(browser.page(f"/console{campaign}.csv")))
    assert (row["index"], row["state"], row["reports"]) == ("0", "estimated", "100")
    estimate = running.api.get(f"/v1{campaign}/estimates")
    assert browser.http.get(f"/console{campaign}/estimate.json").content == estimate.content
    table = running.api.get(f"/v1{campaign}/estimates?format=csv")
    assert browser.http.get(f"/console{campaign}/estimate.csv").content == table.content
    table_of = estimate.json()["table"]
    assert amount(table_of["value"][0], SHARE, table_of["standard_error"][0]) in browser.page(
        f"/console{campaign}/estimate"
    )
    picture = browser.http.get(f"/console{campaign}/estimate.svg")
    assert picture.headers["content-type"] == "image/svg+xml"
    assert picture.text.count('class="band"') == 1 + len(estimate.json()["table"]["value"])
    for noun in ("keys", "audit-log"):
        assert browser.http.get(f"/console/{noun}.json").json() == running.api.get(f"/v1/{noun}").json()
    log = browser.http.get("/console/log.json").json()
    assert log == {
        "log": running.api.get("/v1/log").json(),
        "vouching": running.api.get("/v1/log/witnesses").json(),
        "entries": running.api.get("/v1/log/entries").json(),
    }
    assert [each["kind"] for each in csv.DictReader(io.StringIO(browser.page("/console/log.csv")))] == [
        "end",
        "campaign",
    ]
    plan = running.api.get(f"/v1/plan-requests/{known['request_id']}").json()
    assert browser.http.get(f"/console/plans/{known['request_id']}.json").json() == plan
    candidates = [
        each["name"] for each in csv.DictReader(io.StringIO(browser.page(f"/console/plans/{plan['id']}.csv")))
    ]
    assert candidates == [each["name"] for each in plan["summary"]["candidates"]]
    size = running.api.get(f"/v1/plan-requests/{plan['id']}/sample-size?margin=0.01").json()
    assert f"{size['users']:,}</td>" in browser.page(f"/console/plans/{plan['id']}?margin=0.01")
    drawn, told = plan["summary"]["drawn_manipulation"], browser.page(f"/console/plans/{plan['id']}")
    moved = (
        f"at most {figure(drawn['mean'])} times\nthe share in the mean" if drawn["has_coin"] else "a report has no coin"
    )
    assert moved in told[told.index("With tokens") :]
    ledger = running.api.get(f"/v1/populations/{known['population_id']}/ledger").json()["entries"]
    shown = browser.http.get(f"/console/populations/{known['population_id']}.json").json()
    assert shown["entries"] == ledger
    assert shown["population"] == running.api.get(f"/v1/populations/{known['population_id']}").json()


def test_an_estimate_is_copied_and_read_elsewhere(
    running: Any, browsers: Any, known: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, path = browsers.of(Role.ANALYST), f"/console/campaigns/{known['campaign_id']}"
    page = browser.page(f"{path}/estimate")
    code = re.search(r"(import os\n.*?)</code>", page, re.DOTALL)
    assert code is not None
    monkeypatch.setenv("SORDINO_KEY", running.admin_key)
    names: dict[str, Any] = {}
    exec(unescape(code[1]).replace("read_estimates(", "read_estimates(frame='columns', source="), names)
    exported = running.api.get(f"/v1/estimates?campaign={known['campaign_id']}&format=rows").json()["rows"]
    assert list(names["frame"]["value"]) == [row["value"] for row in exported]
    assert f"{path}/estimate.parquet" in page
    file = tmp_path / "estimate.parquet"
    file.write_bytes(browser.http.get(f"{path}/estimate.parquet").raise_for_status().content)
    assert list(read_parquet(file).columns["value"]) == [row["value"] for row in exported]
    listed = browser.http.get("/console/campaigns.json").json()["campaigns"][0]
    assert listed["last_report_at"] == running.clock.now()
    monkeypatch.setattr("sordino_server.console.estimate_pages.find_spec", lambda _: None)
    assert "estimate.parquet" not in browser.page(f"{path}/estimate")
    assert browser.http.get(f"{path}/estimate.parquet").status_code == 404


@pytest.mark.parametrize("engine", ["running", "running_on_postgres"])
def test_lists_are_filtered_and_have_pages(request: pytest.FixtureRequest, engine: str) -> None:
    running = request.getfixturevalue(engine)
    browsers = Browsers(running)
    plan = running.ready_plan()["id"]
    for name in ("first", "second", "third"):
        terms = {"name": name, "purpose": "We ask.", "population": "travellers", "plan_request": plan}
        created = running.api.post("/v1/campaigns", json=terms).raise_for_status().json()
        running.clock.advance(1)
    running.api.post(f"/v1/campaigns/{created['id']}/open").raise_for_status()
    browser, path = browsers.of(Role.ANALYST), "/console/campaigns"

    def names(asked: str) -> list[str]:
        return [each["name"] for each in browser.http.get(f"{path}.json{asked}").raise_for_status().json()["campaigns"]]

    def ids() -> dict[str, str]:
        return {each["name"]: each["id"] for each in browser.http.get(f"{path}.json").json()["campaigns"]}

    assert names("") == ["third", "second", "first"]
    assert names("?state=open&population=&name=") == ["third"]
    assert names("?state=ready&name=first") == ["first"]
    assert names("?population=nobody") == []
    first = browser.page(f"{path}?page_size=2&state=")
    following = next(link for link in Checked(first).links if "page_token" in link)
    assert "first" in browser.page(path + following)
    assert "second" not in browser.page(path + following)
    assert names("?sort=oldest") == names("?sort=name") == ["first", "second", "third"]
    assert names("?sort=state") == ["third", *sorted(names("?state=ready"), key=ids().__getitem__)]
    token = browser.http.get(f"{path}.json?sort=name&page_size=2").json()["next_page_token"]
    assert names(f"?sort=name&page_size=2&page_token={token}") == ["third"]
    running.api.delete(f"/v1/campaigns/{ids()['second']}").raise_for_status()
    assert "begin with the first page" in browser.page(f"{path}?sort=name&page_token={token}", 422)
    assert browser.http.get(f"{path}?state=nonsense").status_code == 422
    assert browser.http.get(f"{path}?pagesize=2").status_code == 422
    browsers.close()


def test_markup_in_a_name_is_text(running: Any, browsers: Any) -> None:
    name = '<script>alert("x")</script>'
    plan = running.ready_plan()["id"]
    terms = {"name": name, "purpose": f"{name} & so on", "population": "R&D's", "plan_request": plan}
    campaign = running.api.post("/v1/campaigns", json=terms).raise_for_status().json()["id"]
    running.api.post(f"/v1/campaigns/{campaign}/open").raise_for_status()
    running.api.post("/v1/keys", json={"name": "=1+1", "role": "analyst"}).raise_for_status()
    browser = browsers.of(Role.ADMIN)
    for path in ("campaigns", f"campaigns/{campaign}"):
        page = browser.page(f"/console/{path}")
        assert name not in page
        assert "&lt;script&gt;" in page
    # Names of populations have no angle brackets.
    assert "R&amp;D&#39;s" in browser.page("/console/populations")
    assert "'=1+1" in browser.page("/console/keys.csv")


def test_what_is_not_there_is_said(running: Any, browsers: Any) -> None:
    browser = browsers.of(Role.ANALYST)
    campaign = running.campaign("open")["id"]
    assert "close it first" in browser.page(f"/console/campaigns/{campaign}/estimate", 409)
    assert (
        browser.http.get(f"/console/campaigns/{campaign}/estimate.csv").json()["type"] == "/problems/estimate-not-ready"
    )
    assert "there is no campaign" in browser.page(f"/console/campaigns/{'0' * 64}", 404)
    plan = running.api.get("/v1/plan-requests").json()["plan_requests"][0]["id"]
    assert "a number above 0" in browser.page(f"/console/plans/{plan}?margin=nan", 422)


def test_keys_are_created_and_revoked_with_an_entry_each(running: Any, browsers: Any) -> None:
    browser = browsers.of(Role.ADMIN)
    created = browser.send("/console/keys", "/console/keys", name="robot", role="analyst")
    assert created.status_code == 201
    text = next(part for part in created.text.replace("<", ">").split(">") if part.startswith("sdo_analyst_"))
    assert running.client(text).get("/v1/campaigns").status_code == 200
    assert browser.send("/console/keys", "/console/keys", name="robot", role="owner").status_code == 422
    assert browser.send("/console/keys", "/console/keys", name="", role="analyst").status_code == 422
    identifier = text.split("_")[2]
    for _ in range(2):
        assert browser.send(f"/console/keys/{identifier}/revoke", "/console/keys").status_code == 303
    assert running.client(text).get("/v1/campaigns").status_code == 401
    entries = running.api.get("/v1/audit-log").json()["entries"]
    assert [(each["action"], each["path"]) for each in entries] == [
        ("revoke key", f"/v1/keys/{identifier}"),
        ("create key", f"/v1/keys/{identifier}"),
        ("sign in", "/console"),
    ]


def test_a_key_is_created_with_an_end_and_the_page_shows_it_and_the_last_use(running: Any, browsers: Any) -> None:
    browser = browsers.of(Role.ADMIN)
    created = browser.send("/console/keys", "/console/keys", name="robot", role="analyst", days="1")
    assert "which expires at 2027-01-16" in created.text
    text = next(part for part in created.text.replace("<", ">").split(">") if part.startswith("sdo_analyst_"))
    assert running.client(text).get("/v1/campaigns").status_code == 200
    row = next(each for each in browser.http.get("/console/keys.json").json()["keys"] if each["name"] == "robot")
    assert (row["expires_at"], row["last_used_at"]) == (running.clock.now() + 86400, running.clock.now())
    running.clock.advance(86400 - 3600)
    assert "expired" not in browsers.of(Role.ADMIN).page("/console/keys").partition("</caption>")[2]
    running.clock.advance(3600)
    assert "expired 2027-01-16" in browsers.of(Role.ADMIN).page("/console/keys")
    for days in ("0", "-1", "1.5", "x", "9999999", "²"):
        refused = browsers.of(Role.ADMIN).send("/console/keys", "/console/keys", name="x", role="analyst", days=days)
        assert (refused.status_code, "a whole number from 1" in refused.text) == (422, True), days


def test_a_key_of_a_person_without_days_ends_after_a_year_as_the_form_says(running: Any, browsers: Any) -> None:
    browser = browsers.of(Role.ADMIN)
    assert 'placeholder="365 for people"' in browser.page("/console/keys")
    for role, end in (("analyst", running.clock.now() + 365 * 86400), ("uploader", None)):
        browser.send("/console/keys", "/console/keys", name=f"a {role}", role=role, days="")
        made = next(each for each in running.api.get("/v1/keys").json()["keys"] if each["name"] == f"a {role}")
        assert made["expires_at"] == end


def test_ones_own_key_is_revoked_only_after_a_question(running: Any, browsers: Any) -> None:
    key = running.key(Role.ADMIN)
    browser, path = browsers.anonymous(), f"/console/keys/{key.split('_')[2]}/revoke"
    browser.sign_in(key)
    asked = browser.send(path, "/console/keys")
    assert (asked.status_code, "You signed in with this key" in asked.text) == (200, True)
    assert running.client(key).get("/v1/keys").status_code == 200
    fields = dict(HIDDEN.findall(asked.text))
    assert browser.http.post(path, data={"own": "yes"}).status_code == 403
    assert browser.http.post(path, data=fields).status_code == 303
    assert running.client(key).get("/v1/keys").status_code == 401
    assert browser.http.get("/console/keys").headers["location"] == "/console/sign-in"


def test_the_last_key_of_an_admin_stays(running: Any, browsers: Any) -> None:
    browser, last = browsers.of(Role.ADMIN), running.admin_key.split("_")[2]
    mine = next(each["id"] for each in running.api.get("/v1/keys").json()["keys"] if each["id"] != last)
    assert browser.send(f"/console/keys/{last}/revoke", "/console/keys").status_code == 303
    refused = browser.send(f"/console/keys/{mine}/revoke", "/console/keys", own="yes")
    assert (refused.status_code, "create another first" in refused.text) == (409, True)
    browser.page("/console/keys")


def test_counts_of_an_open_campaign_refresh_until_it_is_closed(running: Any, browsers: Any) -> None:
    browser, campaign = browsers.of(Role.ANALYST), running.campaign("open")
    path = f"/console/campaigns/{campaign['id']}"
    page = browser.page(path)
    assert not Checked(page).faults
    assert f'hx-get="{path}/counts" hx-trigger="every 2s"' in page
    assert '"allowEval": false' in page
    running.report(campaign, [0] * 70)
    running.app.state.live_counts = SharedTexts(0.0)
    counts = browser.page(f"{path}/counts")
    assert "<dt>Answered</dt><dd>70<small>" in counts
    assert "Round 0 closes when an operator closes it." in counts
    assert f"Last report {_moment(running.clock.now())}." in counts
    # The route behind the door says the same, but for the rate.
    behind = browser.page(f"{path}/counts?")
    assert "<dt>Answered</dt><dd>70<small>" in behind
    assert browser.http.get(f"/console/campaigns/{'0' * 64}/counts").status_code == 404
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    assert "hx-get" not in browser.page(f"{path}/counts")
    assert "htmx" not in browser.page(path)
    browser.http.cookies.clear()
    ended = browser.http.get(f"{path}/counts", headers={"HX-Request": "true"})
    assert (ended.status_code, ended.headers["hx-redirect"]) == (401, "/console/sign-in")


def test_the_vendored_script_is_the_one_that_its_note_names(browsers: Any) -> None:
    http = browsers.anonymous().http
    note = http.get("/console/static/htmx.txt").text
    assert f"SHA-256 {hashlib.sha256(http.get('/console/static/htmx.min.js').content).hexdigest()}" in note
    version = note.splitlines()[0].removeprefix("htmx ")
    assert f'version:"{version}"' in http.get("/console/static/htmx.min.js").text
    assert "Zero-Clause BSD" in note


def test_a_pairwise_statistic_has_a_plan_and_an_estimate(running: Any, browsers: Any) -> None:
    colours = {"name": "colour", "kind": "categorical", "labels": ["red", "green", "blue"]}
    workload = running.workload({"name": "mixed", "domain": [colours], "statistic": {"kind": "gini_diversity"}})
    order = {"workload": workload, "epsilon": 1, "users": 200, "protocol": "one_round", "effort": "quick"}
    plan = running.api.post("/v1/plan-requests", json=order).raise_for_status().json()["id"]
    running.work()
    terms = {"name": "colours", "purpose": "We ask.", "population": "all", "plan_request": plan}
    campaign = running.api.post("/v1/campaigns", json=terms).raise_for_status().json()
    running.api.post(f"/v1/campaigns/{campaign['id']}/open").raise_for_status()
    running.report(campaign, [0, 1, 2, 0] * 50)
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    browser = browsers.of(Role.ANALYST)
    page = browser.page(f"/console/campaigns/{campaign['id']}/estimate")
    (row,) = csv.DictReader(io.StringIO(browser.page(f"/console/campaigns/{campaign['id']}/estimate.csv")))
    assert amount(float(row["value"]), "", float(row["standard_error"])) in page
    assert "estimate.svg" not in page
    assert browser.http.get(f"/console/campaigns/{campaign['id']}/estimate.svg").status_code == 404
    shown = browser.page(f"/console/plans/{plan}")
    assert "one_round" in shown
    assert "with 200 users" in shown
