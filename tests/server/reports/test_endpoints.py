"""The route for reports: what it answers, what it refuses, and that nothing refused is lost from the counters."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import httpx
import pytest
from fastapi import FastAPI

from sordino_server import aggregates, problem_details
from sordino_server.config import Settings
from sordino_server.context import Context
from sordino_server.kit.body_limit import BodyLimit
from sordino_server.kit.clock import ManualClock
from sordino_server.kit.db import Database
from sordino_server.reports import ReportWriter
from sordino_server.reports import repository as reports
from sordino_server.reports.admission import Admission
from sordino_server.reports.endpoints import router
from sordino_server.reports.front_door import FrontDoor
from sordino_shared.protocol import CBOR_MEDIA_TYPE, PROBLEM_MEDIA_TYPE, Digest, ReportBatch, ReportOutcomes

BODY_TIMEOUT_S = 0.2


class Door:
    """The route alone, in front of a real store."""

    def __init__(self, database: Database, stored) -> None:
        self.database = database
        self.stored = stored
        self.path = f"/v1/campaigns/{stored.campaign}/rounds/0/reports"
        self._app = FastAPI()
        self._app.include_router(router)
        self._app.add_middleware(FrontDoor, body_timeout_s=BODY_TIMEOUT_S)
        problem_details.install(self._app)
        self._app.state.admission = Admission(Context(Settings(), database, ManualClock()))
        self.writer = self._app.state.report_writer = ReportWriter(database, ManualClock()).start()

    def limit_bodies(self, limit: int) -> None:
        self._app.add_middleware(BodyLimit, limit=limit)

    def batch(self, reports: dict[int, int], digest: Digest | None = None) -> bytes:
        ids = b"".join(self.stored.report_id(number) for number in reports)
        payloads = bytes(reports.values())
        return ReportBatch(digest or self.stored.part.digest, ids, payloads).content

    def post(self, body, path: str | None = None, **headers: str) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(self._app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                types = {"content-type": CBOR_MEDIA_TYPE} | {
                    key.replace("_", "-"): value for key, value in headers.items()
                }
                return await client.post(path or self.path, content=body, headers=types)

        return asyncio.run(send())

    def refusals(self) -> dict[str, int]:
        with self.database.read() as session:
            return reports.refusals(session, self.stored.campaign)

    def count(self) -> int:
        with self.database.read() as session:
            return aggregates.counts_by_round(session, [self.stored.id])[self.stored.id]


@pytest.fixture
def door(migrated_sqlite_url: str, store_round) -> Iterator[Door]:
    database = Database(migrated_sqlite_url)
    door = Door(database, store_round(database))
    yield door
    door.writer.close()
    database.close()


def assert_problem(response: httpx.Response, status: int, slug: str) -> None:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == PROBLEM_MEDIA_TYPE
    assert response.json()["type"] == f"/problems/{slug}"


def test_outcomes_are_a_document(door: Door):
    response = door.post(door.batch({1: 10, 2: 255, 3: 11}))
    assert response.status_code == 200
    assert response.headers["content-type"] == CBOR_MEDIA_TYPE
    outcomes = ReportOutcomes.read(response.content)
    assert (outcomes.accepted, outcomes.replayed, [refused.index for refused in outcomes.refused]) == (2, 0, [1])
    assert ReportOutcomes.read(door.post(door.batch({1: 10})).content).replayed == 1
    assert door.count() == 2


def test_a_media_type_with_parameters_is_the_same_type(door: Door):
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
def test_what_cannot_be_read_is_refused_and_counted(door: Door, headers, body, status, slug):
    assert_problem(door.post(body, **headers), status, slug)
    assert door.refusals() == {slug: 1}
    assert door.count() == 0


@pytest.mark.parametrize("limit", [ReportBatch.limit, ReportBatch.limit + 1])
def test_a_body_beyond_the_limit_of_all_bodies_is_counted_too(door: Door, limit):
    """It comes in one piece, so that the middleware sees it first."""
    door.limit_bodies(limit)
    assert_problem(door.post(b"x" * (limit + 1)), 413, "too-large")
    assert door.refusals() == {"too-large": 1}


def test_an_endless_body_is_given_up_at_the_limit(door: Door):
    taken = []

    async def endless():
        while True:
            taken.append(1)
            yield bytes(1 << 20)

    assert_problem(door.post(endless()), 413, "too-large")
    assert len(taken) <= ReportBatch.limit // (1 << 20) + 2


@pytest.mark.parametrize("sent", [b"", b"\xa5"])
def test_a_body_that_does_not_come_is_given_up(door: Door, sent):
    async def stalled():
        yield sent
        await asyncio.sleep(60)

    response = door.post(stalled())
    assert_problem(response, 408, "request-timeout")
    assert response.headers["connection"] == "close"
    assert door.refusals() == {"request-timeout": 1}


def test_other_methods_and_words_for_numbers_are_refused_by_the_routes(door: Door):
    assert_problem(door.post(door.batch({1: 1}), door.path.replace("rounds/0", "rounds/zero")), 422, "invalid-request")
    assert_problem(door.post(door.batch({1: 1}), door.path + "/0"), 404, "not-found")


def test_a_body_in_pieces_is_one_body(door: Door):
    body = door.batch({1: 1, 2: 2})

    async def pieces():
        for start in range(0, len(body), 7):
            yield body[start : start + 7]

    assert ReportOutcomes.read(door.post(pieces()).content).accepted == 2


def test_a_truncated_document_is_malformed(door: Door):
    assert_problem(door.post(door.batch({1: 10})[:-1]), 400, "malformed-body")


def test_another_plan_and_a_closed_round_are_conflicts(door: Door):
    assert_problem(door.post(door.batch({1: 1, 2: 2}, Digest.of(b"other"))), 409, "plan-mismatch")
    assert_problem(door.post(door.batch({1: 1}), door.path.replace("rounds/0", "rounds/1")), 404, "not-found")
    assert door.refusals() == {"plan-mismatch": 2}


@pytest.mark.parametrize("campaign", ["0" * 64, "0" * 63, "Z" * 64, "A" * 64])
def test_unknown_campaigns_are_not_found_and_not_counted(door: Door, campaign):
    path = f"/v1/campaigns/{campaign}/rounds/0/reports"
    assert_problem(door.post(door.batch({1: 1}), path), 404, "not-found")
    with door.database.read() as session:
        assert reports.refusals(session, campaign) == {}


def test_an_unreadable_request_to_an_unknown_campaign_has_no_counter(door: Door):
    path = f"/v1/campaigns/{'0' * 64}/rounds/0/reports"
    assert_problem(door.post(b"x", path), 400, "malformed-body")
    with door.database.read() as session:
        assert reports.refusals(session, "0" * 64) == {}


@pytest.mark.parametrize("index", ["2147483648", "-1", "+1", "1.0", "00000000000", "9" * 18])
def test_round_numbers_that_cannot_be_are_not_found(door: Door, index):
    assert_problem(door.post(door.batch({1: 1}), door.path.replace("rounds/0", f"rounds/{index}")), 404, "not-found")


def test_a_server_that_is_shutting_down_says_so(door: Door):
    door.writer.close()
    assert_problem(door.post(door.batch({1: 1})), 503, "overloaded")
