"""Old reports go; what was counted, added up and estimated stays, to the bit."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session
from typer.testing import CliRunner

from sordino_server import aggregates
from sordino_server.aggregates import repository
from sordino_server.campaigns import retention
from sordino_server.cli import app
from sordino_server.cli.kept_defaults import warn_of_kept_defaults
from sordino_server.jobs.worker import Worker
from sordino_server.kit import migrations
from sordino_server.kit.logs import configure_logs
from sordino_server.models import KeptDefault

DAY_S = 86400
# Sums of the first are kept on ingest, those of the second are computed from the log at the end.
BEFORE_THE_DEFAULT = "202611271740"
MECHANISMS = ("randomized_response", "factorization")


@pytest.fixture(params=["running", "running_on_postgres"])
def server(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def rows(server: Any) -> dict[str, int]:
    with server.database.read() as session:
        tables = ("reports", "report_chunks")
        return {table: session.execute(text(f"SELECT count(*) FROM {table}")).scalar_one() for table in tables}


def estimated(server: Any, mechanism: str) -> dict[str, Any]:
    campaign: dict[str, Any] = server.campaign("open", mechanism=mechanism)
    server.report(campaign, [0, 1, 2, 3] * 5)
    server.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    server.work()
    server.clock.advance(1)
    return campaign


def purging(server: Any, days: int | str | None) -> Worker:
    settings = server.settings.model_copy(update={"raw_report_retention_days": days})
    return replace(server.worker(), settings=settings)


def the_only_round(server: Any) -> retention.OldReports:
    (old,) = retention.old_reports(server.database, 0, server.clock.now())
    return old


def aggregate_of(server: Any, campaign: dict[str, Any], number: int) -> tuple[int, bytes]:
    whole = aggregates.aggregate(server.database, number, server.device_part(campaign).randomizer)
    return whole.count, whole.to_bytes()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_reports_go_and_what_they_add_up_to_stays(server: Any, mechanism: str) -> None:
    campaign = estimated(server, mechanism)
    estimates = f"/v1/campaigns/{campaign['id']}/rounds/0/estimates"
    published, old = server.api.get(estimates).content, the_only_round(server)
    before = aggregate_of(server, campaign, old.round_id)
    randomizer = server.device_part(campaign).randomizer
    assert (before[0], old.reports, old.bytes) == (20, 20, 20 * randomizer.payload_bytes)
    server.clock.advance(30 * DAY_S)
    purging(server, 30).purge()
    assert rows(server) == {"reports": 0, "report_chunks": 0}
    assert aggregate_of(server, campaign, old.round_id) == before
    assert server.api.get(estimates).content == published
    (shown,) = server.api.get(f"/v1/campaigns/{campaign['id']}/status").json()["rounds"]
    assert (shown["reports"], shown["purged_at"]) == (20, server.clock.now())
    with pytest.raises(aggregates.LogPurged, match="cannot be added up again"):
        aggregates.re_aggregate(server.database, old.round_id, randomizer, 20)
    assert retention.old_reports(server.database, 0, server.clock.now()) == []


def test_reports_are_kept_for_their_days(running: Any) -> None:
    estimated(running, "randomized_response")
    running.clock.advance(30 * DAY_S - 2)
    purging(running, 30).purge()
    purging(running, "forever").purge()
    assert rows(running)["reports"] == 20
    running.clock.advance(1)
    purging(running, 30).purge()
    assert rows(running)["reports"] == 0


@pytest.mark.parametrize("ended", [(), ("close",)])
def test_reports_that_something_is_to_come_of_are_kept(running: Any, ended: tuple[str, ...]) -> None:
    campaign = running.campaign("open")
    running.report(campaign, [0, 1])
    for action in ended:
        running.api.post(f"/v1/campaigns/{campaign['id']}/{action}").raise_for_status()
    running.clock.advance(1000 * DAY_S)
    assert retention.old_reports(running.database, 1, running.clock.now()) == []


def test_reports_of_a_cancelled_campaign_go_too(running: Any) -> None:
    campaign = running.campaign("open")
    running.report(campaign, [0, 1])
    running.api.post(f"/v1/campaigns/{campaign['id']}/cancel").raise_for_status()
    running.clock.advance(DAY_S)
    purging(running, 1).purge()
    assert rows(running) == {"reports": 0, "report_chunks": 0}


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("pages", [0, 1])
def test_a_purge_that_broke_off_is_finished(
    running: Any, monkeypatch: pytest.MonkeyPatch, mechanism: str, pages: int
) -> None:
    """Before its first page, or between two: the aggregate is safe before anything goes."""
    campaign = estimated(running, mechanism)
    old = the_only_round(running)
    before = aggregate_of(running, campaign, old.round_id)
    monkeypatch.setattr("sordino_server.aggregates.aggregation._PURGED_AT_ONCE", 8)
    with monkeypatch.context() as killed:
        killed.setattr("sordino_server.aggregates.repository.delete_reports", breaking_off_after(pages))
        with pytest.raises(KeyboardInterrupt):
            retention.purge(running.database, old, running.clock.now())
    assert rows(running)["reports"] == 20 - 8 * pages
    assert aggregate_of(running, campaign, old.round_id) == before
    retention.purge(running.database, the_only_round(running), running.clock.now())
    assert rows(running) == {"reports": 0, "report_chunks": 0}
    assert aggregate_of(running, campaign, old.round_id) == before


def breaking_off_after(pages: int) -> Callable[..., bool]:
    """Deletes so many pages of reports for good, and no more."""
    delete_reports, left = repository.delete_reports, iter(range(pages))

    def delete(session: Session, round_id: int, limit: int) -> bool:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return delete_reports(session, round_id, limit)

    return delete


def test_a_log_that_does_not_add_up_is_kept_as_evidence(running: Any) -> None:
    estimated(running, "factorization")
    with running.database.write("tamper") as session:
        session.execute(text("UPDATE accumulators SET count = count + 1"))
    running.clock.advance(DAY_S)
    purging(running, 1).purge()
    assert rows(running)["reports"] == 20


def test_the_command_lists_first(running: Any, run_purge: Callable[..., Any]) -> None:
    campaign = estimated(running, "randomized_response")
    listed = run_purge("--older-than-days", "0", "--dry-run")
    (entry,) = listed["rounds"]
    assert (listed["purged"], entry["campaign"], entry["reports"]) == (False, campaign["id"], 20)
    assert rows(running)["reports"] == 20
    assert run_purge("--older-than-days", "0")["purged"]
    assert rows(running) == {"reports": 0, "report_chunks": 0}
    assert run_purge("--older-than-days", "0")["rounds"] == []


def test_by_default_reports_go_after_30_days(running: Any) -> None:
    estimated(running, "randomized_response")
    assert running.settings.raw_report_retention_days is None
    running.clock.advance(30 * DAY_S - 2)
    running.worker().purge()
    assert rows(running)["reports"] == 20
    running.clock.advance(1)
    running.worker().purge()
    assert rows(running)["reports"] == 0


def test_a_database_from_before_the_default_keeps_its_reports(server: Any) -> None:
    """It goes back to the schema of before, with a campaign and its reports, and is upgraded again."""
    estimated(server, "randomized_response")
    migrations.downgrade(server.database, BEFORE_THE_DEFAULT)
    migrations.upgrade(server.database)
    server.clock.advance(400 * DAY_S)
    server.worker().purge()
    assert rows(server)["reports"] == 20
    with server.database.read() as session:
        assert retention.days_kept(session, None) is retention.days_kept(session, "forever") is None
        assert (retention.days_kept(session, 7), retention.overdue(session, None, server.clock.now())) == (7, 0)
    purging(server, 399).purge()
    assert rows(server)["reports"] == 0


def test_serve_says_what_a_database_keeps(running: Any, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("info", "text")
    warn_of_kept_defaults(running.settings, running.database)
    assert capsys.readouterr().err == ""
    with running.database.write("kept") as session:
        session.add(KeptDefault(name=retention.RETENTION, value="forever"))
    warn_of_kept_defaults(running.settings, running.database)
    assert "keeps raw reports without an end" in capsys.readouterr().err
    decided = running.settings.model_copy(update={"raw_report_retention_days": "forever"})
    warn_of_kept_defaults(decided, running.database)
    assert capsys.readouterr().err == ""


@pytest.fixture
def run_purge(running: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """`sordino db purge --json` on the running server's database, at its time."""
    monkeypatch.setattr("sordino_server.cli.db.WallClock", lambda: running.clock)
    monkeypatch.setenv("SORDINO_DATABASE_URL", str(running.database.url))

    def run(*arguments: str) -> Any:
        done = CliRunner().invoke(app, ["db", "purge", *arguments, "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    return run
