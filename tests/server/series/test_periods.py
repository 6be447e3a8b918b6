"""Periods of a series: which take reports by the server's clock, what closes them, and what an operator may do."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from sordino_server.campaigns import retention
from sordino_server.campaigns.series_rate import in_english, in_german
from sordino_server.campaigns.series_terms import SeriesOrder
from sordino_server.models import Round
from sordino_server.rounds.periods import close_due_periods
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Manifest, ReportOutcomes, Rotating, Task, ValueOf
from tests.server.series.conftest import DAY, Series, begin, terms_of


def states(series: Series) -> dict[int, tuple[str, int]]:
    return {each["index"]: (each["state"], each["reports"]) for each in series.status["rounds"]}


def test_a_period_takes_reports_from_its_start_until_it_is_late_and_not_a_second_longer(series):
    assert series.start % DAY == 0
    assert series.start - DAY < series.running.clock.now() <= series.start
    series.at(0, -1)
    assert series.refusal(0) == (409, "early")
    series.at(0)
    assert series.report(0, [0, 1]).status_code == 200
    assert series.refusal(1) == (409, "early")
    series.at(2, -1)
    assert series.report(0, [0], seed=2).status_code == 200
    series.at(2)
    assert series.refusal(0) == (409, "late")
    assert series.report(2, [1]).status_code == 200
    assert series.status["refusals"] == {"early": 2, "late": 1}
    assert states(series) == {0: ("open", 3), 2: ("open", 1)}


def test_previous_periods_are_reported_in_the_one_after(running):
    series = begin(running, value_of="previous", late_s=0)
    series.at(0.5)
    assert series.refusal(0) == (409, "early")
    series.at(1)
    assert series.report(0, [0]).status_code == 200
    series.at(2, -1)
    assert series.report(0, [0], seed=2).status_code == 200
    series.at(2)
    assert series.refusal(0) == (409, "late")


def test_overdue_periods_close_in_order_and_once_after_a_sleep(series):
    for day in range(3):
        series.at(day)
        assert series.report(day, [0, 1, 2] * 10, seed=day).status_code == 200
    series.at(8)
    due = [(series.id, day) for day in range(3)]
    assert close_due_periods(series.running.database, series.running.clock.now()) == due
    assert close_due_periods(series.running.database, series.running.clock.now()) == []
    assert {index: state for index, (state, _) in states(series).items()} == {0: "closed", 1: "closed", 2: "closed"}
    assert series.status["series"]["closed_periods"] == 7
    series.running.work()
    assert states(series) == {0: ("estimated", 30), 1: ("estimated", 30), 2: ("estimated", 30)}
    assert series.status["state"] == "open"
    estimate = series.running.api.get(f"/v1/campaigns/{series.id}/rounds/1/estimates").raise_for_status()
    terms = estimate.json()["terms"]
    assert terms["users"] == 30
    series.running.work()
    assert estimate.content == series.running.api.get(f"/v1/campaigns/{series.id}/rounds/1/estimates").content


def test_a_clock_that_is_set_back_opens_no_closed_period_again(series):
    series.at(1)
    assert series.report(0, [0] * 5).status_code == 200
    series.at(3)
    series.running.work()
    series.at(3, -3600)
    assert series.refusal(0) == (409, "late")
    # Nobody answered period 1, whose acceptance ended as well: it stays as it was shown.
    assert series.refusal(1) == (409, "late")
    assert series.report(2, [0]).status_code == 200
    assert states(series)[0] == ("estimated", 5)


@pytest.mark.parametrize("number", [-1, 2**32, 10**12])
def test_numbers_that_no_period_has_are_refused(series, number):
    series.at(0)
    answer = series.send(number, b"any")
    assert answer.status_code in (404, 422)
    assert series.status["rounds"] == []


def test_the_largest_number_is_early_and_no_error(series):
    series.at(0)
    assert series.report(2**32 - 1, [0]).json()["state"] == "early"


def test_reports_are_counted_once_and_ids_of_another_epoch_are_refused(series):
    series.at(0)
    first = ReportOutcomes.read(series.report(0, [0] * 5).content)
    again = ReportOutcomes.read(series.report(0, [0] * 5).content)
    assert (first.accepted, again.replayed) == (5, 5)
    wrong = ReportOutcomes.read(series.report(0, [0], seed=5, epoch=1).content)
    assert [each.reason.value for each in wrong.refused] == ["wrong-epoch"]


def test_a_period_whose_reports_were_all_refused_is_missing_and_fails_nothing(series):
    series.at(0)
    series.report(0, [0], epoch=9)
    series.at(3)
    series.running.work()
    assert states(series) == {0: ("cancelled", 0)}


def test_a_paused_series_takes_nothing_until_it_is_resumed(series):
    series.at(0)
    task = f"/v1/campaigns/{series.id}/task"
    before = series.running.anonymous.get(task).content
    assert Task.read(before).round == 0
    assert series.act("pause").json()["series"]["paused"]
    assert series.refusal(0) == (409, "paused")
    assert Task.read(series.running.anonymous.get(task).content).round is None
    assert series.act("pause").status_code == 409
    assert not series.act("resume").json()["series"]["paused"]
    assert series.running.anonymous.get(task).content == before
    assert series.report(0, [0]).status_code == 200
    assert series.act("resume").status_code == 409
    assert series.status["refusals"] == {"paused": 1}


def test_an_ended_series_closes_what_has_begun_and_takes_nothing_more(series):
    series.at(1, 10)
    for day in (0, 1):
        assert series.report(day, [0, 1, 2]).status_code == 200
    assert series.act("close").json()["state"] == "closed"
    assert series.refusal(1) == (409, "closed")
    assert series.refusal(2) == (409, "closed")
    series.running.work()
    assert states(series) == {0: ("estimated", 3), 1: ("estimated", 3)}
    assert series.act("pause").status_code == 409


def test_a_series_that_ends_before_it_starts_has_no_periods(series):
    series.at(0, -100)
    assert series.act("close").json()["state"] == "closed"
    series.running.work()
    assert series.document()["extras"]["periods"] == []


def test_one_slot_one_answer_and_periods_of_a_second(running):
    series = begin(running, slots=1, answers_max=1, period_s=1, late_s=10)
    running.clock.advance(series.start + 5 - running.clock.now())
    for number in range(6):
        assert series.report(number, [0]).status_code == 200, number
    assert series.refusal(6) == (409, "early")
    running.clock.advance(20)
    running.work()
    assert {state for state, _ in states(series).values()} == {"estimated"}


def test_a_series_that_was_deleted_after_an_upload_has_no_periods(running):
    running.clock.advance(1)
    made = running.api.post("/v1/campaigns", json=terms_of(running)).json()
    path = f"/v1/campaigns/{made['id']}/rounds/0/reports"
    other = begin(running)
    other.at(0)
    draft = replace(other, id=made["id"])
    assert draft.refusal(0) == (409, "ready")
    assert running.api.delete(f"/v1/campaigns/{made['id']}").status_code == 204, path
    assert draft.report(0, [0]).status_code == 404
    assert other.report(0, [0]).status_code == 200


def test_reports_of_old_periods_go_while_the_series_goes_on(running, series):
    for day in (0, 9):
        series.at(day)
        series.report(day, [0, 1])
        series.at(day + 2)
        running.work()
    for days, expected in ((10, []), (9, [0]), (0, [0, 9])):
        old = retention.old_reports(running.database, days, running.clock.now())
        assert [each.index for each in old if each.campaign == series.id] == expected, days
    before = series.document(to=9)
    for each in retention.old_reports(running.database, 9, running.clock.now()):
        retention.purge(running.database, each, running.clock.now())
    assert series.document(to=9) == before
    assert [each["purged_at"] is not None for each in series.status["rounds"]] == [True, False]


def test_the_most_slots_there_are(running):
    assert begin(running, slots=4096).status["series"]["slots"] == 4096


@pytest.mark.parametrize(
    ("slots", "period_s", "late_s"), [(1, 3600, DAY), (2, 3600, 1800), (24, 3600, 41_400), (30, DAY, DAY)]
)
def test_reports_may_be_late_by_a_day_or_by_what_the_slots_allow(slots, period_s, late_s):
    order = SeriesOrder(slots=slots, period_s=period_s, answers_max=1)
    assert order.assignment(0).late_s == late_s


def test_only_a_series_pauses_and_its_periods_close_by_themselves(running, series):
    other = running.campaign("open")
    assert running.api.post(f"/v1/campaigns/{other['id']}/pause").status_code == 409
    series.at(0)
    series.report(0, [0])
    assert series.act("rounds/0/close").status_code == 409


def test_every_period_takes_its_reports_from_two_processes(running, series):
    """A period's round is made by the first of two writers that find none."""
    series.at(0)
    with running.database.write("another process makes the round") as session:
        plan = series.manifest.rounds[0].plan
        session.add(
            Round(
                campaign_id=series.id, index=0, state="open", device_digest=str(plan.device),
                analyst_digest=str(plan.analyst), epoch=0, opened_at=series.start,
            )
        )  # fmt: skip
    assert series.report(0, [0]).status_code == 200
    assert states(series) == {0: ("open", 1)}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"slots": 0}, "slots"),
        ({"slots": 4097}, "slots"),
        ({"answers_max": 0}, "answers_max"),
        ({"answers_max": 1001}, "for life"),
        ({"late_s": 6 * DAY}, "late_s"),
        ({"period_s": 0}, "period_s"),
        ({"period_s": 400 * DAY + 1}, "period_s"),
        ({"start": 1}, "ended before"),
        ({"value_of": "next"}, "value_of"),
        ({"replaces": "0" * 64}, "no series"),
    ],
)
def test_terms_that_make_no_series_are_refused_in_words(running: Any, wrong, message):
    answer = running.api.post("/v1/campaigns", json=terms_of(running, **wrong))
    assert answer.status_code == 422
    assert message in answer.text


def test_closing_rules_and_pairwise_statistics_make_no_series(running):
    rules = terms_of(running) | {"close_after_s": 60}
    assert "close by their time" in running.api.post("/v1/campaigns", json=rules).text


def test_the_manifest_states_both_numbers_and_prices_all_answers(series):
    said = "At most one answer about any 7 days in a row, at most 12 in all; two answers come at least 6 days apart."
    assert series.manifest.purpose.endswith(said)
    assert series.manifest.device_guarantee.nano == 12 * series.manifest.rounds[0].guarantee.nano


def test_texts_in_english_and_german_say_how_often_a_device_answers(running):
    texts = [{"language": "de-CH", "purpose": "Wie spät?"}, {"language": "fr", "purpose": "Quel retard ?"}]
    terms = terms_of(running) | {"texts": [*texts, {"language": "en", "purpose": "How late?"}]}
    made = running.api.post("/v1/campaigns", json=terms).raise_for_status().json()
    manifest = Manifest.read(running.anonymous.get(f"/v1/campaigns/{made['id']}").content)
    english = "At most one answer about any 7 days in a row, at most 12 in all; two answers come at least 6 days apart."
    german = (
        "Höchstens eine Antwort zu je 7 aufeinanderfolgenden Tagen, höchstens 12 insgesamt; zwei Antworten liegen "
        "mindestens 6 Tage auseinander."
    )
    assert [each.purpose for each in manifest.texts] == [
        f"Wie spät? {german}", f"How late? {english}", "Quel retard ?",
    ]  # fmt: skip
    full = terms | {"name": "long", "texts": [{"language": "de", "purpose": "x" * 1990}]}
    refused = running.api.post("/v1/campaigns", json=full)
    assert refused.status_code == 422
    assert "/texts: with how often a device answers, in de: " in refused.text


@pytest.mark.parametrize(
    ("period_s", "slots", "late_s", "said"),
    [
        (DAY, 1, 0, "zu jedem Tag, höchstens 1.200 insgesamt; zwei Antworten können unmittelbar aufeinander folgen."),
        (7 * DAY, 1, 0, "zu jeder Woche,"),
        (90, 1, 0, "zu jedem Zeitraum von 90 Sekunden,"),
        (60, 1, 0, "zu jedem Zeitraum von 1 Minute,"),
        (2 * DAY, 1, 0, "zu jedem Zeitraum von 2 Tagen,"),
        (3600, 4000, 0, "zu je 4.000 aufeinanderfolgenden Stunden, höchstens 1.200 insgesamt; zwei Antworten liegen"),
        (36 * 3600, 2, 0, "zu je 2 aufeinanderfolgenden Zeiträumen von 36 Stunden, höchstens 1.200 insgesamt; zwei "
         "Antworten liegen mindestens 36 Stunden auseinander."),
        (DAY, 2, 0, "zwei Antworten liegen mindestens 1 Tag auseinander."),
    ],
)  # fmt: skip
def test_the_german_sentence_has_the_numbers_of_the_english_one(period_s, slots, late_s, said):
    law = Rotating(
        start=0,
        period_s=period_s,
        slots=slots,
        answers_max=1200,
        value_of=ValueOf.CURRENT,
        late_s=late_s,
        replaces=None,
    )
    assert said in in_german(law)
    numbers = re.findall(r"[0-9]+", in_english(law).replace(",", ""))
    assert re.findall(r"[0-9]+", in_german(law).replace(".", "")) == numbers


def test_a_successor_keeps_the_promise_of_the_series_it_replaces(running, series):
    same = {"start": series.start, "replaces": series.id}
    answer = running.api.post("/v1/campaigns", json=terms_of(running, slots=6, **same))
    assert answer.status_code == 422
    assert "devices would refuse it" in answer.text
    series.at(3)
    assert begin(running, slots=14, **same).manifest.assignment.replaces is not None


def test_caps_of_the_population_are_priced_by_period_and_for_life(running):
    """ε⌈P/T⌉ in P = 30 days of seven slots is 5ε, 12ε for life; a campaign that asks once takes one more ε."""
    caps = {"name": "priced", "epsilon_per_period": 6, "period_days": 30, "epsilon_lifetime": 13}
    population = running.api.post("/v1/populations", json=caps).raise_for_status().json()
    series = begin(running, "priced")
    shown = running.api.get(f"/v1/populations/{population['id']}").json()
    assert (shown["asked_in_period"], shown["asked"]) == (5, 12)
    running.clock.advance(365 * DAY)
    assert running.api.get(f"/v1/populations/{population['id']}").json()["asked_in_period"] == 5
    once = {key: value for key, value in terms_of(running).items() if key != "series"} | {"population": "priced"}
    made = running.api.post("/v1/campaigns", json=once).json()
    running.api.post(f"/v1/campaigns/{made['id']}/open").raise_for_status()
    made = running.api.post("/v1/campaigns", json=terms_of(running) | {"population": "priced"}).json()
    refused = running.api.post(f"/v1/campaigns/{made['id']}/open")
    assert refused.json()["type"].endswith("budget-exceeded")
    assert series.act("close").status_code == 200
    running.clock.advance(31 * DAY)
    assert running.api.get(f"/v1/populations/{population['id']}").json()["asked_in_period"] == 0


def test_a_cap_of_whole_cycles_is_priced_with_the_answer_that_an_early_one_adds(running):
    """28 days hold four cycles of seven slots, and five answers: a late one first, then early ones."""
    caps = {"name": "whole", "epsilon_per_period": 5, "period_days": 28, "epsilon_lifetime": 13}
    population = running.api.post("/v1/populations", json=caps).raise_for_status().json()
    begin(running, "whole")
    assert running.api.get(f"/v1/populations/{population['id']}").json()["asked_in_period"] == 5


@pytest.mark.parametrize("begun", [DAY, DAY + 1, 31 * DAY])
def test_a_period_0_that_is_over_is_refused_whatever_its_length(begun):
    now = 1_800_057_600
    assert SeriesOrder(slots=7, answers_max=1, start=now - DAY + 1).assignment(now).start == now - DAY + 1
    with pytest.raises(InvalidValue, match="period 0 ended before the series is created"):
        SeriesOrder(slots=7, answers_max=1, start=now - begun).assignment(now)


def test_a_closed_series_leaves_a_period_at_the_very_second(running: Any) -> None:
    """What it asked counts while its close is less than 30 days ago."""
    caps = {"name": "left", "epsilon_per_period": 6, "period_days": 30, "epsilon_lifetime": 13}
    population = running.api.post("/v1/populations", json=caps).raise_for_status().json()
    series = begin(running, population=population["name"])
    series.act("close").raise_for_status()

    def asked() -> float:
        return float(running.api.get(f"/v1/populations/{population['id']}").json()["asked_in_period"])

    running.clock.advance(30 * DAY - 1)
    assert asked() == 5
    running.clock.advance(1)
    assert asked() == 0
