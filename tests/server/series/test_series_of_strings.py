"""A series that finds strings: what each period lists, which strings are new, and in which order that is found."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sordino_analysis.vectorized.domains import codes_many
from sordino_analysis.vectorized.randomizers import randomize_part
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_client import AnswerStatus
from sordino_server.answers.next_step import compute
from sordino_server.cli import app
from sordino_server.models import Estimate, Role, Round
from sordino_server.rounds import claim_closed_round, oldest_waiting
from sordino_server.rounds.periods import close_due_periods
from sordino_shared.protocol import ReportBatch, Rotating
from tests.server.console.conftest import Browsers
from tests.server.series.conftest import Series, begin
from tests.server.series.test_devices import device  # noqa: F401

WORKLOAD = {
    "name": "pages",
    "domain": [{"name": "page", "kind": "text", "code": "bytes", "depth": 48}],
    # The salt is drawn: lists and changes err once in 1,000 runs.
    "queries": {"kind": "strings", "beam": 40, "error": 0.001},
}
NEW = "<b>n"
DAYS: list[dict[str | None, int]] = [
    {"=old": 900, "fade": 700, None: 800},
    {"=old": 900, "fade": 700, None: 800},
    {"=old": 900, NEW: 800, None: 700},
    {"=old": 900, NEW: 800, None: 700},
]


def texts_of(series: Series, day: int, held: dict[str | None, int]) -> None:
    """Reports of so many devices that hold each text."""
    texts = [text for text, count in held.items() for _ in range(count)]
    randomness = SeededRandomness(100 + day)
    payloads = randomize_part(series.part, codes_many(series.part.domain, texts), randomness)
    head = Rotating.epoch(day).to_bytes(2, "big")
    ids = b"".join(head + randomness.bytes(14) for _ in texts)
    content = ReportBatch(series.part.digest, ids, payloads.tobytes()).content
    assert series.send(day, content).status_code == 200


def pages(running: Any, **terms: Any) -> Series:
    """A series of strings without reports."""
    running.workload = lambda specification=WORKLOAD: str(
        running.api.post("/v1/workloads", json=specification).raise_for_status().json()["id"]
    )
    plain = running.plan_request
    running.plan_request = lambda **order: plain(**{"mechanism": None, "epsilon": 4} | order)
    try:
        return begin(running, late_s=3600, **terms)
    finally:
        del running.workload, running.plan_request


@pytest.fixture(scope="module")
def four_days(running: Any) -> Series:
    series = pages(running)
    for day, held in enumerate(DAYS):
        series.at(day, 7200)
        texts_of(series, day, held)
        running.work()
    series.at(len(DAYS), 7200)
    running.work()
    return series


def rows(document: dict[str, Any], part: str) -> list[dict[str, Any]]:
    table = document["table"]
    return [row for row in (dict(zip(table, cells, strict=True)) for cells in zip(*table.values(), strict=True))
            if row["part"] == part]  # fmt: skip


def test_each_period_lists_its_strings_and_says_which_are_new(four_days: Series) -> None:
    document = four_days.document()
    assert document["kind"] == "string_series"
    listed = {(row["period"], row["label"]): row for row in rows(document, "period")}
    for day, held in enumerate(DAYS):
        users = sum(held.values())
        for text, count in held.items():
            row = listed[day, "(no text)" if text is None else text]
            assert row["band_lower"] <= count / users <= row["band_upper"]
            assert (row["users"], row["target"]) == (users, f"devices active in period {day}")
    assert listed[0, "=old"]["sentence"] == "first listed"
    assert {listed[day, "=old"]["sentence"] for day in (1, 2, 3)} == {"since period 0"}
    assert (listed[2, NEW]["sentence"], listed[3, NEW]["sentence"]) == ("new", "since period 2")
    assert (2, "fade") not in listed
    changes = {(row["right"], row["label"]): row for row in rows(document, "change")}
    new = changes["period 2", NEW]
    assert (new["left"], new["verdict"]) == ("period 1", "higher")
    assert 0 < new["band_lower"] <= 800 / 2400 <= new["band_upper"]
    assert new["value"] == pytest.approx(new["right_value"] - new["left_value"])
    assert {row["verdict"] for (_, label), row in changes.items() if label == "=old"} == {"undecided"}
    assert {row["verdict"] for row in changes.values() if row["right"] == "period 1"} == {"undecided"}
    states = [each["state"] for each in document["extras"]["periods"]]
    assert states == ["estimated"] * 4 + ["open"]


def test_it_is_read_as_csv_by_commands_and_on_a_page(four_days: Series, tmp_path: Path) -> None:
    running, path = four_days.running, f"/v1/campaigns/{four_days.id}/series"
    text = running.api.get(path, params={"format": "csv"}).text
    table = list(csv.DictReader(io.StringIO(text)))
    assert {row["label"] for row in table} >= {"'=old", NEW, "(no text)"}
    assert next(row["sentence"] for row in table if (row["label"], row["period"]) == (NEW, "2")) == "new"
    environment = {"SORDINO_SERVER": running.address, "SORDINO_KEY": running.admin_key, "COLUMNS": "200"}
    told = CliRunner().invoke(app, ["series", "estimates", four_days.id], env=environment)
    assert told.exit_code == 0, told.output
    assert "string of period 3" in told.output
    assert "held by at least one device that reported in the period" in " ".join(told.output.split())
    chart = tmp_path / "pages.svg"
    drawn = CliRunner().invoke(app, ["series", "estimates", four_days.id, "--chart", str(chart)], env=environment)
    assert drawn.exit_code == 0, drawn.output
    assert "&lt;b&gt;n" in chart.read_text()
    assert NEW not in chart.read_text()
    browsers = Browsers(running)
    try:
        browser = browsers.of(Role.ANALYST)
        page = browser.page(f"/console/campaigns/{four_days.id}/series")
        picture = browser.page(f"/console/campaigns/{four_days.id}/series.svg")
    finally:
        browsers.close()
    assert "&lt;b&gt;n" in page
    assert NEW not in page
    assert "is called new where the period is the first to list it" in page
    assert "&lt;b&gt;n" in picture


def test_a_list_has_no_windows_and_no_line(four_days: Series) -> None:
    path = f"/v1/campaigns/{four_days.id}/series"
    for query in ({"trend": "true"}, {"by": "periods"}):
        refused = four_days.running.api.get(path, params=query)
        assert (refused.status_code, "no windows and no smoothed line" in refused.text) == (422, True)
    refused = four_days.running.api.get(f"/v1/campaigns/{four_days.id}/answers", params={"string": "=old"})
    assert refused.status_code == 422


def test_periods_are_estimated_in_order_and_each_again_to_the_same_bytes(running: Any) -> None:
    series, database = pages(running), running.database
    for day, held in enumerate(DAYS[1:3]):
        series.at(day, 7200)
        texts_of(series, day, held)
    series.at(2, 7200)
    close_due_periods(database, running.clock.now())
    claim = {"now": running.clock.now(), "seconds": 60}
    first = database.run("one", lambda session: claim_closed_round(session, owner="one", **claim).index)
    assert first == 0
    # The second period waits while somebody works on the first one.
    assert database.run("two", lambda session: claim_closed_round(session, owner="two", **claim)) is None
    with database.read("waiting") as session:
        assert oldest_waiting(session, running.clock.now()) is None
    running.clock.advance(61)
    running.work()
    for number in _numbers(series):
        with database.read("stored") as session:
            stored = session.get_one(Estimate, number).content
        assert compute(database, number).content == stored


def test_an_earlier_period_that_failed_or_was_purged_holds_up_nothing(running: Any) -> None:
    series, database = pages(running), running.database
    for day, held in enumerate(DAYS[:3]):
        series.at(day, 7200)
        texts_of(series, day, held)
        running.work()
    first, second, _ = _numbers(series)

    def spoil(session: Any) -> None:
        session.get_one(Round, second).error = "spoiled by a test"
        session.get_one(Round, second).state = "closed"
        session.delete(session.get_one(Estimate, second))
        session.get_one(Round, first).purged_at = running.clock.now()
        from sordino_server.aggregates import repository

        while repository.delete_reports(session, first, 1000):
            pass

    series.at(2, 10_000)
    database.run("spoil", spoil)
    series.at(3, 7200)
    running.work()
    document = series.document()
    assert [each["state"] for each in document["extras"]["periods"]] == ["estimated", "failed", "estimated", "open"]
    assert any("the reports of period 0 were purged, so no change" in each for each in document["extras"]["warnings"])
    sentences = {row["label"]: row["sentence"] for row in rows(document, "period") if row["period"] == 2}
    assert (sentences["=old"], sentences[NEW]) == ("since period 0", "first listed")


def test_a_period_that_is_estimated_late_gives_its_list_to_the_next_one(running: Any) -> None:
    """The period after it was estimated before, and stays as it is."""
    series, database = pages(running), running.database
    plain: dict[str | None, int] = {"=old": 900, None: 900}
    for day, held in enumerate([plain, DAYS[1], plain]):
        series.at(day, 7200)
        texts_of(series, day, held)
        running.work()
    second = _numbers(series)[1]

    def fail(session: Any) -> None:
        row = session.get_one(Round, second)
        row.error, row.state = "spoiled by a test", "closed"
        session.delete(session.get_one(Estimate, second))

    # As if it had failed before the one after it was estimated.
    database.run("fail", fail)
    series.at(3, 7200)
    running.work()
    before = _stored(series, 2)
    running.api.post(f"/v1/campaigns/{series.id}/rounds/1/retry").raise_for_status()
    running.work()
    assert _stored(series, 2) == before
    assert {each["label"]: each["last"] for each in _stored(series, 1)["extras"]["listed"]}["fade"] == 1
    assert "fade" not in {each["label"] for each in before["extras"]["listed"]}
    texts_of(series, 3, {"=old": 900, "fade": 300, None: 1200})
    series.at(4, 7200)
    running.work()
    known = {each["label"]: (each["first"], each["last"]) for each in _stored(series, 3)["extras"]["listed"]}
    assert (known["=old"], known["fade"]) == ((0, 3), (1, 3))
    document = series.document()
    warnings = document["extras"]["warnings"]
    assert [each["state"] for each in document["extras"]["periods"]] == ["estimated"] * 4 + ["open"]
    assert any("period 2 was estimated before period 1, which had failed" in each for each in warnings)


def _stored(series: Series, period: int) -> dict[str, Any]:
    with series.running.database.read("stored") as session:
        content: dict[str, Any] = json.loads(session.get_one(Estimate, _numbers(series)[period]).content)
        return content


def test_a_device_answers_its_own_period(running: Any, device: Any) -> None:  # noqa: F811
    series = pages(running, slots=2)
    clients = [device(phase) for phase in range(2)]
    for client in clients:
        client.join(series.id)
    for day in range(2):
        series.at(day, 60)
        for phase, client in enumerate(clients):
            answer = client.answer(series.id, "a page")
            assert (answer.status is AnswerStatus.RECORDED) == (phase == day)
            client.flush()
    series.at(2, 7200)
    running.work()
    assert [each["reports"] for each in series.document(to=1)["extras"]["periods"]] == [1, 1]


def _numbers(series: Series) -> list[int]:
    with series.running.database.read("numbers") as session:
        query = session.query(Round.id).filter(Round.campaign_id == series.id).order_by(Round.index)
        return [number for (number,) in query]
