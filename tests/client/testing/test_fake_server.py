"""A test of an app by the fake server: series, a campaign of one round, faults, lies and time."""

from __future__ import annotations

import asyncio
import dataclasses
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sordino_client import (
    AnswerStatus,
    BudgetExceeded,
    Caps,
    NotListed,
    PlanRefused,
    PlanUnavailable,
    TransportFailed,
    WrongArgument,
)
from sordino_client.testing import (
    Categorical,
    Daily,
    Domain,
    FakeServer,
    Hourly,
    Integers,
    Ordinal,
    ShakeRandomness,
    Weekly,
)
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import SubsetSelection

STARTUP = Domain((Ordinal("startup", edges=(250, 500, 1000)),))
OS = Domain((Categorical("os", ("linux", "macos", "windows"), other=True),))


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger"


def test_startup_is_reported(ledger: Path) -> None:
    server = FakeServer(STARTUP, epsilon=1, series=Weekly(slots=4))
    with server.client(ledger=ledger) as client:
        series = client.join(server.campaign)
        server.travel_to(client.next_due(series))
        server.offline()
        assert client.answer(series, 700).status == "recorded"
        waiting = client.flush(patience_s=0)
        assert (waiting.delivered, waiting.waiting) == (0, 1)
        server.online()
        server.travel(seconds=waiting.retry_in_s or 0)
        assert client.flush().delivered == 1
        assert client.next_due(series) > server.time
    assert [report.period for report in server.received] == [server.period]


def test_a_series_of_sixty_days_with_bad_days_and_a_pause(ledger: Path) -> None:
    """Nine days of a phase in sixty: one falls into the pause, and what day 14 recorded offline is sent a day late."""
    server, statuses = FakeServer(OS, series=Daily(slots=7, late_s=86_400)), []
    with server.client(ledger=ledger, randomness=ShakeRandomness(3)) as client:
        series = client.join(server.campaign)
        for day in range(60):
            server.online()
            if day % 10 == 4:
                server.offline()
            if day == 30:
                server.pause()
            if day == 40:
                server.resume()
            if client.due(series) is not None:
                statuses.append(client.answer(series, "linux").status)
            client.flush(patience_s=0)
            server.travel(days=1)
    assert statuses.count(AnswerStatus.RECORDED) == len(server.received) == 8
    assert statuses.count(AnswerStatus.NOT_OPEN) == 1
    assert {report.period % 7 for report in server.received} == {server.received[0].period % 7}


def test_next_due_is_the_first_second_at_which_due_names_a_period(ledger: Path) -> None:
    """By brute force over every second of series with both ways of answering, late answers and clocks set back."""
    for value_of, slots, late in (("current", 3, 1), ("previous", 3, 4), ("previous", 1, 2), ("current", 1, 0)):
        law = dataclasses.replace(Hourly(slots=slots).law(0), period_s=5, start=1_000, late_s=late, answers_max=4)
        law = dataclasses.replace(law, value_of=type(law.value_of)(value_of))
        server = FakeServer(OS, series=law, now=990)
        with server.client(ledger=f"{ledger}-{value_of}{slots}", randomness=ShakeRandomness(slots)) as client:
            series = client.join(server.campaign)
            for _ in range(5):
                start, expected = server.now(), client.next_due(series)
                found = None
                for second in range(60):
                    server.travel_to(start + second)
                    if client.due(series) is not None:
                        found = server.time
                        break
                assert found == expected, (law, start)
                if found is None:
                    break
                server.travel(seconds=2 * (slots > 1))
                if client.due(series) is not None:
                    assert client.answer(series, "macos").status is AnswerStatus.RECORDED
            client.opt_out(series)
            assert client.next_due(series) is None


def test_next_due_of_a_campaign_that_is_no_series_says_what_to_call(ledger: Path) -> None:
    server = FakeServer(OS)
    with (
        server.client(ledger=ledger) as client,
        pytest.raises(WrongArgument, match=r"no series: it has no periods, call answer\(\)"),
    ):
        client.next_due(client.join(server.campaign))


def test_the_async_twin_does_the_same(ledger: Path) -> None:
    server = FakeServer(OS, series=Hourly(slots=2))

    async def go() -> datetime | None:
        async with server.async_client(ledger=ledger) as client:
            series = await client.join(server.campaign)
            server.travel_to(await client.next_due(series))
            assert (await client.answer(series, "linux")).status is AnswerStatus.RECORDED
            assert (await client.flush()).delivered == 1
            return await client.next_due(series)

    due = asyncio.run(go())
    assert due is not None
    assert due.tzinfo is UTC
    assert len(server.received) == 1


def test_a_fault_is_retried_and_counted_once(ledger: Path) -> None:
    server = FakeServer(OS)
    with server.client(ledger=ledger) as client:
        campaign = client.join(server.campaign)
        client.answer(campaign, "linux")
        server.fail(503, retry_after=60, times=2)
        flushed = client.flush(patience_s=0)
        assert flushed.trouble == "HTTP 503 (overloaded)"
        assert flushed.retry_in_s is not None
        assert flushed.retry_in_s >= 60
        server.lose_answers(1)
        server.travel(days=1)
        assert client.flush(patience_s=10 * 86_400).delivered == 1
    assert len(server.received) == 1
    assert [made.method for made in server.requests].count("POST") == 4


def test_a_server_that_ends_refuses_what_comes_after(ledger: Path) -> None:
    server = FakeServer(OS)
    with server.client(ledger=ledger) as client:
        campaign = client.join(server.campaign)
        client.answer(campaign, "linux")
        server.end()
        [refused] = client.flush().refused
        assert refused.reason == "round-not-open"
    assert server.received == []


@pytest.mark.parametrize("about", ["epsilon", "manifest", "plan"])
def test_a_lie_is_refused_and_spends_nothing(ledger: Path, about: str) -> None:
    server = FakeServer(OS, epsilon=1)
    server.lies(about)
    with server.client(ledger=ledger) as client:
        with pytest.raises(PlanRefused):
            client.answer(client.join(server.campaign), "linux")
        assert client.account().lifetime_nano == 0
        server.lies()
        assert client.answer(client.join(server.campaign), "linux").status is AnswerStatus.RECORDED


def test_a_clock_that_lies_prevents_an_answer_of_a_series(ledger: Path) -> None:
    server = FakeServer(OS, series=Daily(slots=1))
    with server.client(ledger=ledger) as client:
        series = client.join(server.campaign)
        server.lies("clock")
        assert client.answer(series, "linux").status is AnswerStatus.CLOCK_DIFFERS
        server.lies()
        assert client.answer(series, "linux").status is AnswerStatus.RECORDED


def test_no_request_depends_on_the_value(tmp_path: Path) -> None:
    """Also of a value that the domain does not list."""
    made = []
    for value in ("linux", "windows", "amiga"):
        server = FakeServer(OS)
        with server.client(ledger=tmp_path / value, strict=False) as client:
            client.answer(client.join(server.campaign), value)
            client.flush()
        made.append(server.requests)
    assert made[0] == made[1] == made[2]
    assert [request.body_bytes is not None for request in made[0]].count(True) == 1


def test_the_clients_are_strict_and_take_the_apps_caps(ledger: Path) -> None:
    server = FakeServer(STARTUP, epsilon=2)
    with server.client(ledger=ledger, caps=Caps.of(1, days=28, lifetime=12)) as client:
        campaign = client.join(server.campaign)
        with pytest.raises(NotListed):
            client.answer(campaign, "fast")
        with pytest.raises(BudgetExceeded):
            client.answer(campaign, 300)


def test_arms_are_drawn_and_reported(tmp_path: Path) -> None:
    server, seen = FakeServer(OS, arms=("A", "B", "C")), []
    for seed in range(12):
        with server.client(ledger=tmp_path / str(seed), randomness=ShakeRandomness(seed)) as client:
            campaign = client.join(server.campaign)
            seen.append(client.arm(campaign))
            client.answer(campaign, "linux")
            client.flush()
    assert ["ABC"[report.arm] for report in server.received] == seen
    assert set(seen) == {"A", "B", "C"}


def test_a_campaign_is_found_in_its_list(ledger: Path) -> None:
    server = FakeServer(OS, population="app users")
    with server.client(ledger=ledger) as client:
        found = client.find("app users", lambda manifest: True)
        if not found.looked:
            server.travel(days=2)
            found = client.find("app users", lambda manifest: True)
        assert list(found.joined) == [server.campaign]


@pytest.mark.parametrize(
    "domain",
    [Domain((Integers("size", 0, 5_000),)), Domain((Integers("size", 0, 2**40), Integers("age", 0, 2**20)))],
    ids=["5,001 cells", "2^60 cells"],
)
def test_a_large_domain_needs_no_randomizer(ledger: Path, domain: Domain) -> None:
    server = FakeServer(domain, epsilon="0.5")
    with server.client(ledger=ledger) as client:
        campaign = client.join(server.campaign)
        value = {attribute.name: 17 for attribute in domain.attributes}
        assert client.answer(campaign, value).guarantee == PureEpsilon.of("0.5")
        assert client.flush().delivered == 1


def test_a_domain_beyond_2_64_cells_takes_a_randomizer_or_says_so(ledger: Path) -> None:
    domain = Domain(tuple(Integers(name, 0, 2**40) for name in ("a", "b")))
    with pytest.raises(WrongArgument, match="a domain of 2\\^80 cells needs a randomizer of its own"):
        FakeServer(domain)
    server = FakeServer(OS, randomizer=SubsetSelection.for_guarantee(OS.size, 2, PureEpsilon.of(1)))
    with server.client(ledger=ledger) as client:
        client.answer(client.join(server.campaign), "linux")
        assert client.flush().delivered == 1


def test_two_clients_of_one_ledger_answer_and_send_once(ledger: Path) -> None:
    """As two processes of an app do: what one spends, the other cannot, and what one sends the other does not."""
    server, other, caps = FakeServer(OS), FakeServer(STARTUP), Caps.of(1, days=28, lifetime=12)
    with server.client(ledger=ledger, caps=caps) as first, server.client(ledger=ledger, caps=caps) as second:
        campaign = first.join(server.campaign)
        assert first.answer(campaign, "linux").status is AnswerStatus.RECORDED
        assert second.answer(second.join(server.campaign), "macos").status is AnswerStatus.ALREADY_ANSWERED
        assert (second.flush().delivered, first.flush().delivered) == (1, 0)
        with other.client(ledger=ledger, caps=caps) as third, pytest.raises(BudgetExceeded):
            third.answer(third.join(other.campaign), 300)
    assert len(server.received) == 1


def test_travelling_back_frees_no_budget(tmp_path: Path) -> None:
    first, second = FakeServer(OS), FakeServer(STARTUP)
    caps, ledger = Caps.of(1, days=28, lifetime=12), tmp_path / "ledger"
    with first.client(ledger=ledger, caps=caps) as client:
        client.answer(client.join(first.campaign), "linux")
    second.travel(days=-300)
    with second.client(ledger=ledger, caps=caps) as client, pytest.raises(BudgetExceeded):
        client.answer(client.join(second.campaign), 300)


def test_an_unknown_campaign_and_a_connection_that_is_gone(ledger: Path) -> None:
    server = FakeServer(OS)
    with server.client(ledger=ledger) as client:
        with pytest.raises(PlanUnavailable, match="not-found"):
            client.join("ab" * 32)
        server.offline()
        with pytest.raises(PlanUnavailable) as failed:
            client.join(server.campaign)
        assert isinstance(failed.value.__cause__, TransportFailed)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda server: server.fail(200), "a status from 400 to 599"),
        (lambda server: server.fail("teapot"), "the name of a problem, not 'teapot'"),
        (lambda server: server.lies("weather"), "lies about epsilon, manifest, plan, clock, log, not weather"),
        (lambda server: server.pause(), r"one round and no periods: pass series=Weekly\(slots=4\)"),
        (lambda server: server.travel_to(None), "travel to a datetime with a zone"),
        (lambda server: server.travel_to(datetime(2027, 1, 1)), "travel to a datetime with a zone"),
        (lambda server: server.travel(days=10**9), "before 10000"),
        (lambda server: FakeServer(OS, epsilon=0), "must be above 0"),
        (lambda server: FakeServer(OS, epsilon=40), "from 0.001 to 16"),
        (lambda server: FakeServer(OS, series=Daily(slots=7, value_of="next")), "value_of is .current. or .previous."),
        (lambda server: FakeServer(OS, arms=("A",)), "one arm compares nothing"),
        (lambda server: FakeServer(OS, epsilon=".001").lies("epsilon"), "an epsilon of .002 or more"),
    ],
)
def test_a_wrong_call_says_what_to_write(wrong, message: str) -> None:
    with pytest.raises(WrongArgument, match=message):
        wrong(FakeServer(OS))


def test_a_proxys_page_is_no_word_of_the_protocol(ledger: Path) -> None:
    server = FakeServer(OS)
    with server.client(ledger=ledger) as client:
        client.answer(client.join(server.campaign), "linux")
        server.fail(418)
        flushed = client.flush(patience_s=0)
        assert flushed.trouble == "HTTP 418"
        server.travel(seconds=flushed.retry_in_s or 0)
        assert client.flush().delivered == 1


def test_an_app_that_pins_the_log_of_the_fake_server_joins_and_tells_it(ledger: Path) -> None:
    server = FakeServer(OS)
    with server.client(ledger=ledger, log=server.log, witnesses=[server.witness]) as client:
        client.join(server.campaign)
        assert client.answer(server.campaign, "linux").status is AnswerStatus.RECORDED
        told = str(client.account())
    assert "log: entry 1 of 1, seen by 1 witness" in told
    asked = [made.path for made in server.requests if "log" in made.path]
    assert asked == [f"/v1/campaigns/{server.campaign}/log-proof", "/v1/log/days"]
    # Whatever else came to the log meanwhile, this ledger finds its day in the list.
    server.travel(days=3)
    server.lies("epsilon")
    other = server.campaign
    with server.client(ledger=ledger, log=server.log) as client:
        client.join(other)
        assert "log: entry 2 of 2" in str(client.account())


@pytest.mark.parametrize("policy", ["require", "prefer"])
def test_a_fake_server_that_holds_the_proof_back_is_joined_later_or_without_it(ledger: Path, policy: str) -> None:
    server = FakeServer(OS)
    server.hold_back_proof()
    with server.client(ledger=ledger, log=server.log, log_policy=policy) as client:
        if policy == "require":
            with pytest.raises(PlanUnavailable, match="log proof"):
                client.join(server.campaign)
        else:
            client.join(server.campaign)
            assert "not in the public log yet" in str(client.account())
        server.show_proof()
        server.travel(days=2)
        client.join(server.campaign)
        client.answer(server.campaign, "linux")
        assert "log: entry 1 of 1" in str(client.account())


def test_a_fake_server_whose_log_lies_is_refused(ledger: Path) -> None:
    server = FakeServer(OS)
    server.lies("log")
    with server.client(ledger=ledger, log=server.log) as client, pytest.raises(PlanRefused, match="other things"):
        client.join(server.campaign)
    stranger = FakeServer(OS, name="other")
    stranger.lies("log")
    with stranger.client(ledger=ledger) as client:
        client.join(stranger.campaign)
