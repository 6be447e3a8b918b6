"""A device in a series: which periods it answers, what holds it back, which requests it makes, and successors."""

from __future__ import annotations

import dataclasses
import sqlite3
import time
from email.utils import formatdate
from itertools import pairwise

import httpx
import pytest

from sordino_client import AnswerStatus, BudgetExceeded, Caps, NotJoined, OptedOut, Period, PlanUnavailable, PureEpsilon
from sordino_server.simulation import DeviceFleet
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import CampaignState, Problem, ReportBatch, ReportId, RetryWindow, ValueOf
from tests.client.conftest import DAY_S, SERIES_CAPS, SERIES_START, WEEKLY

DAY, START, LAW, CAPS = DAY_S, SERIES_START, WEEKLY, SERIES_CAPS


def lose(world):
    def nobody(request: httpx.Request) -> httpx.Response:
        world.requests.append(request)
        raise httpx.ConnectError("no route")

    world.handle = nobody


def statuses(client, campaign, clock, days):
    """The status of an answer tried on every day at noon, and the number of the period where there is one."""
    found = []
    for day in days:
        clock.time = START + day * DAY + DAY // 2
        found.append(client.answer(campaign, "red"))
    return found


def recorded(answers):
    return [answer.round for answer in answers if answer.status is AnswerStatus.RECORDED]


@pytest.mark.parametrize("phase", [0, 3, 6])
def test_a_device_answers_the_periods_of_its_phase(make_series, start, clock, phase) -> None:
    world = make_series()
    client, campaign = start(world, phase)
    answers = statuses(client, campaign, clock, range(28))
    assert recorded(answers) == [phase, phase + 7, phase + 14, phase + 21]
    others = {answer.status for answer in answers if answer.status is not AnswerStatus.RECORDED}
    assert others == {AnswerStatus.NOT_THIS_PERIOD}


def test_reports_carry_the_period_and_its_epoch(make_series, start, clock) -> None:
    world = make_series()
    client, campaign = start(world, 4)
    clock.time = START + (2**16 + 7 + 4 + (7 - 2**16 % 7)) * DAY
    number = client.due(campaign).number
    assert number % 7 == 4
    assert number > 2**16
    client.answer(campaign, "blue")
    client.flush()
    [body], upload = world.bodies, world.requests[-1]
    assert upload.url.path.endswith(f"/rounds/{number}/reports")
    assert [ReportId(each).epoch for each in ReportBatch.read(body).report_ids()] == [number % 2**16]


def test_a_second_answer_in_a_period_spends_nothing_and_asks_nothing(make_series, start, clock) -> None:
    world = make_series()
    client, campaign = start(world)
    assert client.answer(campaign, "red").status is AnswerStatus.RECORDED
    count = len(world.requests)
    assert client.answer(campaign, "red").status is AnswerStatus.ALREADY_ANSWERED
    assert client.due(campaign) is None
    assert len(world.requests) == count


def test_due_tells_the_period_without_a_request(make_series, start, clock) -> None:
    world = make_series(value_of=ValueOf.PREVIOUS)
    client, campaign = start(world, 3)
    lose(world)
    count, found = len(world.requests), {}
    for hour in range(0, 24 * 21, 6):
        clock.time = START + 3600 * hour
        period = client.due(campaign)
        if period is not None:
            found.setdefault(period, []).append(hour)
    # Period 3 is over on day 4; its reports count until late_s after day 4.
    assert found == {
        Period(3, START + 3 * DAY, START + 4 * DAY): list(range(96, 168, 6)),
        Period(10, START + 10 * DAY, START + 11 * DAY): list(range(264, 336, 6)),
        Period(17, START + 17 * DAY, START + 18 * DAY): list(range(432, 504, 6)),
    }
    assert len(world.requests) == count


def test_due_takes_less_than_50_microseconds(make_series, start, clock) -> None:
    """CPU time, the best of some runs; measured 29 µs in the period of the phase, 1 µs in the others."""
    client, campaign = start(make_series(), 0)
    for day in (0, 1):
        clock.time = START + day * DAY
        client.due(campaign)
        best = min(_cpu_s(client, campaign) for _ in range(20))
        assert best < 50e-6 * (4 if day == 0 else 1)


def _cpu_s(client, campaign, calls=100):
    began = time.process_time()
    for _ in range(calls):
        client.due(campaign.id)
    return (time.process_time() - began) / calls


def test_answers_end_at_answers_max(make_series, start, clock) -> None:
    client, campaign = start(make_series(answers_max=2))
    answers = statuses(client, campaign, clock, range(0, 70, 7))
    assert recorded(answers) == [0, 7]
    assert {answer.status for answer in answers[2:]} == {AnswerStatus.ALREADY_ANSWERED}
    assert "2 of 2 answers given (over)" in str(client.account())
    assert client.account().lifetime_nano == 2 * 10**9


def test_nothing_is_answered_before_the_start(make_series, start, clock) -> None:
    client, campaign = start(make_series(), 6)
    clock.time = START - 1
    assert client.answer(campaign, "red").status is AnswerStatus.NOT_THIS_PERIOD
    assert client.due(campaign) is None


def test_a_joined_device_answers_offline_for_the_life_of_the_series(make_series, start, clock) -> None:
    world = make_series()
    client, campaign = start(world)
    online = world.handle
    lose(world)
    assert recorded(statuses(client, campaign, clock, range(29))) == [0, 7, 14, 21, 28]
    world.handle = online
    assert client.flush().delivered == 1
    states = [entry.state for entry in client.account().campaigns[0].entries]
    assert states == ["expired"] * 4 + ["delivered"]


def test_a_report_expires_when_its_period_is_not_accepted_any_more(make_series, start, clock) -> None:
    world = make_series()
    client, campaign = start(world)
    client.answer(campaign, "red")
    clock.time = START + 3 * DAY - 1
    assert client.account().campaigns[0].entries[0].state == "spooled"
    clock.time = START + 3 * DAY
    [entry] = client.account().campaigns[0].entries
    assert (entry.state, entry.report, entry.epsilon_nano) == ("expired", None, 10**9)
    assert client.flush().delivered == 0
    assert not world.bodies
    assert client.account().lifetime_nano == 10**9


@pytest.mark.parametrize("closed", [CampaignState.OPEN, CampaignState.CLOSED, CampaignState.CANCELLED])
def test_nothing_is_randomised_while_it_is_paused_or_after_its_end(make_series, start, clock, closed) -> None:
    world = make_series()
    client, campaign = start(world)
    task = world.task
    world.task = dataclasses.replace(task, state=closed, round=None)
    assert client.answer(campaign, "red").status is AnswerStatus.NOT_OPEN
    assert client.account().lifetime_nano == 0
    world.task = task
    again = client.answer(campaign, "red").status
    # A pause may end; what is closed or cancelled is asked about no more, online or offline.
    assert again is (AnswerStatus.RECORDED if closed is CampaignState.OPEN else AnswerStatus.NOT_OPEN)
    assert client.account().campaigns[0].series.over is (closed is not CampaignState.OPEN)


@pytest.mark.parametrize(("away", "status"), [(0, "recorded"), (DAY, "recorded"), (DAY + 2, "clock_differs")])
@pytest.mark.parametrize("sign", [-1, 1])
def test_the_servers_time_may_prevent_an_answer(make_series, start, clock, away, status, sign) -> None:
    world = make_series()
    client, campaign = start(world)
    served = world.handle

    def dated(request):
        response = served(request)
        response.headers["Date"] = formatdate(clock.time + sign * away, usegmt=True)
        return response

    world.handle = dated
    assert client.answer(campaign, "red").status == status
    assert client.account().lifetime_nano == (10**9 if status == "recorded" else 0)


def test_the_servers_time_never_causes_an_answer(make_series, start, clock) -> None:
    """A server that shows every day of a year on one day gets the answers of that day."""
    world = make_series(answers_max=100)
    client, campaign = start(world)
    served, day = world.handle, 0

    def dated(request):
        response = served(request)
        response.headers["Date"] = formatdate(START + day * DAY, usegmt=True)
        return response

    world.handle = dated
    for day in range(365):  # noqa: B007 - `dated` reads it
        client.answer(campaign, "red")
        client.due(campaign)
    assert client.account().lifetime_nano == 10**9


def test_a_task_from_a_cache_shows_the_time_it_was_made_and_its_age(make_series, start, clock) -> None:
    world = make_series(period_s=60, late_s=0)
    client, campaign = start(world, phase=1)
    served = world.handle

    def cached(request):
        response = served(request)
        response.headers.update({"Date": formatdate(clock.time - 600, usegmt=True), "Age": "600"})
        return response

    world.handle = cached
    assert client.answer(campaign, "red").status is AnswerStatus.RECORDED


def test_a_clock_that_jumps_back_gives_no_second_answer(make_series, start, clock) -> None:
    client, campaign = start(make_series())
    days = [14, 0, 7, 14, 20, 21, 7, 14, 21, 28]
    assert recorded(statuses(client, campaign, clock, days)) == [14, 21, 28]


def test_a_clock_that_jumps_far_ahead_silences_this_series_only(make_series, start, clock) -> None:
    client, campaign = start(make_series())
    ahead = 7 * 500
    assert recorded(statuses(client, campaign, clock, [ahead])) == [ahead]
    assert recorded(statuses(client, campaign, clock, range(60))) == []
    assert client.account().campaigns[0].series.next_at == START + ahead * DAY + DAY // 2 + 6 * DAY - 2 * DAY
    other = make_series(created_at=1)
    second, joined = start(other, 2)
    assert recorded(statuses(second, joined, clock, range(14))) == [2, 9]


def test_a_jump_without_an_answer_silences_nothing(make_series, start, clock) -> None:
    client, campaign = start(make_series(), 1)
    statuses(client, campaign, clock, [7 * 500])
    client.due(campaign)
    client.account()
    assert recorded(statuses(client, campaign, clock, range(14))) == [1, 8]


def test_answering_another_campaign_daily_changes_nothing_in_the_series(make_series, make_world, start, clock) -> None:
    """Each of two devices in one series; one of them also answers a series of every day."""
    world, every_day = make_series(), make_series(created_at=1, slots=1, answers_max=60)
    alone, campaign = start(world, 3, ledger=":memory:")
    both, _ = start(world, 3)
    daily, second = start(every_day)
    once = make_world(created_at=2)
    other, third = start(once)
    clock.time = START + 2 * DAY
    assert other.answer(third, "red").status is AnswerStatus.RECORDED
    found = {"alone": [], "both": []}
    for day in range(29):
        clock.time = START + day * DAY + 7
        assert daily.answer(second, "blue").status is AnswerStatus.RECORDED
        found["alone"].append((alone.due(campaign), alone.answer(campaign, "red").status))
        found["both"].append((both.due(campaign), both.answer(campaign, "red").status))
    assert found["alone"] == found["both"]
    assert sum(status is AnswerStatus.RECORDED for _, status in found["both"]) == 4


def test_the_caps_count_an_answer_when_it_is_drawn(make_series, start, clock) -> None:
    """Not from the start of its period, which the manifest names: a late answer and an early one are a day apart."""
    caps = Caps(PureEpsilon.of(1), 7, PureEpsilon.of(100))
    client, campaign = start(make_series(), caps=caps)
    clock.time = START + DAY - 1
    assert client.answer(campaign, "red").status is AnswerStatus.RECORDED
    [entry] = client.account().campaigns[0].entries
    assert (entry.at, entry.period_start) == (START + DAY - 1, START)
    clock.time = START + 7 * DAY
    with pytest.raises(BudgetExceeded, match="in 7 days"):
        client.answer(campaign, "red")
    clock.time = START + 8 * DAY - 1
    assert client.answer(campaign, "red").status is AnswerStatus.RECORDED


def test_a_cap_over_the_longest_window_of_a_series_never_refuses_it(make_series, start, clock) -> None:
    """Six days for T = 7 of current values: the latest second of a period, then the earliest of the next turn."""
    world = make_series()
    days = world.manifest.assignment.longest_window_s(1) // DAY
    client, campaign = start(world, caps=Caps(PureEpsilon.of(1), days, PureEpsilon.of(100)))
    for turn in range(5):
        clock.time = START + 7 * turn * DAY + (0 if turn % 2 else DAY - 0.25)
        assert client.answer(campaign, "red").status is AnswerStatus.RECORDED


@pytest.mark.parametrize(
    ("epsilon", "days", "said"),
    [
        (1, 6, None),
        (2, 13, None),
        (5, 3660, None),
        (
            1,
            7,
            "room for 1 answer in 7 days, and this series may draw 2: the others are refused. ε 2 in 7 days refuses",
        ),
        (1, 7, "none, nor does ε 1 in 6 days"),
        (0.5, 7, "room for 0 answers in 7 days, and this series may draw 2: the others are refused. ε 2 in 7 days"),
    ],
)
def test_joining_says_whether_the_cap_refuses_answers(make_series, start, epsilon, days, said) -> None:
    _, campaign = start(make_series(), caps=Caps(PureEpsilon.of(epsilon), days, PureEpsilon.of(100)))
    assert said in campaign.cap_conflict if said else campaign.cap_conflict is None


def test_a_clock_set_back_frees_no_budget(make_series, make_world, start, clock) -> None:
    world = make_series(slots=1, late_s=0)
    caps = Caps(PureEpsilon.of(2), 7, PureEpsilon.of(100))
    client, campaign = start(world, caps=caps)
    ahead, once = make_world(created_at=2), START + 3650 * DAY
    other, joined = start(ahead, caps=caps)
    clock.time = once
    other.answer(joined, "red")
    clock.time = START
    client.answer(campaign, "red")
    assert client.account().period_nano == 2 * 10**9
    clock.time = START + DAY
    with pytest.raises(BudgetExceeded):
        client.answer(campaign, "red")


def test_values_of_a_wrong_shape_and_unjoined_series(make_series, start, clock, make_world) -> None:
    world = make_series()
    client, campaign = start(world)
    with pytest.raises(InvalidValue):
        client.answer(campaign, {"no such attribute": 1})
    assert client.account().lifetime_nano == 0
    with pytest.raises(NotJoined):
        client.due("ab" * 32)
    plain = make_world(created_at=3)
    other = start(plain)[0]
    with pytest.raises(InvalidValue, match="is no series"):
        other.due(plain.campaign)


def test_in_the_background_a_report_is_due_before_it_expires(make_series, start, clock, ledger) -> None:
    """A retry window of a week and ten minutes left: the upload is due in the first five of them."""
    world = make_series(late_s=0)
    world.task = dataclasses.replace(world.task, retry=RetryWindow(min_s=3600, max_s=604_800))
    clock.time = START + DAY - 600.0
    client, campaign = start(world, background=True)
    client._background.close()
    client.answer(campaign, "red")
    with sqlite3.connect(ledger) as connection:
        [(due, expires)] = connection.execute("SELECT not_before, expires_at FROM reports")
    assert expires == START + DAY
    assert clock.time < due <= clock.time + 300


def test_a_fleet_answers_no_series(make_series, start) -> None:
    client, campaign = start(make_series())
    with pytest.raises(InvalidValue, match="use one Client a device"):
        DeviceFleet(client, campaign)


def test_joining_needs_task_and_plan_or_nothing_is_pinned(make_series, start, make_client, clock) -> None:
    world = make_series()
    served = world.handle
    for missing in ("/task", "/plans/"):
        world.handle = lambda request, missing=missing: (
            world.problem(Problem.UNAVAILABLE) if missing in request.url.path else served(request)
        )
        with pytest.raises(PlanUnavailable):
            start(world)
        assert make_client(world).account().campaigns == ()
    world.handle = served
    client, campaign = start(world)
    assert campaign.series == LAW
    count = len(world.requests)
    client.join(world.campaign)
    assert len(world.requests) == count


def test_the_owner_may_leave(make_series, start, clock) -> None:
    world = make_series()
    client, campaign = start(world)
    client.answer(campaign, "red")
    client.opt_out(campaign)
    assert client.due(campaign) is None
    clock.time = START + 7 * DAY
    assert client.due(campaign) is None
    assert client.answer(campaign, "red").status is AnswerStatus.OPTED_OUT
    other = make_series(created_at=1)
    second, joined = start(other)
    second.opt_out_all()
    assert second.due(joined) is None
    assert second.answer(joined, "red").status is AnswerStatus.OPTED_OUT
    with pytest.raises(OptedOut):
        start(make_series(created_at=2))
    second.opt_in()
    assert second.due(joined) is not None


def test_a_dry_run_spends_nothing_and_stays_due(make_series, start, clock) -> None:
    world = make_series()
    client, campaign = start(world, dry_run=True)
    assert client.answer(campaign, "red").status is AnswerStatus.DRY_RUN
    assert client.due(campaign).number == 0
    preview = client.preview(campaign, "red")
    assert (preview.round, preview.guarantee.nano) == (0, 10**9)


def test_the_account_lists_a_series_with_its_rate(make_series, start, clock) -> None:
    client, campaign = start(make_series())
    assert (
        "  series: at most ε 1 about any 7 days in a row, at least 6 days apart, 0 of 5 answers given"
        in str(client.account()).splitlines()
    )
    client.answer(campaign, "red")
    account = client.account()
    assert "  period 0  ε           1  waits to be sent" in str(account)
    assert account.campaigns[0].series.cycle_s == 7 * DAY
    assert account.to_dict()["campaigns"][0]["series"]["answers"] == 1
    hourly, _ = start(make_series(created_at=1, period_s=3600, slots=5, late_s=0))
    assert "about any 5 hours in a row, at least 4 hours apart, 0 of 5 answers given" in str(hourly.account())


def test_phase_and_part_are_kept_across_restarts_and_many_series(make_series, start, make_client, clock) -> None:
    """The part of a series is kept for its life, however many others the device answers."""
    worlds = [make_series(created_at=created) for created in range(12)]
    for world in worlds:
        start(world)
    for world in worlds:
        lose(world)
        client = make_client(world, caps=CAPS)
        assert client.due(world.campaign).number == 0
        assert client.answer(world.campaign, "red").status is AnswerStatus.RECORDED
        client.close()


def test_gaps_of_a_diligent_device_are_whole_cycles(make_series, start, clock) -> None:
    world = make_series(value_of=ValueOf.PREVIOUS, answers_max=50)
    client, campaign = start(world, 5)
    times, numbers = [], []
    # One late answer (two days after the period that follows), then each at the first second.
    for at in (START + 9 * DAY - 1, *(START + day * DAY for day in range(9, 60))):
        clock.time = at
        answer = client.answer(campaign, "red")
        if answer.status is AnswerStatus.RECORDED:
            times.append(at)
            numbers.append(answer.round)
    assert numbers == [5, 12, 19, 26, 33, 40, 47, 54]
    assert {b - a for a, b in pairwise(numbers)} == {7}
    assert min(b - a for a, b in pairwise(times)) > LAW.pause_s - LAW.late_s
