"""Retries: identical bytes, Retry-After honoured, jitter within the task's window, and never a loss."""

from __future__ import annotations

import dataclasses
import sqlite3
from contextlib import closing
from email.utils import formatdate

import httpx
import pytest

from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_client import _sending
from sordino_client._delivery import RetryLater, delay_s
from sordino_shared.protocol import (
    Problem,
    RefusedReport,
    ReportOutcomes,
    RetryWindow,
)
from sordino_shared.protocol.codec import encode_value, read_value
from sordino_shared.protocol.reports import Refusal


@pytest.fixture
def answered(world, client):
    client.answer(client.join(world.campaign), "red")
    return client


# One report in all, and the one that is refused would be the sixth.
_OF_ANOTHER_REPORT = encode_value(
    read_value(ReportOutcomes(0, 0, (RefusedReport(0, Refusal.ID_CONFLICT),)).content, ReportOutcomes.limit)
    | {"refused": [{"index": 5, "reason": "report-id-conflict"}]}
)
TROUBLES = [
    httpx.ConnectError("no route"),
    httpx.ReadTimeout("the response was lost"),
    httpx.RemoteProtocolError("cut"),
    httpx.Response(500),
    httpx.Response(502, content=b"<html>"),
    httpx.Response(404, content=b"<html>a proxy's own page"),
    httpx.Response(302, headers={"Location": "https://elsewhere.example/"}),
    httpx.Response(200, content=b"OK"),
    httpx.Response(200, content=ReportOutcomes(2, 0, ()).content),
    httpx.Response(200, content=ReportOutcomes(5, 0, (RefusedReport(5, Refusal.ID_CONFLICT),)).content),
    httpx.Response(200, content=_OF_ANOTHER_REPORT),
    httpx.Response(200, content=bytes(ReportOutcomes.limit + 1)),
    httpx.Response(401),
    httpx.Response(413),
    httpx.Response(429),
]


@pytest.mark.parametrize("trouble", TROUBLES, ids=str)
def test_every_trouble_is_retried_with_the_same_bytes(world, answered, clock, trouble) -> None:
    world.replies = [trouble, trouble]
    flushed = answered.flush(patience_s=60)
    assert (flushed.delivered, flushed.waiting, flushed.refused) == (1, 0, ())
    assert flushed.trouble
    assert len(world.bodies) == 3
    assert len(set(world.bodies)) == 1
    assert len(world.counted) == 1
    first, second = clock.slept
    assert 4 <= first <= 8
    assert 8 <= second <= 16


def test_without_patience_the_report_waits_for_the_next_flush(world, answered, clock) -> None:
    world.replies = [httpx.ConnectError("no route")]
    flushed = answered.flush(patience_s=0)
    assert (flushed.delivered, flushed.waiting) == (0, 1)
    assert 4 <= flushed.retry_in_s <= 8
    assert answered.flush(patience_s=0).waiting == 1
    assert len(world.bodies) == 1
    clock.time += 8
    assert answered.flush(patience_s=0).delivered == 1
    assert clock.slept == []


@pytest.mark.parametrize(
    "problem", [Problem.OVERLOADED, Problem.UNAVAILABLE, Problem.STORAGE_FULL, Problem.RATE_LIMITED]
)
def test_retry_after_is_honoured_even_by_a_restarted_app(world, answered, make_client, clock, problem) -> None:
    world.replies = [world.problem(problem, Retry_After="120")]
    flushed = answered.flush()
    assert (flushed.waiting, flushed.trouble) == (1, f"HTTP {problem.status} ({problem.slug})")
    assert 120 <= flushed.retry_in_s <= 128
    answered.close()
    clock.time += 119
    assert make_client().flush(patience_s=0).waiting == 1
    assert len(world.bodies) == 1
    clock.time += 10
    assert make_client().flush(patience_s=0).delivered == 1


@pytest.mark.parametrize(("after_s", "low", "high"), [(None, 4, 8), (120.0, 120, 128)])
def test_a_fleet_that_was_told_the_same_does_not_come_back_together(after_s, low, high) -> None:
    """Nor where Retry-After names one second: of a hundred devices some are in each eighth of the window."""
    delays = [delay_s(RetryWindow(4, 8), 0, after_s, SeededRandomness(seed)) for seed in range(100)]
    places = [(delay - low) / (high - low) for delay in delays]
    assert 0 <= min(places) <= max(places) <= 1
    assert {min(int(8 * place), 7) for place in places} == set(range(8))


@pytest.mark.parametrize("problem", [Problem.OVERLOADED, Problem.UNAUTHORIZED])
def test_a_ledger_forgets_how_long_it_was_told_to_wait(world, answered, ledger, clock, problem) -> None:
    """Of a server or of one report: else a device of many years has a row for each."""

    def noted() -> int:
        with closing(sqlite3.connect(ledger)) as raw:
            (count,) = raw.execute("SELECT count(*) FROM trouble WHERE code LIKE 'retry-after %'").fetchone()
        return int(count)

    world.replies = [world.problem(problem, Retry_After="120")]
    assert (answered.flush().waiting, noted()) == (1, 1)
    clock.time += 140
    assert (answered.flush(patience_s=0).delivered, noted()) == (1, 0)


def test_retry_after_as_a_date(world, answered, clock) -> None:
    world.replies = [world.problem(Problem.OVERLOADED, Retry_After=formatdate(clock.time + 300, usegmt=True))]
    assert 300 <= answered.flush().retry_in_s <= 308


@pytest.mark.parametrize("header", ["soon", "-5", "1e9", "99999999999999999999", "²", ""])
def test_an_unreadable_or_absurd_retry_after_does_not_stop_the_device(world, answered, header) -> None:
    world.replies = [world.problem(Problem.OVERLOADED)]
    if header.isascii():
        world.replies[0].headers["Retry-After"] = header
    assert 0 < answered.flush(patience_s=0).retry_in_s <= 2 * 86_400


def test_a_clock_set_back_does_not_hold_reports_for_ever(world, answered, clock) -> None:
    world.replies = [world.problem(Problem.OVERLOADED, Retry_After="120")]
    answered.flush()
    clock.time -= 400 * 86_400
    assert answered.flush(patience_s=0).delivered == 1


def test_a_window_of_zero_is_not_a_busy_loop(world, client, clock) -> None:
    world.task = dataclasses.replace(world.task, retry=RetryWindow(0, 0))
    client.answer(client.join(world.campaign), "red")
    world.replies = [httpx.ConnectError("no route")] * 100
    assert client.flush(patience_s=10).waiting == 1
    assert len(world.bodies) <= 6
    assert all(slept >= 1 for slept in clock.slept)


@pytest.mark.parametrize(
    "problem",
    [Problem.NOT_FOUND, Problem.ROUND_NOT_OPEN, Problem.PLAN_MISMATCH, Problem.INVALID_REQUEST],
)
def test_the_protocols_own_refusals_are_final(world, answered, problem) -> None:
    world.replies = [world.problem(problem)]
    flushed = answered.flush()
    assert [refused.reason for refused in flushed.refused] == [problem.slug]
    assert flushed.waiting == 0


@pytest.mark.parametrize("reason", list(Refusal))
def test_a_single_refused_report_is_final(world, answered, reason) -> None:
    outcomes = ReportOutcomes(0, 0, (RefusedReport(0, reason),))
    world.replies = [httpx.Response(200, content=outcomes.content)]
    assert [refused.reason for refused in answered.flush().refused] == [reason.value]


def test_a_replay_counts_as_delivered(world, answered) -> None:
    world.replies = [httpx.Response(200, content=ReportOutcomes(0, 1, ()).content)]
    assert answered.flush().delivered == 1


def test_the_first_word_on_a_report_stands(world, answered, make_client) -> None:
    """Two flushes at once: one is told "counted", the other, later, that the round has closed."""
    handle, other = world.handle, make_client()

    def race(request: httpx.Request) -> httpx.Response:
        world.handle = handle
        other.flush()
        return world.problem(Problem.ROUND_NOT_OPEN)

    world.handle = race
    make_client().flush()
    assert answered.account().campaigns[0].entries[0].state == "delivered"


def test_one_report_in_trouble_does_not_hold_up_another(world, make_client) -> None:
    client = make_client()
    client.answer(client.join(world.campaign), "red")
    twin = type(world)(world.part, created_at=1_700_000_001)
    other = make_client(twin)
    other.answer(other.join(twin.campaign), "red")
    world.replies = [httpx.Response(500)]
    flushed = client.flush(patience_s=0)
    assert (flushed.delivered, flushed.waiting) == (1, 1)


def test_an_overloaded_server_is_left_alone_by_every_report(world, make_client) -> None:
    client = make_client()
    client.answer(client.join(world.campaign), "red")
    twin = type(world)(world.part, created_at=1_700_000_001)
    other = make_client(twin)
    other.answer(other.join(twin.campaign), "red")
    world.replies = [world.problem(Problem.OVERLOADED)]
    assert client.flush(patience_s=0).waiting == 2
    assert len(world.bodies) == 1


def test_the_upload_token_goes_with_reports_only(world, make_client) -> None:
    client = make_client(upload_token="sdo_uploader_1_secret")
    client.answer(client.join(world.campaign), "red")
    client.flush()
    tokens = [request.headers.get("Authorization") for request in world.requests]
    assert tokens == [None, None, None, None, "Bearer sdo_uploader_1_secret"]
    with pytest.raises(ValueError, match="upload token"):
        make_client(upload_token="two words")


@pytest.mark.parametrize("problem", [Problem.UNAUTHORIZED, Problem.FORBIDDEN, httpx.Response(403, content=b"<html>")])
def test_a_token_that_is_not_taken_is_tried_for_thirty_days_and_no_longer(world, answered, clock, problem) -> None:
    def reply() -> httpx.Response:
        return problem if isinstance(problem, httpx.Response) else world.problem(problem)

    start = clock.time
    while answered.account().campaigns[0].entries[0].state == "spooled":
        assert clock.time - start <= 33 * 86_400, "it is tried for ever"
        world.replies = [reply()]
        answered.flush(patience_s=0)
        clock.time += 86_400
    assert clock.time - start > 30 * 86_400
    assert len(world.bodies) >= 16
    entry = answered.account().campaigns[0].entries[0]
    assert (entry.state, entry.epsilon_nano) == ("refused", 10**9)
    assert entry.reason.startswith(f"HTTP {reply().status_code}")
    assert answered.flush().waiting == 0


def test_a_token_that_is_mended_in_time_delivers(world, make_client, clock) -> None:
    client = make_client(upload_token="stale")
    client.answer(client.join(world.campaign), "red")
    world.replies = [world.problem(Problem.UNAUTHORIZED)]
    assert client.flush(patience_s=0).trouble == "HTTP 401 (unauthorized)"
    clock.time += 29 * 86_400
    assert make_client(upload_token="fresh").flush().delivered == 1


def test_one_campaigns_token_holds_up_no_other_campaign(world, make_client) -> None:
    client = make_client()
    client.answer(client.join(world.campaign), "red")
    twin = type(world)(world.part, created_at=1_700_000_001)
    other = make_client(twin)
    other.answer(other.join(twin.campaign), "red")
    world.replies = [world.problem(Problem.UNAUTHORIZED)]
    flushed = client.flush(patience_s=0)
    assert (flushed.delivered, flushed.waiting) == (1, 1)


def test_what_waits_says_when_it_was_tried_and_what_it_met_in_later_flushes_too(
    world, answered, make_client, clock
) -> None:
    """Nothing is due at the second flush, nor in a restarted app: the ledger keeps what the last try met."""
    world.replies = [httpx.ConnectError("no route")]
    first = answered.flush(patience_s=0)
    tried = clock.time
    answered.close()
    clock.time += 2
    again = make_client()
    second = again.flush(patience_s=0)
    [entry] = again.account().campaigns[0].entries
    assert "no route" in entry.reason
    assert second.trouble == first.trouble == entry.reason
    assert (second.waiting, second.tried_at) == (1, tried)
    assert 2 <= second.retry_in_s <= 6
    said = str(second)
    assert said.startswith("0 reports delivered, 0 refused, 1 waiting; the last try, at 2027-01-15 08:00:00 UTC, met: ")
    assert f"met: {entry.reason}; the next try is in " in said
    assert f"waits to be sent: {entry.reason}" in str(again.account())
    clock.time += 8
    third = again.flush(patience_s=0)
    assert (third.delivered, third.waiting, third.trouble, third.tried_at) == (1, 0, None, None)
    assert str(third) == "1 report delivered, 0 refused, 0 waiting"
    assert again.account().campaigns[0].entries[0].reason is None


def test_a_report_that_was_never_tried_says_why_it_waits(world, make_client, clock) -> None:
    client = make_client(background=True)
    client._background.close()
    client.answer(client.join(world.campaign), "red")
    flushed = client.flush(patience_s=0)
    assert (flushed.waiting, flushed.trouble, flushed.tried_at) == (1, None, None)
    assert "none was tried yet: each has a time drawn from its campaign's retry window; the next try is in" in str(
        flushed
    )


def test_a_client_that_sends_nothing_says_why(world, make_client) -> None:
    client = make_client()
    client.answer(client.join(world.campaign), "red")
    silent = make_client(dry_run=True).flush()
    assert str(silent) == "0 reports delivered, 0 refused, 1 waiting; a dry run sends nothing"


def test_what_a_server_says_is_one_short_line_of_the_account(world, answered, monkeypatch) -> None:
    forged = RetryLater("x\nspent for life: \u202eε 0 of 40" + "y" * 1000, None, everything=False)
    monkeypatch.setattr(_sending, "read_upload", lambda *_: forged)
    answered.flush(patience_s=0)
    [entry] = answered.account().campaigns[0].entries
    assert entry.reason.isprintable()
    assert len(entry.reason) == 300
    assert sum(line.startswith("spent for life") for line in str(answered.account()).splitlines()) == 1


def test_now_tries_each_report_once_whatever_its_time(world, answered, clock) -> None:
    world.replies = [httpx.ConnectError("no route"), httpx.ConnectError("no route")]
    answered.flush(patience_s=0)
    # Tried this very moment: nothing is sent.
    assert answered.flush(now=True).waiting == 1
    assert len(world.bodies) == 1
    world.replies = []
    clock.time += 60
    assert answered.flush(now=True).delivered == 1
    assert clock.slept == []


def test_now_is_at_most_once_a_minute(world, make_client, clock) -> None:
    client = make_client()
    client.answer(client.join(world.campaign), "red")
    world.replies = [httpx.Response(500)] * 9
    client.flush(patience_s=0)
    tries = []
    for _ in range(240):
        clock.time += 1
        before = len(world.bodies)
        client._device._spool.postpone(*_postponed(client, clock))
        client.flush(now=True)
        tries += [clock.time] * (len(world.bodies) - before)
    assert len(tries) <= 4


def _postponed(client, clock):
    """Far away, and not tried for long: what the minute alone holds back."""
    _, report = client._device._spool.next()
    with client._device._storage.write() as connection:
        connection.execute("UPDATE reports SET tried_at = NULL")
    return report, RetryLater("far away", None, everything=False), SeededRandomness(1)


@pytest.mark.parametrize("status", [429, 503, 500])
def test_now_is_never_before_the_time_that_the_server_asked_for(world, answered, clock, status) -> None:
    world.replies = [httpx.Response(status, headers={"Retry-After": "600"})]
    answered.flush(patience_s=0)
    for _ in range(9):
        clock.time += 61
        assert answered.flush(now=True).waiting == 1
    assert len(world.bodies) == 1
    clock.time += 60
    assert answered.flush(now=True).delivered == 1


def test_a_time_of_a_clock_that_was_set_back_holds_nothing_back(world, answered, clock) -> None:
    world.replies = [httpx.Response(503, headers={"Retry-After": "600"})]
    answered.flush(patience_s=0)
    clock.time -= 40 * 86_400
    assert answered.flush(now=True).delivered == 1


def test_now_waits_for_no_time_of_the_retry_window(world, make_client, clock) -> None:
    """What sends by itself gives each report a time from the first."""
    client = make_client()
    client.answer(client.join(world.campaign), "red")
    client._device._spool.put_off(world.campaign, SeededRandomness(1))
    assert client.flush(patience_s=0).waiting == 1
    assert client.flush(now=True).delivered == 1
