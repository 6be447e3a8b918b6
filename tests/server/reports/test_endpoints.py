"""The route for reports: what it answers, what it refuses, and that nothing refused is lost from the counters."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from sordino_server.kit.clock import ManualClock
from sordino_server.reports import ReportWriter
from sordino_server.reports import repository as reports
from sordino_server.reports import upload_endpoint as front_door
from sordino_shared.protocol import CBOR_MEDIA_TYPE, PROBLEM_MEDIA_TYPE, Digest, ReportBatch, ReportOutcomes


def assert_problem(response: httpx.Response, status: int, slug: str) -> None:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == PROBLEM_MEDIA_TYPE
    assert response.json()["type"] == f"/problems/{slug}"


def test_outcomes_are_a_document(door: Any):
    response = door.post(door.batch({1: 10, 2: 255, 3: 11}))
    assert response.status_code == 200
    assert response.headers["content-type"] == CBOR_MEDIA_TYPE
    outcomes = ReportOutcomes.read(response.content)
    assert (outcomes.accepted, outcomes.replayed, [refused.index for refused in outcomes.refused]) == (2, 0, [1])
    assert ReportOutcomes.read(door.post(door.batch({1: 10})).content).replayed == 1
    assert door.count() == 2


def test_a_media_type_with_parameters_is_the_same_type(door: Any):
    assert door.post(door.batch({1: 1}), content_type="Application/CBOR; charset=x").status_code == 200


@pytest.mark.parametrize(
    ("headers", "body", "status", "slug"),
    [
        ({"content_type": "application/json"}, b"{}", 415, "unsupported-media-type"),
        ({"content_type": ""}, b"{}", 415, "unsupported-media-type"),
        ({"content_encoding": "gzip"}, b"x", 415, "unsupported-media-type"),
        ({}, b"", 400, "malformed-body"),
        ({}, b"\xff\x00", 400, "malformed-body"),
        ({}, b"x" * (ReportBatch.limit + 1), 413, "too-large"),
    ],
)
def test_what_cannot_be_read_is_refused_and_counted(door: Any, headers, body, status, slug):
    assert_problem(door.post(body, **headers), status, slug)
    assert door.refusals() == {slug: 1}
    assert door.count() == 0


def test_an_endless_body_is_given_up_at_the_limit(door: Any):
    taken = []

    async def endless():
        while True:
            taken.append(1)
            yield bytes(1 << 20)

    assert_problem(door.post(endless()), 413, "too-large")
    assert len(taken) <= ReportBatch.limit // (1 << 20) + 2


@pytest.mark.parametrize("sent", [b"", b"\xa5"])
def test_a_body_that_does_not_come_is_given_up(door: Any, sent):
    async def stalled():
        yield sent
        await asyncio.sleep(60)

    response = door.post(stalled())
    assert_problem(response, 408, "request-timeout")
    assert response.headers["connection"] == "close"
    assert door.refusals() == {"request-timeout": 1}


def test_bodies_on_their_way_have_one_limit_together(door: Any, monkeypatch: pytest.MonkeyPatch):
    """What still fits passes meanwhile, and what was held is given back."""
    monkeypatch.setattr(front_door, "MAX_ARRIVING_BYTES", 5000)
    begun = asyncio.Event()

    async def stalled():
        yield bytes(4000)
        begun.set()
        await asyncio.sleep(60)

    async def pieces(body):
        yield body[:-1]
        yield body[-1:]

    async def meet() -> list[httpx.Response]:
        first = asyncio.ensure_future(door.send(stalled()))
        await begun.wait()
        large = door.batch(dict.fromkeys(range(100), 1))
        others = [await door.send(body) for body in (pieces(large), pieces(door.batch({200: 1})))]
        return [await first, *others, await door.send(pieces(large))]

    answers = asyncio.run(meet())
    assert [answer.status_code for answer in answers] == [408, 503, 200, 200]
    assert_problem(answers[1], 503, "overloaded")
    assert {"retry-after", "connection"} <= answers[1].headers.keys()
    assert door.refusals() == {"overloaded": 1, "request-timeout": 1}
    assert door.count() == 101


def test_other_methods_and_words_for_numbers_are_refused_by_the_routes(door: Any):
    assert_problem(door.post(door.batch({1: 1}), door.path.replace("rounds/0", "rounds/zero")), 422, "invalid-request")
    assert_problem(door.post(door.batch({1: 1}), door.path + "/0"), 404, "not-found")


def test_a_body_in_pieces_is_one_body(door: Any):
    body = door.batch({1: 1, 2: 2})

    async def pieces():
        for start in range(0, len(body), 7):
            yield body[start : start + 7]

    assert ReportOutcomes.read(door.post(pieces()).content).accepted == 2


def test_a_truncated_document_is_malformed(door: Any):
    assert_problem(door.post(door.batch({1: 10})[:-1]), 400, "malformed-body")


def test_an_arm_that_the_campaign_does_not_have_is_refused_for_good(door: Any):
    batch = ReportBatch.read(door.batch({1: 1}))
    for arm in (1, 15):
        response = door.post(ReportBatch(batch.device_digest, batch.ids, batch.payloads, arm).content)
        assert (response.status_code, response.json()["type"]) == (422, "/problems/invalid-request")
        assert f"no arm {arm}; send the reports as arm 0" in response.json()["detail"]
    assert door.post(batch.content).status_code == 200
    assert door.refusals() == {"invalid-request": 2}


def test_another_plan_and_a_closed_round_are_conflicts(door: Any):
    assert_problem(door.post(door.batch({1: 1, 2: 2}, Digest.of(b"other"))), 409, "plan-mismatch")
    assert_problem(door.post(door.batch({1: 1}), door.path.replace("rounds/0", "rounds/1")), 404, "not-found")
    assert door.refusals() == {"plan-mismatch": 2, "not-found": 1}


@pytest.mark.parametrize("campaign", ["0" * 64, "0" * 63, "Z" * 64, "A" * 64])
def test_unknown_campaigns_are_not_found_and_not_counted(door: Any, campaign):
    path = f"/v1/campaigns/{campaign}/rounds/0/reports"
    assert_problem(door.post(door.batch({1: 1}), path), 404, "not-found")
    with door.database.read() as session:
        assert reports.refusals(session, [campaign]) == {campaign: {}}


def test_an_unreadable_request_to_an_unknown_campaign_has_no_counter(door: Any):
    path = f"/v1/campaigns/{'0' * 64}/rounds/0/reports"
    assert_problem(door.post(b"x", path), 400, "malformed-body")
    with door.database.read() as session:
        assert reports.refusals(session, ["0" * 64]) == {"0" * 64: {}}


@pytest.mark.parametrize("index", ["2147483648", "-1", "+1", "1.0", "00000000000", "9" * 18])
def test_round_numbers_that_cannot_be_are_not_found(door: Any, index):
    assert_problem(door.post(door.batch({1: 1}), door.path.replace("rounds/0", f"rounds/{index}")), 404, "not-found")


def test_a_server_that_is_shutting_down_says_so(door: Any):
    door.writer.close()
    assert_problem(door.post(door.batch({1: 1})), 503, "overloaded")


def test_a_full_queue_is_told_with_the_seconds_to_wait(door: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(door.writer, "_max_queued_bytes", 0)
    response = door.post(door.batch({1: 1}))
    assert_problem(response, 503, "overloaded")
    assert int(response.headers["retry-after"]) >= 1
    assert door.count() == 0
    monkeypatch.undo()
    assert door.post(door.batch({1: 1})).status_code == 200


def test_nobody_waits_for_a_connection_that_is_gone(door: Any):
    """The upload of a task that is cancelled before the commit is dropped or counted; others are answered."""

    async def both() -> int:
        writer = ReportWriter(door.database, ManualClock())
        first, second = (asyncio.ensure_future(writer.write(door.upload(number))) for number in (1, 2))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        writer.start()
        accepted = (await second).accepted
        await asyncio.to_thread(writer.close)
        return accepted

    assert asyncio.run(both()) == 1
    assert door.count() == 1
