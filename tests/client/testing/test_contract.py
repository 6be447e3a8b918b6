"""One contract for the fake and the real server: the same exchanges have the same outcomes.

The suite below runs on either; the scripts at the end are drawn by a seed and run on both, step by step.
"""

from __future__ import annotations

import json
import random
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sordino_client import HttpTransport, Request, Response, TransportFailed
from sordino_client.testing import Daily, FakeServer
from sordino_shared.protocol import (
    DevicePart,
    Digest,
    Manifest,
    ReportBatch,
    ReportOutcomes,
    Rotating,
    Task,
)
from tests.server.conftest import RunningServer, served

DAY = 86_400
SLOTS, LATE = 3, 3_600


class Side(ABC):
    """One campaign on one of the two servers."""

    manifest: Manifest
    part: DevicePart

    @abstractmethod
    def send(self, request: Request) -> Response: ...

    @abstractmethod
    def act(self, action: str) -> None:
        """`pause`, `resume` or `close`."""

    @abstractmethod
    def at(self, moment: int) -> None:
        """Set the clock to so many seconds after the start."""

    def get(self, path: str) -> Response:
        return self.send(Request(method="GET", path=path, limit=1 << 20))

    def task(self) -> Task:
        return Task.read(self.get(f"/v1/campaigns/{self.manifest.campaign}/task").content)

    def upload(self, number: int, body: bytes) -> Response:
        path = f"/v1/campaigns/{self.manifest.campaign}/rounds/{number}/reports"
        return self.send(Request(method="POST", path=path, limit=1 << 20, body=body))

    def report(self, number: int, *ids: int, **changes: Any) -> Response:
        """Reports of these ids to a round: payload 0 each, and what `changes` says otherwise."""
        return self.upload(number, self.batch(*ids, **changes))

    def batch(self, *ids: int, epoch: int | None = None, payloads: bytes | None = None, **changes: Any) -> bytes:
        epoch = self.task().epoch if epoch is None else epoch
        written = b"".join(epoch.to_bytes(2, "big") + identifier.to_bytes(14, "big") for identifier in ids)
        fields = {"device_digest": self.part.digest, "ids": written, "payloads": payloads or bytes(len(ids)), "arm": 0}
        return ReportBatch(**(fields | changes)).content


class FakeSide(Side):
    def __init__(self, real: RealSide) -> None:
        """The campaign that the real server has, in memory."""
        law = real.manifest.assignment
        series = Daily(slots=SLOTS, answers_max=12, late_s=LATE) if isinstance(law, Rotating) else None
        self._server = FakeServer(real.part.domain, epsilon=1, series=series, now=real.start)
        self.manifest = self._server.manifest
        self.part = DevicePart.read(self.get(f"/v1/plans/{self._server._served.part.digest}").content)

    def send(self, request: Request) -> Response:
        return self._server.send(request)

    def act(self, action: str) -> None:
        {"pause": self._server.pause, "resume": self._server.resume, "close": self._server.end}[action]()

    def at(self, moment: int) -> None:
        law = self.manifest.assignment
        start = law.start if isinstance(law, Rotating) else self.manifest.created_at
        self._server.travel_to(start + moment)


class RealSide(Side):
    def __init__(self, running: RunningServer, series: bool) -> None:
        self._running = running
        # Of the same second and the same terms there is one campaign.
        running.clock.advance(1)
        asked = {"slots": SLOTS, "answers_max": 12, "late_s": LATE} if series else None
        terms = {"name": "delays", "purpose": "We ask how late you were.", "population": "travellers"}
        order = terms | {"plan_request": _plan(running)} | ({"series": asked} if series else {})
        made = running.api.post("/v1/campaigns", json=order).raise_for_status().json()
        self._id = made["id"]
        self.act("open")
        self._transport = HttpTransport(running.address)
        self.manifest = Manifest.read(self.get(f"/v1/campaigns/{self._id}").content)
        plan = self.manifest.rounds[0].plan
        assert plan is not None
        self.part = DevicePart.read(self.get(f"/v1/plans/{plan.device}").content)
        law = self.manifest.assignment
        self.start = law.start if isinstance(law, Rotating) else running.clock.now()

    def send(self, request: Request) -> Response:
        return self._transport.send(request)

    def act(self, action: str) -> None:
        self._running.api.post(f"/v1/campaigns/{self._id}/{action}").raise_for_status()

    def at(self, moment: int) -> None:
        self._running.clock.advance(self.start + moment - self._running.clock.now())


def _plan(running: RunningServer) -> str:
    """One plan for all campaigns of the file's server."""
    known = running.api.get("/v1/plan-requests").json()["plan_requests"]
    return str(known[0]["id"] if known else running.ready_plan()["id"])


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[RunningServer]:
    """One server for the file: each test has a campaign of its own."""
    path = tmp_path_factory.mktemp("contract") / "server.sqlite3"
    shutil.copy(sqlite_template, path)
    with served(f"sqlite:///{path}") as server:
        yield server


def described(response: Response) -> object:
    """What an answer says, without what differs between two servers: titles, details and dates."""
    if response.status != 200:
        return response.status, json.loads(response.content)["type"]
    found = ReportOutcomes.read(response.content)
    return found.accepted, found.replayed, [(each.index, each.reason.value) for each in found.refused]


def both(running: RunningServer, series: bool) -> tuple[Side, Side]:
    real = RealSide(running, series)
    return real, FakeSide(real)


@pytest.fixture(params=["fake", "real"])
def campaign(request: pytest.FixtureRequest, running: RunningServer) -> Side:
    real, fake = both(running, series=False)
    return fake if request.param == "fake" else real


@pytest.fixture(params=["fake", "real"])
def series(request: pytest.FixtureRequest, running: RunningServer) -> Side:
    real, fake = both(running, series=True)
    side = fake if request.param == "fake" else real
    side.at(0)
    return side


def test_documents_are_those_that_their_digests_name(campaign: Side) -> None:
    manifest = campaign.get(f"/v1/campaigns/{campaign.manifest.campaign}")
    assert Manifest.read(manifest.content, campaign.manifest.campaign) == campaign.manifest
    assert manifest.headers["content-type"] == "application/cbor"
    assert "date" in manifest.headers
    [digest] = campaign.task().device_parts
    assert DevicePart.read(campaign.get(f"/v1/plans/{digest}").content, digest) == campaign.part


def test_a_report_is_counted_once(campaign: Side) -> None:
    assert described(campaign.report(0, 1, 2)) == (2, 0, [])
    assert described(campaign.report(0, 1, 2, 3)) == (1, 2, [])
    assert described(campaign.report(0, 4, 4)) == (1, 1, [])


def test_the_same_id_with_another_payload_is_a_conflict(campaign: Side) -> None:
    campaign.report(0, 1)
    assert described(campaign.report(0, 2, 1, payloads=b"\0\1")) == (1, 0, [(1, "report-id-conflict")])


def test_a_payload_that_no_device_sends_is_refused(campaign: Side) -> None:
    size = campaign.part.domain.size
    outside = bytes([0, size, size - 1, 255])
    refused = [(1, "payload-outside-alphabet"), (3, "payload-outside-alphabet")]
    assert described(campaign.report(0, 1, 2, 3, 4, payloads=outside)) == (2, 0, refused)
    assert described(campaign.report(0, 5, payloads=b"\0\0")) == (0, 0, [(0, "payload-outside-alphabet")])


def test_an_id_of_another_epoch_is_refused(campaign: Side) -> None:
    refused, other = (0, 0, [(0, "wrong-epoch")]), campaign.task().epoch ^ 1
    assert described(campaign.report(0, 1, epoch=other)) == refused
    assert described(campaign.report(0, 1, epoch=other, payloads=b"\xff")) == refused


def test_reports_of_another_plan_arm_round_or_campaign_are_refused(campaign: Side) -> None:
    assert described(campaign.report(0, 1, device_digest=Digest.of(b"other"))) == (409, "/problems/plan-mismatch")
    assert described(campaign.report(0, 1, arm=1)) == (422, "/problems/invalid-request")
    assert described(campaign.report(1, 1)) == (404, "/problems/not-found")
    path = f"/v1/campaigns/{'ab' * 32}/rounds/0/reports"
    elsewhere = Request(method="POST", path=path, limit=9999, body=campaign.batch(1))
    assert described(campaign.send(elsewhere)) == (404, "/problems/not-found")
    for path in (f"/v1/campaigns/{'ab' * 32}", f"/v1/campaigns/{'ab' * 32}/task", f"/v1/plans/{'ab' * 32}"):
        assert described(campaign.get(path)) == (404, "/problems/not-found")


def test_what_is_no_batch_is_refused(campaign: Side) -> None:
    for body in (b"", b"\xa0", campaign.batch(1)[:-1], campaign.batch(1) + b"\0"):
        assert described(campaign.upload(0, body)) == (400, "/problems/malformed-body")
    assert described(campaign.upload(0, bytes(ReportBatch.limit + 1))) == (413, "/problems/too-large")


def test_a_closed_campaign_takes_nothing_and_its_task_says_so(campaign: Side) -> None:
    campaign.report(0, 1)
    task = campaign.task()
    assert (task.state.value, task.round) == ("open", 0)
    campaign.act("close")
    assert described(campaign.report(0, 1)) == (409, "/problems/round-not-open")
    task = campaign.task()
    assert (task.state.value, task.round, task.answer_until) == ("closed", None, None)


def test_a_period_takes_reports_in_its_time_and_a_little_later(series: Side) -> None:
    closed = (409, "/problems/round-not-open")
    outcomes = {}
    for moment in (0, DAY - 1, DAY, DAY + LATE - 1, DAY + LATE):
        series.at(moment)
        outcomes[moment] = [described(series.report(n, moment + 1, epoch=n)) for n in (0, 1)]
    counted = (1, 0, [])
    assert outcomes == {
        0: [counted, closed], DAY - 1: [counted, closed], DAY: [counted, counted],
        DAY + LATE - 1: [counted, counted], DAY + LATE: [closed, counted],
    }  # fmt: skip


def test_a_period_takes_ids_of_its_own_epoch(series: Side) -> None:
    series.at(2 * DAY + LATE)
    assert described(series.report(2, 1, 2, epoch=2)) == (2, 0, [])
    assert described(series.report(2, 3, epoch=1)) == (0, 0, [(0, "wrong-epoch")])
    assert described(series.report(2, 3, epoch=3)) == (0, 0, [(0, "wrong-epoch")])


def test_a_paused_series_takes_nothing_until_it_goes_on(series: Side) -> None:
    series.act("pause")
    assert described(series.report(0, 1)) == (409, "/problems/round-not-open")
    assert (series.task().state.value, series.task().round) == ("open", None)
    series.act("resume")
    assert described(series.report(0, 1)) == (1, 0, [])
    assert series.task().round == 0
    series.act("close")
    assert described(series.report(0, 2)) == (409, "/problems/round-not-open")
    assert series.task().state.value == "closed"


def exchanges(rng: random.Random, size: int, steps: int) -> Iterator[tuple[str, Any]]:
    """A script: uploads of few ids, so that they meet again, with faults, and what an operator does."""
    moment, paused = 0, False
    for _ in range(steps):
        drawn = rng.random()
        if drawn < 0.1:
            moment += rng.choice((1, LATE, DAY // 2, DAY))
            yield "at", moment
        elif drawn < 0.15:
            paused = not paused
            yield "act", "pause" if paused else "resume"
        elif drawn < 0.25:
            yield "task", None
        else:
            ids = [rng.randrange(30) for _ in range(rng.choice((1, 1, 2, 5)))]
            width = rng.choice((1, 1, 1, 1, 1, 1, 1, 2))
            number = max(0, moment // DAY - rng.choice((0, 0, 0, 1, -1)))
            payloads = bytes(rng.choice((0, 1, size - 1, size)) for _ in range(width * len(ids)))
            changes = rng.choice(({},) * 8 + ({"arm": 1}, {"device_digest": Digest.of(b"other")}))
            epoch = max(0, number + rng.choice((0,) * 9 + (1,)))
            yield "report", (number, ids, {"epoch": epoch, "payloads": payloads, **changes})


def play(side: Side, kind: str, given: Any) -> object:
    if kind == "at":
        return side.at(given)
    if kind == "act":
        return side.act(given)
    if kind == "task":
        task = side.task()
        return task.state, task.round, task.epoch, task.retry, len(task.device_parts)
    number, ids, changes = given
    return described(side.report(number, *ids, **changes))


@pytest.mark.parametrize("seed", range(3))
def test_a_hundred_exchanges_of_a_series_have_the_same_outcomes(running: RunningServer, seed: int) -> None:
    real, fake = both(running, series=True)
    real.at(0)
    fake.at(0)
    seen = []
    for step, (kind, given) in enumerate(exchanges(random.Random(seed), real.part.domain.size, 100)):
        expected = play(real, kind, given)
        assert play(fake, kind, given) == expected, (step, kind, given)
        seen.append(expected)
    assert len({str(outcome) for outcome in seen}) > 10


def test_the_task_of_a_round_says_how_long_it_holds_offline(running: RunningServer) -> None:
    real, fake = both(running, series=False)
    assert fake.task().answer_until == real.task().answer_until
    assert fake.task().retry == real.task().retry


def test_what_is_unreachable_raises_the_same_error(running: RunningServer) -> None:
    server = FakeServer(both(running, series=False)[0].part.domain)
    server.offline()
    for transport in (server, HttpTransport("http://127.0.0.1:1")):
        with pytest.raises(TransportFailed):
            transport.send(Request(method="GET", path="/v1/x", limit=9))
