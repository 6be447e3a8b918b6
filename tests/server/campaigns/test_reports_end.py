"""A new campaign says until when questions are answered that are counted in its reports."""

from __future__ import annotations

from typing import Any

import pytest

from sordino_server.cli.campaign_results import print_created
from sordino_server.models import Role
from tests.server.answers.test_strings_api import WORKLOAD as WORDS
from tests.server.conftest import served
from tests.server.console.conftest import Browsers

DAY = 86_400
URLS = {"name": "urls", "domain": [{"name": "url", "kind": "hashed", "bits": 64}], "queries": "histogram"}
FEW_URLS = {"name": "urls", "domain": [{"name": "url", "kind": "hashed", "bits": 12}], "queries": "histogram"}


def created(server: Any, workload: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    order = {} if workload is None else {"workload": server.workload(workload), "mechanism": None}
    terms = {"name": "pages", "purpose": "We ask which page was slow.", "population": "readers", **more}
    terms["plan_request"] = server.ready_plan(**order)["id"]
    status: dict[str, Any] = server.api.post("/v1/campaigns", json=terms).raise_for_status().json()
    return status


def test_more_members_than_a_table_holds_are_answered_until_the_reports_are_deleted(
    running: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    status = created(running, URLS, close_after_s=7 * DAY)
    assert (status["reports_days"], status["reports_until"]) == (30, running.clock.now() + 37 * DAY)
    print_created(status)
    printed = " ".join(capsys.readouterr().out.split())
    assert "deleted 30 days after the campaign ends, on 2027-02-21 08:00 UTC if it opens now" in printed
    assert created(running, WORDS, name="words")["reports_days"] == 30
    # Without a time in its rules nobody knows when it ends.
    status = created(running, URLS, name="others")
    assert (status["reports_days"], status["reports_until"]) == (30, None)
    print_created(status)
    assert "deleted 30 days after the campaign ends: ask before" in " ".join(capsys.readouterr().out.split())


def test_the_console_says_when_such_answers_end(running: Any) -> None:
    """Before it opens, while it is open by its rules, and once it is closed for certain."""
    browser = Browsers(running).of(Role.ANALYST)
    campaign = created(running, URLS, close_after_s=7 * DAY)["id"]
    asked = "on 21 Feb 2027 if it opens now"
    assert asked in " ".join(browser.page(f"/console/campaigns/{campaign}/actions/open").split())
    running.api.post(f"/v1/campaigns/{campaign}/open").raise_for_status()
    running.clock.advance(DAY)
    browser = Browsers(running).of(Role.ANALYST)
    page = f"/console/campaigns/{campaign}"
    assert "on 2027-02-21 08:00:00 UTC, if it closes by its rules" in " ".join(browser.page(page).split())
    running.api.post(f"/v1/campaigns/{campaign}/close").raise_for_status()
    running.work()
    closed = " ".join(browser.page(page).split())
    assert "on 2027-02-15 08:00:00 UTC</dd>" in closed
    few = created(running, FEW_URLS, name="few")["id"]
    assert "Answers about single values" not in browser.page(f"/console/campaigns/{few}")


def test_a_campaign_whose_sums_answer_names_no_end(running: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for workload in (None, FEW_URLS):
        status = created(running, workload, close_after_s=7 * DAY, name=str(workload)[:50])
        assert (status["reports_days"], status["reports_until"]) == (None, None)
        print_created(status)
        assert "deleted" not in capsys.readouterr().out


def test_reports_that_are_kept_without_an_end_name_none(migrated_sqlite_url: str) -> None:
    with served(migrated_sqlite_url, raw_report_retention_days="forever") as server:
        assert created(server, URLS, close_after_s=7 * DAY)["reports_days"] is None
