"""/v1/comparisons of periods of a series: closed periods that share none, with the numbers of a notebook."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from sordino_server.cli import app
from sordino_server.models import Role
from sordino_shared.protocol import Problem
from tests.estimates import answers_of
from tests.server.console.conftest import Browsers
from tests.server.series.conftest import Series, begin


@pytest.fixture(scope="module")
def six_days(running: Any) -> Series:
    """Days 0 to 5, of which day 2 has no report; the cells move from 0 to 1 at day 3, and day 6 runs."""
    series = begin(running, late_s=3600)
    for day in range(7):
        series.at(day, 7200)
        if day != 2:
            assert series.report(day, [int(day > 2)] * 200, seed=day).status_code == 200, day
    series.running.work()
    return series


def test_two_windows_of_a_series_are_compared(six_days: Series) -> None:
    campaign, api = six_days.id, six_days.running.api
    document = api.get(f"/v1/comparisons?left={campaign}@0-1&right={campaign}@3-5").raise_for_status().json()
    table, extras = document["table"], document["extras"]
    assert table["verdict"][0] == "lower"
    assert (extras["left"]["users"], extras["right"]["users"]) == (400, 600)
    assert [extras[side]["name"].rpartition(" ")[2] for side in ("left", "right")] == ["0–1", "3–5"]
    # Neighbours of one length differ as the series says that they change.
    pair = api.get(f"/v1/comparisons?left={campaign}@0-1&right={campaign}@2-3").raise_for_status().json()["table"]
    changes = [row for row in answers_of(six_days.document(window=2)) if row["part"] == "change"][:3]
    assert len(pair["value"]) == 3
    for name in ("value", "lower", "upper"):
        np.testing.assert_allclose(pair[name], [row[name] for row in changes])
    # One period, and another level.
    wide = api.get(f"/v1/comparisons?left={campaign}@0&right={campaign}@3&level=0.99").raise_for_status().json()
    assert wide["terms"]["level"] == 0.99
    assert wide["terms"]["users"] == 400
    assert wide["extras"]["left"]["name"].endswith(" 0")


def test_periods_that_cannot_be_compared_are_refused_with_the_reason(six_days: Series, check_problem: Any) -> None:
    campaign, api = six_days.id, six_days.running.api
    plain = six_days.running.campaign("open")["id"]
    for left, right, problem, said in (
        ("@0-3", "@3-5", Problem.INVALID_REQUEST, "both windows have period 3"),
        ("@0-1", "@5-6", Problem.ESTIMATE_NOT_READY, "period 6 is open"),
        ("@0-1", "@5-9", Problem.ESTIMATE_NOT_READY, "are not all there: the series has"),
        ("@0-1", "@5-3", Problem.INVALID_REQUEST, "cannot end before it begins"),
        ("@0-1", "@2", Problem.ESTIMATE_NOT_READY, "no report was counted in the periods 2 to 2"),
        ("@0-1", "", Problem.INVALID_REQUEST, "a series has estimates of its periods"),
    ):
        refused = api.get(f"/v1/comparisons?left={campaign}{left}&right={campaign}{right}")
        assert said in check_problem(refused, problem)["detail"]
    refused = api.get(f"/v1/comparisons?left={plain}@0-1&right={campaign}@0")
    assert (
        f"campaign {plain}: campaign {plain} is no series" in check_problem(refused, Problem.INVALID_REQUEST)["detail"]
    )
    assert api.get(f"/v1/comparisons?left={campaign}@x&right={campaign}@0").status_code == 422


def test_the_command_takes_periods(six_days: Series, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SORDINO_SERVER", six_days.running.address)
    monkeypatch.setenv("SORDINO_KEY", six_days.running.admin_key)
    digits = six_days.id[:12]
    done = CliRunner().invoke(app, ["campaigns", "compare", f"{digits}@0-1", f"{digits}@3-5"], env={"COLUMNS": "200"})
    assert done.exit_code == 0, (done.output, done.exception)
    assert "0–1 = −" in done.stdout


def test_windows_are_picked_in_the_console(six_days: Series) -> None:
    """The series is in the list, and the periods stand beside it."""
    browsers = Browsers(six_days.running)
    browser, campaign = browsers.of(Role.ANALYST), six_days.id
    form = browser.page("/console/compare")
    assert f'<option value="{campaign}">' in form
    asked = f"left={campaign}&left_periods=0-1&right={campaign}&right_periods=3-5"
    page = browser.page(f"/console/compare?{asked}")
    assert 'name="left_periods" value="0-1"' in page
    assert page.count(f'<option value="{campaign}" selected>') == 2
    api = six_days.running.api.get(f"/v1/comparisons?left={campaign}@0-1&right={campaign}@3-5")
    assert browser.http.get(f"/console/compare.json?{asked}").content == api.content
    assert "both windows have period 3" in browser.page(
        f"/console/compare?left={campaign}&left_periods=0-3&right={campaign}&right_periods=3-5", 422
    )
    browsers.close()
