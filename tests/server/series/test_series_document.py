"""The document of a series: what is closed and what is not, whom it is about, and the same numbers as in a notebook."""

from __future__ import annotations

import csv
import time
from collections import Counter
from datetime import datetime
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import sordino_analysis as sa
from sordino_analysis.figures import with_error
from sordino_server.answers.series import SeriesQuestion
from sordino_server.answers.series_computing import document_of_series
from sordino_server.cli import app
from sordino_server.models import Accumulator, Role, Round
from sordino_server.rounds.periods import close_due_periods
from tests.estimates import answers_of
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


def part(document: dict[str, Any], name: str) -> dict[Any, list[dict[str, Any]]]:
    """The rows of one part: by the period, or by the first and the last one of a window or a change."""
    found: dict[Any, list[dict[str, Any]]] = {}
    for row in answers_of(document):
        if row["part"] == name:
            last = row.get("period_last")
            found.setdefault(row["period"] if last is None else (row["period"], last), []).append(row)
    return found


def column(rows: list[dict[str, Any]], name: str) -> list[Any]:
    return [row.get(name) for row in rows]


def pairs(rows: list[dict[str, Any]], prefix: str = "") -> list[tuple[Any, Any]]:
    return [(row.get(f"{prefix}lower"), row.get(f"{prefix}upper")) for row in rows]


def test_states_counts_and_targets_of_periods(fortnight):
    document = fortnight.document()
    periods, answers, windows = document["extras"]["periods"], part(document, "period"), part(document, "window")
    assert [each["period"] for each in periods] == list(range(15))
    expected = ["estimated"] * 15
    expected[3], expected[5], expected[14] = "missing", "paused", "open"
    assert [each["state"] for each in periods] == expected
    assert [each["reports"] for each in periods] == [40, 40, 40, 0, 40, 0, 40, 40, 10, 40, 40, 40, 40, 40, 40]
    assert list(answers) == [each["period"] for each in periods if each["state"] == "estimated"]
    day = periods[7]
    assert (day["start"], day["end"]) == (fortnight.start + 7 * DAY, fortnight.start + 8 * DAY)
    assert set(column(answers[7], "target")) == {"devices active in period 7"}
    assert {datetime.fromisoformat(each["period_start"]).timestamp() for each in answers[7]} == {day["start"]}
    assert (day["active"], day["active_standard_error"]) == (280, pytest.approx((280 * 6) ** 0.5))
    # Ten reports have no interval, and say so; a window that has them does.
    assert pairs(answers[8]) == [(None, None)] * 3
    assert set(column(answers[8], "warnings")) == {"10 reports: intervals need the weight of 30"}
    assert set(column(windows[8, 14], "users")) == {210}
    assert None not in column(windows[8, 14], "band_lower")
    assert len(windows[8, 14]) == 3
    assert fortnight.document(**{"from": 9, "to": 10, "window": 1})["extras"]["periods"][0]["period"] == 9


def test_the_numbers_are_those_of_a_notebook(fortnight):
    """From the counts in the database, by `sa.series`."""
    api = fortnight.running.api
    plan = api.get(f"/v1/campaigns/{fortnight.id}/status").json()["rounds"][0]
    parts = [fortnight.running.anonymous.get(f"/v1/plans/{plan[f'{kind}_digest']}") for kind in ("device", "analyst")]
    opened = sa.read_plan(*(each.content for each in parts))
    with fortnight.running.database.read("test") as session:
        rows = session.query(Round.index, Accumulator.count, Accumulator.sums).join(
            Accumulator, Accumulator.round_id == Round.id
        )
        chosen = rows.filter(Round.campaign_id == fortnight.id, Round.index < 14).all()
    series = sa.series(opened, {day: sa.Aggregate.from_bytes(count, sums) for day, count, sums in chosen}, slots=7)
    document = fortnight.document(to=13, trend=True)
    for window, found in part(document, "window").items():
        expected = series.window(*window)
        np.testing.assert_allclose(column(found, "value"), expected.value)
        np.testing.assert_allclose(pairs(found, "population_"), expected.population_interval)
    change, (found,) = series.change((0, 6), (7, 13)), part(document, "change").values()
    assert (found[0]["left"], found[0]["right"]) == ("periods 0 to 6", "periods 7 to 13")
    np.testing.assert_allclose(column(found, "value"), change.value)
    np.testing.assert_allclose(pairs(found), change.interval)
    np.testing.assert_allclose(pairs(found, "population_"), change.population_interval)
    np.testing.assert_allclose(column(found, "coverage"), change.coverage, atol=1e-4)
    trend, line = series.trend(0, 13), part(document, "trend")
    assert tuple(line) == trend.periods
    np.testing.assert_allclose([column(rows, "value") for rows in line.values()], trend.value)
    np.testing.assert_allclose(np.sum(document["extras"]["trend"]["weights"], axis=1), 1)
    assert {row.get(end) for rows in line.values() for row in rows for end in ("lower", "band_lower")} == {None}
    by_periods = part(fortnight.document(to=13, by="periods"), "window")[0, 6]
    np.testing.assert_allclose(column(by_periods, "value"), series.window(0, 6, "periods").value)
    # What is said of a closed period is what its own estimate says.
    own, day = api.get(f"/v1/campaigns/{fortnight.id}/rounds/7/estimates").json(), part(document, "period")[7]
    for name in ("kind", "label", "value", "uncut", "lower", "upper", "coverage", "enough_reports", "delay_high"):
        assert column(day, name) == own["table"].get(name, [None] * 3), name


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
    assert fortnight.document(**{"from": 5, "to": 4})["extras"]["periods"] == []
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
    assert "active again in the day after them" in series.document()["extras"]["warnings"][0]


def test_a_year_of_large_periods_is_caught_up_and_shown_from_counts_alone(running):
    """365 rounds of 100,000 reports: a second or two of CPU with windows, trend and coverage; four leave room."""
    series = begin(running, slots=30, late_s=0)
    a_year(series)
    begun = time.process_time()
    closed = close_due_periods(running.database, series.start + 365 * DAY)
    closing = time.process_time() - begun
    assert [number for campaign, number in closed if campaign == series.id] == list(range(365))
    question = SeriesQuestion(first=0, last=364, window=7, by="reports", trend=True)
    document_of_series(running.database, series.id, question, series.start + 365 * DAY)
    begun = time.process_time()
    found = document_of_series(running.database, series.id, question, series.start + 365 * DAY)
    seconds = time.process_time() - begun
    found.content()
    counted = Counter(zip(found.columns["part"], found.columns["label"], strict=True))
    label = found.columns["label"][0]
    assert [counted[part, label] for part in ("period", "window", "change", "trend")] == [365, 359, 51, 365]
    print(f"closing {closing:.2f} s, document {seconds:.2f} s of CPU")
    assert seconds < 4
    assert closing < 30


def test_the_console_and_the_command_draw_the_document(fortnight, tmp_path):
    browsers = Browsers(fortnight.running)
    browser, path = browsers.of(Role.ANALYST), f"/console/campaigns/{fortnight.id}/series"
    asked = "?window=3&trend=true"
    document = fortnight.document(window=3, trend="true")
    assert browser.http.get(f"{path}.json{asked}").json() == document
    text = browser.page(f"{path}.csv{asked}")
    asked_of = {"window": 3, "trend": "true", "format": "csv"}
    assert text == fortnight.running.api.get(f"/v1/campaigns/{fortnight.id}/series", params=asked_of).text
    table = list(csv.DictReader(text.splitlines()))
    assert [float(row["value"]) for row in table] == document["table"]["value"]
    assert [row["warnings"] for row in table] == [each or "" for each in document["table"]["warnings"]]
    assert set(document["table"]["verdict"]) <= {"higher", "lower", "undecided", None}
    address = f"{fortnight.running.address}/v1/campaigns/{fortnight.id}/series?window=3&trend=true"
    read = sa.read_estimates(address, key=fortnight.running.admin_key, frame="columns")
    assert read["value"].tolist() == document["table"]["value"]
    page = browser.page(path + asked)
    first = answers_of(document)[0]
    assert with_error(first["value"], first["standard_error"], "share") in page
    assert [title in page for title in ("<h2>Periods</h2>", "<h2>Windows</h2>", "<h2>Changes</h2>")] == [True] * 3
    drawn = browser.page(f"{path}.svg{asked}")
    held = list(part(document, "period"))
    assert f"Periods {held[0]} to {held[-1]}, {len(held)} with reports; 3 of 3 answers" in drawn
    assert "smoothed line" in drawn
    assert 'class="other"' not in browser.page(f"{path}.svg?window=3")
    environment = {"SORDINO_SERVER": fortnight.running.address, "SORDINO_KEY": fortnight.running.admin_key}
    words = ["series", "estimates", fortnight.id, "--window", "3", "--trend", "--chart", str(tmp_path / "series.svg")]
    result = CliRunner().invoke(app, words, env=environment)
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "series.svg").read_text(encoding="utf-8") == drawn
    printed = CliRunner().invoke(app, [*words[:-2], "--csv"], env=environment)
    assert printed.exit_code == 0, printed.stderr
    assert printed.stdout.splitlines() == browser.page(f"{path}.csv{asked}").splitlines()
    assert "no series" in browser.page(f"/console/campaigns/{fortnight.running.campaign('open')['id']}/series", 422)
    browsers.close()
