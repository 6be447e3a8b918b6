"""How far a campaign is: when it closes at its rate, and the error that more devices leave."""

from __future__ import annotations

from typing import Any

import pytest

from sordino_analysis.documents.plan_summary import read_summary
from sordino_server.campaigns.progress import error_curve, recent_rate
from sordino_server.campaigns.question import Question
from sordino_server.models import PlanRequestRow, Role
from tests.server.console.conftest import browsers

__all__ = ["browsers"]


def test_progress_of_a_campaign_from_draft_to_answer(running: Any) -> None:
    request = running.ready_plan(users=400)
    terms = {"name": "delays", "purpose": "How late?", "population": "travellers", "plan_request": request["id"]}
    order = terms | {"close_after_reports": 1000, "close_after_s": 86_400}
    campaign = running.api.post("/v1/campaigns", json=order).raise_for_status().json()
    path = f"/v1/campaigns/{campaign['id']}"

    def progress() -> dict[str, Any]:
        document: dict[str, Any] = running.api.get(f"{path}/progress").raise_for_status().json()
        return document

    draft = progress()
    assert (draft["devices"], draft["wanted"], draft["closes_about"], draft["band_now"]) == (0, 1000, None, None)
    running.api.post(f"{path}/open").raise_for_status()
    opened = running.clock.now()
    running.report(campaign, [0, 1, 2, 1] * 25).raise_for_status()
    assert progress()["rate"] is None
    assert progress()["closes_about"] == progress()["closes_at"] == opened + 86_400
    running.clock.advance(600)
    shown = progress()
    assert shown["rate"] == pytest.approx(100 / 600)
    # 900 devices more, at 100 in ten minutes.
    assert shown["closes_about"] == opened + 600 + 5400
    assert shown["closes"].endswith("Z")
    with running.database.read("test") as session:
        summary = read_summary(session.get(PlanRequestRow, request["id"]).summary).linear
    assert summary is not None
    assert shown["band_now"] == pytest.approx(summary.reach(0.95, 100))
    assert shown["band_wanted"] == pytest.approx(summary.reach(0.95, 1000))
    points = shown["curve"]
    assert points[0]["devices"] < 100
    assert points[-1]["devices"] > 1000
    assert [each["band"] for each in points] == sorted((each["band"] for each in points), reverse=True)
    assert all(each["band"] == pytest.approx(summary.reach(0.95, each["devices"])) for each in points)
    for each in shown["devices_for"]:
        assert each["devices"] == summary.users_within(each["margin"], 0.95, difference=False)[1]
    assert [each["margin"] for each in shown["devices_for"]] == [0.05, 0.03, 0.02, 0.01]
    # An hour later nobody has answered for an hour: the time closes it.
    running.clock.advance(3600)
    assert (progress()["rate"], progress()["closes_about"]) == (0, opened + 86_400)
    running.api.post(f"{path}/close").raise_for_status()
    running.work()
    assert (progress()["state"], progress()["closes_about"]) == ("closed", None)


def test_a_close_after_the_last_year_of_calendars_has_no_date(running: Any, browsers: Any) -> None:
    request = running.ready_plan(users=400)
    terms = {"name": "delays", "purpose": "How late?", "population": "travellers", "plan_request": request["id"]}
    order = terms | {"close_after_reports": 10**11}
    campaign = running.api.post("/v1/campaigns", json=order).raise_for_status().json()
    path = f"/v1/campaigns/{campaign['id']}"
    running.api.post(f"{path}/open").raise_for_status()
    running.report(campaign, [0]).raise_for_status()
    # At this rate in the year 190,000.
    running.clock.advance(60)
    shown = running.api.get(f"{path}/progress")
    assert shown.status_code == 200, shown.text
    assert (shown.json()["rate"] > 0, shown.json()["closes_about"]) == (True, None)
    assert "Closes" in browsers.of(Role.ANALYST).page(f"/console/campaigns/{campaign['id']}")


def test_a_rate_is_that_of_the_last_hour() -> None:
    steps = [(1000, 10), (1100, 700), (9000, 730), (9100, 820)]
    assert recent_rate(steps, 0, 9100) == pytest.approx(120 / 3600)
    assert recent_rate(steps[:2], 1000, 1120) == pytest.approx(700 / 120)
    assert recent_rate(steps, 9090, 9100) is None
    assert recent_rate([], 0, 9100) is None


def test_a_question_without_a_formula_has_no_curve() -> None:
    common = {"plan_request": "0" * 32, "workload": "0" * 64, "name": "made up", "queries": 1}
    pairwise = Question(**common, users=1000, variance=None, bias_bound=0.0, predicted_rmse=0.1)
    assert list(error_curve(pairwise, 10, 1000)) == []
    assert pairwise.band(1000) is None
