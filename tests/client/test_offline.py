"""Answers without a connection: by the task that was read last, before its time is over, and never again after it."""

from __future__ import annotations

import dataclasses
import logging
import sqlite3
from pathlib import Path

import httpx
import pytest

from sordino_client import AnswerStatus, ClientError, OptedOut, PlanUnavailable, PureEpsilon
from sordino_shared.protocol import CampaignState, Digest, DrawOneRound, PlanReference, Problem, RoundTerms

DAY = 86_400
NOW = 1_800_000_000
LEDGERS = Path(__file__).parent / "ledgers"


@pytest.fixture
def offline(world, client):
    """A device that joined while the round was open for a week's answers and ten days' reports, and lost its server."""
    world.task = dataclasses.replace(world.task, answer_until=NOW + 7 * DAY, accept_until=NOW + 10 * DAY)
    campaign = client.join(world.campaign)
    world.online = world.handle
    world.handle = lose(world)
    return campaign


def lose(world):
    def nobody(request: httpx.Request) -> httpx.Response:
        world.requests.append(request)
        raise httpx.ConnectError("no route")

    return nobody


def state(client) -> tuple[str, str | None]:
    ((entry,),) = [campaign.entries for campaign in client.account().campaigns]
    return entry.state, entry.report


def test_a_device_that_only_joined_answers_without_a_connection(world, client, offline, clock) -> None:
    clock.time = NOW + 7 * DAY - 0.5
    answer = client.answer(offline, "red")
    assert (answer.status, answer.round) == (AnswerStatus.RECORDED, 0)
    assert client.account().lifetime_nano == answer.guarantee.nano > 0
    world.handle = world.online
    assert client.flush().delivered == 1
    assert len(world.counted) == 1
    assert next(iter(world.counted))[:2] == world.task.epoch.to_bytes(2, "big")


@pytest.mark.parametrize("problem", [Problem.UNAVAILABLE, Problem.OVERLOADED, Problem.RATE_LIMITED])
def test_a_server_in_trouble_is_no_connection(world, client, offline, problem) -> None:
    world.handle = lambda request: world.problem(problem)
    assert client.answer(offline, "red").status is AnswerStatus.RECORDED


def test_a_server_that_does_not_know_the_campaign_any_more_is_believed(world, client, offline) -> None:
    world.handle = lambda request: world.problem(Problem.NOT_FOUND)
    with pytest.raises(PlanUnavailable):
        client.answer(offline, "red")
    assert client.account().lifetime_nano == 0


@pytest.mark.parametrize("restart", [False, True])
def test_a_round_that_is_over_is_never_opened_again_by_the_clock(make_client, offline, clock, restart) -> None:
    clock.time = NOW + 7 * DAY
    client = make_client()
    with pytest.raises(PlanUnavailable):
        client.answer(offline, "red")
    clock.time = NOW + DAY
    client = make_client() if restart else client
    with pytest.raises(PlanUnavailable):
        client.answer(offline, "red")
    assert client.account().lifetime_nano == 0


def test_a_clock_before_the_task_was_read_answers_nothing_until_it_is_right(client, offline, clock) -> None:
    clock.time = NOW - 1
    with pytest.raises(PlanUnavailable):
        client.answer(offline, "red")
    clock.time = NOW
    assert client.answer(offline, "red").status is AnswerStatus.RECORDED


def test_a_debit_in_the_future_ends_what_is_over_by_then(world, make_client, offline, clock) -> None:
    """A ledger that has seen a later time than the end knows that the end is past."""
    clock.time = NOW + 8 * DAY
    other = type(world)(world.part, created_at=1)
    client = make_client(other)
    client._device._ledger.expire = lambda: None  # Only the highest debit tells it now.
    client.answer(client.join(other.campaign), "red")
    clock.time = NOW + DAY
    with pytest.raises(PlanUnavailable):
        make_client().answer(offline, "red")


def test_no_task_lets_a_device_answer_later_than_thirty_days_on(world, make_client, clock) -> None:
    world.task = dataclasses.replace(world.task, answer_until=2**40)
    client = make_client()
    campaign = client.join(world.campaign)
    world.handle = lose(world)
    clock.time += 30 * DAY
    with pytest.raises(PlanUnavailable):
        client.answer(campaign, "red")


@pytest.mark.parametrize("changes", [{"answer_until": None}, {"state": CampaignState.CLOSED, "round": None}])
def test_the_last_task_counts(world, client, offline, changes) -> None:
    """A server that says once that the round is over, or not to be answered offline, is believed from then on."""
    nothing = {"answer_until": None, "accept_until": None}
    world.task = dataclasses.replace(world.task, **(nothing | changes))
    world.handle = world.online
    session = client._device.session(world.campaign)
    client._run(client._device.fetch_task(session))
    world.handle = lose(world)
    with pytest.raises(PlanUnavailable):
        client.answer(offline, "red")


@pytest.mark.parametrize("change", ["content = x'a0'", "kept_at = 'never'", "answer_until = 'x'"])
def test_a_damaged_task_answers_nothing(client, offline, ledger, change) -> None:
    with sqlite3.connect(ledger) as connection:
        connection.execute(f"UPDATE tasks SET {change}")
    with pytest.raises(ClientError):
        client.answer(offline, "red")
    assert client.account().lifetime_nano == 0


def test_every_device_fetches_the_same_at_joining_whichever_round_it_drew(make_world, make_client, make_part, tmp_path):
    seen = set()
    part = make_part(1.0)
    terms = RoundTerms(part.guarantee, PlanReference(part.digest, Digest.of(b"a"))), RoundTerms(part.guarantee, None)
    for seed in range(8):
        world = make_world(part, rounds=terms, assignment=DrawOneRound((2**31, 2**31)))
        client = make_client(world, ledger=tmp_path / f"{seed}.sqlite3")
        client.join(world.campaign)
        seen.add(tuple(str(request.url) for request in world.requests))
        assert len(world.requests) == 3
    assert len(seen) == 1


def test_a_report_expires_at_the_second_and_its_debit_stays(world, client, offline, clock, ledger) -> None:
    spent = client.answer(offline, "red").guarantee
    assert state(client)[1] is not None
    clock.time = NOW + 10 * DAY - 1
    assert state(client)[0] == "spooled"
    clock.time = NOW + 10 * DAY
    world.handle = world.online
    flushed = client.flush()
    assert (flushed.delivered, flushed.waiting, world.bodies) == (0, 0, [])
    assert state(client) == ("expired", None)
    assert "not sent in time" in str(client.account())
    assert client.account().lifetime_nano == spent.nano
    clock.time = NOW
    assert client.flush().waiting == 0
    assert client.answer(offline, "red").status is AnswerStatus.ALREADY_ANSWERED
    with sqlite3.connect(ledger) as connection:
        assert connection.execute("SELECT body FROM reports").fetchall() == [(None,)]


def test_what_would_expire_at_once_is_not_answered(world, client, clock) -> None:
    """A clock that is ahead of the end of the round spends nothing on a report that would be deleted at once."""
    world.task = dataclasses.replace(world.task, accept_until=NOW)
    assert client.answer(client.join(world.campaign), "red").status is AnswerStatus.NOT_OPEN
    assert client.account().lifetime_nano == 0


def test_an_expired_report_makes_room(world, make_client, offline, clock) -> None:
    client = make_client(spool_limit=1)
    client.answer(offline, "red")
    clock.time = NOW + 10 * DAY
    other = type(world)(world.part, created_at=1)
    elsewhere = make_client(other, spool_limit=1)
    assert elsewhere.answer(elsewhere.join(other.campaign), "red").status is AnswerStatus.RECORDED


def test_opting_out_of_everything_is_stored_and_holds_until_the_owner_comes_back(world, make_client, clock) -> None:
    client = make_client()
    campaign = client.join(world.campaign)
    spent = client.answer(campaign, "red").guarantee
    client.opt_out_all()
    other = type(world)(world.part, created_at=1)
    requests = len(world.requests)
    for again in (client, make_client(), make_client(other)):
        with pytest.raises(OptedOut):
            again.join(other.campaign)
        with pytest.raises(OptedOut):
            again.join(world.campaign)
        assert again.flush().waiting == 0
        assert "opt_in" in again.flush().trouble
    assert client.answer(campaign, "red").status is AnswerStatus.OPTED_OUT
    assert (len(world.requests), other.requests, world.bodies) == (requests, [], [])
    client.opt_in()
    assert client.answer(campaign, "red").status is AnswerStatus.ALREADY_ANSWERED
    assert client.account().lifetime_nano == spent.nano
    assert client.flush().waiting == 0
    elsewhere = make_client(other)
    assert elsewhere.answer(elsewhere.join(other.campaign), "red").status is AnswerStatus.RECORDED


def test_a_dry_run_checks_everything_and_spends_and_sends_nothing(world, make_client, caplog) -> None:
    client = make_client(dry_run=True)
    campaign = client.join(world.campaign)
    assert client.answer(campaign, "red").status is AnswerStatus.DRY_RUN
    assert client.answer(campaign, "red").guarantee is None
    assert (client.account().lifetime_nano, client.flush().delivered, world.bodies) == (0, 0, [])
    real = make_client()
    assert real.answer(campaign, "red").status is AnswerStatus.RECORDED
    assert client.flush().waiting == 1
    assert world.bodies == []
    assert real.flush().delivered == 1


def test_the_log_tells_what_happens_and_neither_value_nor_report(world, make_client, offline, caplog, clock) -> None:
    caplog.set_level(logging.DEBUG, "sordino_client")
    client = make_client()
    client.answer(offline, "green")
    body = client.account().campaigns[0].entries[0].report
    world.handle = world.online
    client.flush()
    client.opt_out_all()
    client.opt_in()
    lines = [record.getMessage() for record in caplog.records if record.name.startswith("sordino_client")]
    told = "\n".join(lines)
    assert lines == [
        f"There is no connection: campaign {world.campaign} is answered by the task that was read last.",
        f"Round 0 of campaign {world.campaign} is answered; the report is recorded and waits to be sent.",
        f"The server counted report 0 of campaign {world.campaign}.",
        "The owner left all campaigns.",
        "The owner came back.",
    ]
    assert "no connection" in told
    assert "recorded" in told
    assert "green" not in told
    assert f"report {body}" not in told
    assert world.bodies[0].hex()[20:60] not in told


def test_a_ledger_that_the_code_before_wrote_keeps_debits_and_reports(world, make_client, ledger, clock) -> None:
    """`ledgers/format_3.sql` is the dump of a ledger of format 3: delivered, waiting, left, joined only."""
    with sqlite3.connect(ledger) as connection:
        connection.executescript((LEDGERS / "format_3.sql").read_text())
    waiting = type(world)(created_at=1_700_000_001)
    client = make_client(waiting)
    account = client.account()
    assert [[entry.state for entry in each.entries] for each in account.campaigns] == [
        ["delivered"],
        ["spooled"],
        ["deleted"],
        [],
    ]
    assert account.lifetime_nano == PureEpsilon.of(3).nano
    before = sqlite3.connect(":memory:")
    before.executescript((LEDGERS / "format_3.sql").read_text())
    (body,) = before.execute("SELECT body FROM reports WHERE state = 'spooled'").fetchone()
    assert client.flush().delivered == 1
    assert waiting.bodies == [b"\xa6carm\x00" + body[1:]]
    assert client.answer(account.campaigns[1].campaign, "red").status is AnswerStatus.ALREADY_ANSWERED
    with sqlite3.connect(ledger) as connection, pytest.raises(sqlite3.IntegrityError, match="debits are"):
        connection.execute("DELETE FROM debits")
