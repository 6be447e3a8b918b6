"""A link shows one result to whoever holds it, until it ends or is taken back; its secret is stored nowhere."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Mapping
from time import monotonic, sleep
from typing import Any

import pytest
import structlog
from sqlalchemy import text

from sordino_server.errors import ServerError
from sordino_server.kit.database_errors import DatabaseError
from sordino_server.models import Role
from sordino_server.share_links import service
from sordino_server.share_links.opening_counts import OpeningCounts
from sordino_shared.protocol import Problem
from tests.patience import PATIENCE_S
from tests.server.answers.test_comparisons_api import Check
from tests.server.console.test_question_pages import answered
from tests.server.console.test_statements import statements
from tests.server.series.conftest import begin

_SECRET = ("cache-control", "referrer-policy", "x-robots-tag", "content-security-policy")
CELLS = [0] * 600 + [1] * 300 + [3] * 100


@pytest.mark.parametrize("engine", ["running", pytest.param("running_on_postgres", marks=pytest.mark.slow)])
def test_a_link_opens_until_it_is_taken_back(engine: str, request: pytest.FixtureRequest, check_problem: Check) -> None:
    running = request.getfixturevalue(engine)
    campaign = answered(running, "late <b>trains</b>", CELLS)
    links = f"/v1/campaigns/{campaign}/share-links"
    end = running.clock.now() + 100
    made, lasting = (running.api.post(links, json={"until": until}).json() for until in (end, None))
    page = running.anonymous.get(made["path"])
    assert (page.status_code, page.headers["cache-control"]) == (200, "no-store")
    assert (page.headers["referrer-policy"], page.headers["x-robots-tag"]) == ("no-referrer", "noindex, nofollow")
    assert "set-cookie" not in page.headers
    sentences = running.api.get(f"/v1/campaigns/{campaign}/finding").json()["sentences"]
    assert all(each in page.text for each in sentences)
    assert "late &lt;b&gt;trains" in page.text
    # No way into the console, and no id of the campaign.
    assert "/console/" not in page.text.replace("/console/static/", "")
    assert campaign not in page.text
    assert len(page.content) < 60_000
    listed = running.api.get(links).json()["share_links"]
    assert [(each["id"], each["openings"]) for each in listed] == [(lasting["id"], 0), (made["id"], 1)]
    assert not any("path" in each for each in listed)
    # Its secret is neither in the database nor in the audit log.
    token = made["path"].removeprefix("/shared/")
    with running.database.read("search for the secret") as session:
        rows = session.execute(text("SELECT * FROM share_links")).all()
    entries = running.api.get("/v1/audit-log").json()["entries"]
    assert token not in f"{rows} {entries}"
    assert [each["action"] for each in entries[:2]] == ["create share link"] * 2
    running.clock.advance(100)
    assert "has ended" in (ended := running.anonymous.get(made["path"])).text
    assert ended.status_code == 404
    assert running.anonymous.get(lasting["path"]).status_code == 200
    for _ in range(2):
        revoked = running.api.delete(f"{links}/{lasting['id']}")
        assert revoked.json()["revoked_at"] == running.clock.now()
    gone = running.anonymous.get(lasting["path"])
    assert (gone.status_code, "was taken back" in gone.text) == (404, True)
    # Whoever holds it has no key: the page leads nowhere, and its address is as secret as before.
    assert not re.search(r"<a |<header|/console/(?!static/)|[Ss]ign in", gone.text)
    assert {each: gone.headers[each] for each in _SECRET} == {each: page.headers[each] for each in _SECRET}
    entries = running.api.get("/v1/audit-log").json()["entries"]
    assert [each["action"] for each in entries[:2]] == ["revoke share link", "create share link"]


def test_what_cannot_be_shared_is_refused_in_words(running: Any, check_problem: Check) -> None:
    campaign = running.campaign("open")["id"]
    links = f"/v1/campaigns/{campaign}/share-links"
    check_problem(running.api.post(links, json={"until": None}), Problem.ESTIMATE_NOT_READY)
    done = f"/v1/campaigns/{answered(running, 'other delays', CELLS)}/share-links"
    past = check_problem(running.api.post(done, json={"until": running.clock.now()}), Problem.INVALID_REQUEST)
    assert "would have ended already" in past["detail"]
    for wrong in ({}, {"until": "tomorrow"}, {"until": -1}, {"until": 1.5}, {"until": None, "more": 1}):
        check_problem(running.api.post(done, json=wrong), Problem.INVALID_REQUEST)
    check_problem(running.api.delete(f"{done}/1"), Problem.NOT_FOUND)
    made = running.api.post(done, json={"until": None}).json()
    # Another campaign's link, an upload token, nobody, and secrets that were never given.
    check_problem(running.api.delete(f"{links}/{made['id']}"), Problem.NOT_FOUND)
    assert running.client(running.key(Role.UPLOADER)).post(done, json={"until": None}).status_code == 403
    assert running.anonymous.post(done, json={"until": None}).status_code == 401
    for token in ("A" * 43, "A", made["path"][8:-1] + "!"):
        unknown = running.anonymous.get(f"/shared/{token}")
        assert (unknown.status_code, "was never made" in unknown.text) == (404, True)
        assert "sign-in" not in unknown.text
    running.api.post(f"/v1/campaigns/{campaign}/cancel").raise_for_status()
    check_problem(running.api.post(links, json={"until": None}), Problem.ILLEGAL_TRANSITION)


def test_a_link_to_a_series_keeps_its_period_and_tells_of_its_end(running: Any, check_problem: Check) -> None:
    series = begin(running)
    path = f"/v1/campaigns/{series.id}/share-links"
    shown = []
    for day, cells in ((0, [0] * 300), (3, [3] * 300)):
        series.at(day, 60)
        series.report(day, cells).raise_for_status()
        series.at(day + 2, 60)
        running.work()
        shown.append(running.api.post(path, json={"until": None}).json()["path"])
    first, second = (running.anonymous.get(each).text for each in shown)
    assert re.search("delay", first)
    assert first != second
    console = running.client(running.key(Role.ANALYST))
    told_of = [f"/v1/campaigns/{series.id}/{each}" for each in ("finding", "estimates", "rounds/0/estimates", "series")]
    assert [running.api.get(each).status_code for each in told_of] == [200] * 4
    running.api.post(f"/v1/campaigns/{series.id}/cancel").raise_for_status()
    # Nothing tells it any more.
    for each in told_of:
        check_problem(running.api.get(each), Problem.ESTIMATE_NOT_READY, "was cancelled")
    exported = console.get("/v1/estimates", params={"campaign": series.id})
    check_problem(exported, Problem.ESTIMATE_NOT_READY, "was cancelled")
    assert running.api.get("/v1/campaigns").json()["campaigns"][0]["headline"] is None
    told = running.anonymous.get(shown[0]).text
    assert "was cancelled after the link was made" in told
    assert "%" not in told


def test_the_secret_of_a_link_is_in_no_log(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = running.api.post(
        f"/v1/campaigns/{answered(running, 'delays', CELLS)}/share-links", json={"until": None}
    ).json()

    def failing_with(failure: Exception) -> Callable[..., None]:
        def fail(*_: object) -> None:
            raise failure

        return fail

    for failure in (RuntimeError("a bug"), ServerError(Problem.UNAVAILABLE, "not now")):
        monkeypatch.setattr(service, "opened", failing_with(failure))
        with structlog.testing.capture_logs() as events:
            failed = running.anonymous.get(made["path"])
        assert failed.status_code >= 500
        assert failed.json()["instance"] == "/shared/{token}"
        assert [each["path"] for each in events if "path" in each] == ["/shared/{token}"]
        assert made["path"] not in f"{events} {failed.headers} {failed.text}"
    for wrong in (running.anonymous.post(made["path"]), running.anonymous.get(made["path"] + "/x")):
        assert wrong.status_code in (404, 405)
        assert made["path"] not in wrong.text


def test_a_flood_of_openings_is_counted_in_few_writes(running: Any) -> None:
    campaign = answered(running, "delays", CELLS)
    links = f"/v1/campaigns/{campaign}/share-links"
    path = running.api.post(links, json={"until": None}).json()["path"]
    with statements(running) as sent:
        begun = monotonic()
        for _ in range(40):
            assert running.anonymous.get(path).status_code == 200
        spent = monotonic() - begun
        begun = monotonic()
        while running.api.get(links).json()["share_links"][0]["openings"] < 40:
            assert monotonic() - begun < PATIENCE_S
            sleep(0.05)
    assert running.api.get(links).json()["share_links"][0]["openings"] == 40
    writes = [each for each in sent if each.startswith("UPDATE share_links")]
    # One at once, and one for each second.
    assert 1 <= len(writes) <= 2 + monotonic() - begun + spent
    # The estimate was read once.
    assert len([each for each in sent if "FROM estimates" in each]) == 1


def test_openings_wait_for_a_database_that_takes_nothing() -> None:
    written: Counter[int] = Counter()
    fails = [True]

    def write(openings: Mapping[int, int]) -> None:
        if fails.pop() if fails else False:
            raise DatabaseError("busy")
        written.update(openings)

    async def open_some() -> None:
        counts = OpeningCounts(write, 0.01)
        await counts.note(1)
        assert not written
        for link in (1, 2, 2):
            await counts.note(link)
        await asyncio.sleep(0.2)

    asyncio.run(open_some())
    assert written == {1: 2, 2: 2}
