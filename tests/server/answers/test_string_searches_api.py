"""A wider search for strings over HTTP and the command line: begun once, done by a worker, and kept."""

from __future__ import annotations

import json
import multiprocessing as mp
import os
import signal
from dataclasses import replace
from typing import Any

import pytest
from typer.testing import CliRunner

from sordino_analysis.progress import Progress
from sordino_server.campaigns import retention
from sordino_server.cli import app
from sordino_server.jobs.search_process import SearchProcess
from sordino_server.models import StringSearch
from sordino_server.string_searches import endpoints
from tests.server.answers.test_answers_on_demand_api import purge_last_round, report_texts
from tests.server.answers.test_strings_api import HOSTILE, campaign_of


@pytest.fixture(params=["running", "running_on_postgres"])
def server(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def estimated(server: Any) -> str:
    """The path of an estimated campaign, whose beam is 40."""
    campaign = campaign_of(server, "open")
    texts = [text for text, count in HOSTILE.items() for _ in range(count)] + ["rare"] * 150
    assert report_texts(server, campaign, texts).status_code == 200
    server.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    server.work()
    return f"/v1/campaigns/{campaign['id']}"


def test_a_wider_search_goes_the_whole_way(server: Any) -> None:
    path = estimated(server)
    estimate = server.api.get(f"{path}/estimates").raise_for_status().content
    assert server.api.get(f"{path}/strings", params={"beam": 200}).status_code == 404
    begun = server.api.post(f"{path}/strings", json={"beam": 200})
    assert (begun.status_code, begun.json()["state"], begun.json()["paths"]) == (202, "queued", None)
    assert "retry-after" in begun.headers
    other = server.api.post(f"{path}/strings", json={"beam": 300})
    assert (other.status_code, "a beam of 200 is not finished" in other.text) == (409, True)
    again = server.api.post(f"{path}/strings", json={"beam": 200})
    assert (again.status_code, again.json()) == (202, begun.json())
    # Nothing is purged before it has ended.
    now = server.clock.now() + 40 * 86400
    assert retention.old_reports(server.database, 30, now) == []
    assert server.api.get(f"{path}/strings", params={"beam": 200}).status_code == 202
    server.work()
    done = server.api.get(f"{path}/strings", params={"beam": 200}).raise_for_status().json()
    assert (done["state"], done["progress"], done["users"]) == ("done", 1.0, sum(HOSTILE.values()) + 150)
    labels = [each["label"] for each in done["paths"]]
    assert {"=1+1", "<b>x", "a<U+202E>b", "a long …[0111]"} <= set(labels)
    assert 100 < len(labels) <= 200
    odds = [each["log_odds"] for each in done["paths"]]
    assert odds == sorted(odds, reverse=True)
    assert "value" not in done["paths"][0]
    assert len(retention.old_reports(server.database, 30, now)) == 1
    assert server.api.post(f"{path}/strings", json={"beam": 200}).status_code == 200
    # Who begins a search is written down, once.
    entries = server.api.get("/v1/audit-log").json()["entries"]
    searched = [entry for entry in entries if entry["action"] == "search strings"]
    assert [(entry["path"], entry["after"]) for entry in searched] == [(f"{path}/strings", '{"beam": 200}')]
    few = server.api.get(f"{path}/strings", params={"beam": 200, "limit": 3}).json()
    assert few["paths"] == done["paths"][:3]
    # The estimate is as it was; after a purge the search is still there, and there is no other one.
    assert server.api.get(f"{path}/estimates").content == estimate
    purge_last_round(server, path)
    assert server.api.get(f"{path}/strings", params={"beam": 200}).json() == done
    gone = server.api.post(f"{path}/strings", json={"beam": 250})
    assert (gone.status_code, "purged" in gone.text) == (409, True)


def test_the_search_of_the_estimate_shows_how_far_it_is(running: Any) -> None:
    campaign = campaign_of(running, "open")
    path = f"/v1/campaigns/{campaign['id']}"
    assert report_texts(running, campaign, ["common"] * 3000).status_code == 200
    environment = {"SORDINO_SERVER": running.address, "SORDINO_KEY": running.admin_key, "COLUMNS": "200"}
    seen: list[tuple[float | None, str]] = []

    def look() -> None:
        status = running.api.get(f"{path}/status").json()
        printed = CliRunner().invoke(app, ["campaigns", "show", campaign["id"]], env=environment)
        seen.append((status["rounds"][0]["progress"], printed.stdout))

    class Watched(SearchProcess):
        def run(self, progress: Any, work: Any, *given: Any) -> Any:
            def watch(told: Progress) -> None:
                progress(told)
                if told.fraction > 0 and len(seen) == 2:
                    look()

            return super().run(watch, work, *given)

    look()
    running.api.post(f"{path}/close").raise_for_status()
    look()
    assert replace(running.worker(), search=Watched(2048, 60)).step()
    look()
    assert [fraction for fraction, _ in seen[:2]] == [None, 0.0]
    assert 0 < (seen[2][0] or 0) < 1
    assert seen[-1][0] is None
    assert [", 0 %" in seen[1][1], "reports are searched" in seen[2][1], "searched" in seen[3][1]] == [
        True,
        True,
        False,
    ]


def test_what_is_no_wider_search_is_refused(running: Any) -> None:
    path = estimated(running)
    for body, said in (
        ({"beam": 40}, "give more"),
        ({"beam": 10_001}, "10000"),
        ({"beam": 1}, "beam"),
        ({"beam": "200"}, "beam"),
        ({}, "beam"),
        ({"beam": 200, "share": 1}, "share"),
    ):
        refused = running.api.post(f"{path}/strings", json=body)
        assert (refused.status_code, said in refused.text) == (422, True), body
    numbers = running.campaign("open", name="numbers")
    early = running.api.post(f"/v1/campaigns/{numbers['id']}/strings", json={"beam": 200})
    assert early.status_code == 409
    assert running.api.post(f"/v1/campaigns/{'0' * 64}/strings", json={"beam": 200}).status_code == 404


def test_the_command_may_be_repeated_and_lists_as_many_as_it_is_asked_for(
    running: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = estimated(running)
    campaign = path.rpartition("/")[2]
    environment = {"SORDINO_SERVER": running.address, "SORDINO_KEY": running.admin_key, "COLUMNS": "200"}

    def printed(*options: str) -> dict[str, Any]:
        command = ["campaigns", "strings", campaign, "--beam", "200", *options, "--json"]
        result = CliRunner().invoke(app, command, env=environment)
        assert result.exit_code == 0, (result.stderr, result.exception)
        document: dict[str, Any] = json.loads(result.stdout)
        return document

    for _ in range(2):
        assert printed("--no-wait")["state"] == "queued"
    running.work()
    # Done: the answer to POST lists at most so many, whatever the command asks for.
    monkeypatch.setattr(endpoints, "_USUAL_LIMIT", 3)
    assert len(printed("--limit", "150")["paths"]) == 150
    assert len(printed("--limit", "2")["paths"]) == 2


def test_a_killed_search_begins_again_and_one_that_failed_is_tried_again(running: Any) -> None:
    path = estimated(running)
    running.api.post(f"{path}/strings", json={"beam": 200}).raise_for_status()

    class Killed(SearchProcess):
        def run(self, progress: Any, work: Any, *given: Any) -> Any:
            def watch(told: Progress) -> None:
                progress(told)
                for child in mp.active_children():
                    assert child.pid is not None
                    os.kill(child.pid, signal.SIGKILL)

            return super().run(watch, work, *given)

    worker = running.worker()
    for attempt in range(1, 4):
        assert replace(worker, search=Killed(2048, 60)).step()
        with running.database.read("search") as session:
            (row,) = session.query(StringSearch).all()
            assert (row.attempts, row.error, row.lease_owner) == (attempt, None, None)
    replace(worker, search=Killed(2048, 60)).step()
    failed = running.api.get(f"{path}/strings", params={"beam": 200})
    assert (failed.status_code, failed.json()["state"]) == (200, "failed")
    assert "3 processes died" in failed.json()["error"]
    running.api.post(f"{path}/strings", json={"beam": 200}).raise_for_status()
    assert replace(worker, search=SearchProcess(2048, 60)).step()
    there = running.api.get(f"{path}/strings", params={"beam": 200}).json()
    with running.database.write("again") as session:
        session.query(StringSearch).delete()
    running.api.post(f"{path}/strings", json={"beam": 200}).raise_for_status()
    running.work()
    # In the worker itself the same bytes.
    assert running.api.get(f"{path}/strings", params={"beam": 200}).json() == there
