"""The document of a series: what is closed and what is not, whom it is about, and the same numbers as in a notebook."""

from __future__ import annotations

import csv
import time
from datetime import datetime
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import sordino_analysis as sa
from sordino_server.cli import app
from sordino_server.models import Accumulator, Role, Round
from sordino_server.rounds.periods import close_due_periods
from sordino_server.series.computing import series_document
from sordino_server.series.service import SeriesQuestion
from tests.server.console.conftest import Browsers
from tests.server.series.conftest import DAY, Series, a_year, begin


@pytest.fixture(scope="module")
def fortnight(running: Any) -> Series:
    """Days 0 to 13 with 40 reports each, but for day 3 with none, day 5 in a pause and day 8 with 10; day 14 runs."""
    series = begin(running, late_s=3600)
    for day in range(15):
        if day == 5:
            series.at(day)
            series.act("pause").raise_for_status()
            series.at(day + 1, 3600)
            series.act("resume").raise_for_status()
        elif day != 3:
            series.at(day, 7200)
            cells = [day % 3] * (10 if day == 8 else 40)
            assert series.report(day, cells, seed=day).status_code == 200, day
    series.running.work()
    return series


def test_states_counts_and_targets_of_periods(fortnight):
    periods = fortnight.document()["periods"]
    assert [each["period"] for each in periods] == list(range(15))
    expected = ["estimated"] * 15
    expected[3], expected[5], expected[14] = "missing", "paused", "open"
    assert [each["state"] for each in periods] == expected
    assert [each["reports"] for each in periods] == [40, 40, 40, 0, 40, 0, 40, 40, 10, 40, 40, 40, 40, 40, 40]
    assert {each["answers"] is None for each in periods if each["state"] != "estimated"} == {True}
    day = periods[7]
    assert (day["start"], day["end"]) == (fortnight.start + 7 * DAY, fortnight.start + 8 * DAY)
    assert day["answers"]["target"] == "devices active in period 7"
    assert (day["active"], day["active_standard_error"]) == (280, pytest.approx((280 * 6) ** 0.5))
    # Ten reports have no interval, and say so; a window that has them does.
    assert periods[8]["answers"]["interval"] is None
    assert periods[8]["answers"]["warnings"] == ["10 reports: intervals need the weight of 30"]
    windows = {each["first"]: each for each in fortnight.document()["windows"]}
    assert windows[2]["missing"] == 2
    assert windows[8]["answers"]["reports"] == 210
    assert len(windows[8]["answers"]["band"]) == len(fortnight.document()["queries"]) == 3
    assert fortnight.document(**{"from": 9, "to": 10, "window": 1})["periods"][0]["period"] == 9


def test_the_numbers_are_those_of_a_notebook(fortnight):
    """From the counts in the database, by `sa.series`."""
    api = fortnight.running.api
    plan = api.get(f"/v1/campaigns/{fortnight.id}/status").json()["rounds"][0]
    parts = [fortnight.running.anonymous.get(f"/v1/plans/{plan[f'{kind}_digest']}") for kind in ("device", "analyst")]
    opened = sa.read_plan(*(part.content for part in parts))
    with fortnight.running.database.read("test") as session:
        rows = session.query(Round.index, Accumulator.count, Accumulator.sums).join(
            Accumulator, Accumulator.round_id == Round.id
        )
        chosen = rows.filter(Round.campaign_id == fortnight.id, Round.index < 14).all()
    series = sa.series(opened, {day: sa.Aggregate.from_bytes(count, sums) for day, count, sums in chosen}, slots=7)
    found = fortnight.document(to=13, trend=True)
    for window in found["windows"]:
        expected = series.window(window["first"], window["last"])
        np.testing.assert_allclose(window["answers"]["value"], expected.value)
        np.testing.assert_allclose(window["answers"]["population_interval"], expected.population_interval)
    change = series.change((0, 6), (7, 13))
    np.testing.assert_allclose(found["changes"][0]["value"], change.value)
    np.testing.assert_allclose(found["changes"][0]["interval"], change.interval)
    np.testing.assert_allclose(found["changes"][0]["population_interval"], change.population_interval)
    np.testing.assert_allclose(found["changes"][0]["coverage"], change.coverage, atol=1e-4)
    trend = series.trend(0, 13)
    np.testing.assert_allclose(found["trend"]["value"], trend.value)
    np.testing.assert_allclose(np.sum(found["trend"]["weights"], axis=1), 1)
    assert "interval" not in found["trend"]
    by_periods = fortnight.document(to=13, by="periods")["windows"][0]["answers"]
    np.testing.assert_allclose(by_periods["value"], series.window(0, 6, "periods").value)
    # What is said of a closed period is what its own estimate says.
    own, day = api.get(f"/v1/campaigns/{fortnight.id}/rounds/7/estimates").json(), found["periods"][7]["answers"]
    table = own["table"]
    for name in ("value", "uncut"):
        np.testing.assert_allclose(day[name], table[name])
    np.testing.assert_allclose(day["interval"], np.column_stack([table["lower"], table["upper"]]))
    # A column without a number is left out of a table.
    nothing = [None] * len(table["value"])
    assert (day["coverage"], day["enough_reports"]) == (table["coverage"], table.get("enough_reports", nothing))


def test_an_export_has_every_estimated_period(running, fortnight):
    table = running.api.get("/v1/estimates", params={"campaign": fortnight.id, "format": "rows"}).json()["rows"]
    assert sorted({row["period"] for row in table}) == [0, 1, 2, 4, *range(6, 14)]
    assert len(table) == 12 * 3
    assert {row["users"] for row in table if row["period"] == 8} == {10}
    first = datetime.fromisoformat(table[0]["period_start"])
    assert first.timestamp() == fortnight.start
    empty = begin(running)
    missing = running.api.get("/v1/estimates", params={"campaign": empty.id, "format": "rows"})
    assert missing.json()["type"].endswith("estimate-not-ready")


def test_what_cannot_be_asked_is_refused_in_words(running, fortnight):
    get = running.api.get
    path = f"/v1/campaigns/{fortnight.id}/series"
    for query in ({"window": 0}, {"from": -1}, {"to": 2**32}, {"by": "days"}, {"windows": 7}):
        assert get(path, params=query).status_code == 422, query
    assert fortnight.document(**{"from": 5, "to": 4})["periods"] == []
    other = running.campaign("open")
    assert "is no series" in get(f"/v1/campaigns/{other['id']}/series").text
    assert get(f"/v1/campaigns/{'0' * 64}/series").status_code == 404
    assert running.anonymous.get(path).status_code == 401
    assert (
        "a series has estimates of its periods"
        in get(f"/v1/campaigns/{fortnight.id}/answers", params={"cell": "[0, 15)"}).text
    )


def test_totals_of_the_previous_period_say_whom_they_leave_out(running):
    series = begin(running, value_of="previous", late_s=0)
    assert "active again in the day after them" in series.document()["warnings"][0]


def test_a_year_of_large_periods_is_caught_up_and_shown_from_counts_alone(running):
    """365 rounds of 100,000 reports: a second or two of CPU with windows, trend and coverage; four leave room."""
    series = begin(running, slots=30, late_s=0)
    a_year(series)
    begun = time.process_time()
    closed = close_due_periods(running.database, series.start + 365 * DAY)
    closing = time.process_time() - begun
    assert [number for campaign, number in closed if campaign == series.id] == list(range(365))
    question = SeriesQuestion(first=0, last=364, window=7, by="reports", trend=True)
    series_document(running.database, series.id, question, series.start + 365 * DAY)
    begun = time.process_time()
    found = series_document(running.database, series.id, question, series.start + 365 * DAY)
    seconds = time.process_time() - begun
    assert len(found.windows) == 359
    assert len(found.changes) == 51
    assert found.trend is not None
    assert len(found.trend.periods) == 365
    print(f"closing {closing:.2f} s, document {seconds:.2f} s of CPU")
    assert seconds < 4
    assert closing < 30


def test_the_console_and_the_command_draw_the_document(fortnight, tmp_path):
    browsers = Browsers(fortnight.running)
    browser, path = browsers.of(Role.ANALYST), f"/console/campaigns/{fortnight.id}/series"
    asked = "?window=3&trend=true"
    document = fortnight.document(window=3, trend="true")
    assert browser.http.get(f"{path}.json{asked}").json() == document
    table = list(csv.DictReader(browser.page(f"{path}.csv{asked}").splitlines()))
    answered = [each for each in document["periods"] if each["answers"]]
    assert len(table) == 3 * (len(answered) + len(document["windows"]) + len(document["changes"]))
    for number, each in enumerate(answered):
        answers = each["answers"]
        assert int(table[number]["period"]) == each["period"]
        assert float(table[number]["value"]) == answers["value"][0]
        assert table[number]["coverage"] == ("" if answers["interval"] is None else str(answers["coverage"][0]))
        assert table[number]["warnings"] == " | ".join(answers["warnings"])
    compared = [row for row in table if row["part"] == "change"]
    assert len(compared) == 3 * len(document["changes"])
    assert {row["verdict"] for row in compared} <= {"higher", "lower", "undecided"}
    page = browser.page(path + asked)
    assert f"{document['periods'][0]['answers']['value'][0]:.4g} ±" in page
    drawn = browser.page(f"{path}.svg{asked}")
    held = [each["period"] for each in document["periods"] if each["answers"]]
    assert f"Periods {held[0]} to {held[-1]}, {len(held)} with reports; 3 of 3 answers" in drawn
    assert "smoothed line" in drawn
    assert 'class="other"' not in browser.page(f"{path}.svg?window=3")
    environment = {"SORDINO_SERVER": fortnight.running.address, "SORDINO_KEY": fortnight.running.admin_key}
    words = ["series", "estimates", fortnight.id, "--window", "3", "--trend", "--chart", str(tmp_path / "series.svg")]
    result = CliRunner().invoke(app, words, env=environment)
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "series.svg").read_text(encoding="utf-8") == drawn
    assert "no series" in browser.page(f"/console/campaigns/{fortnight.running.campaign('open')['id']}/series", 422)
    browsers.close()
