"""A server of protocol v1 in a few lines, a clock that tests move, and clients that talk to them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from sordino_analysis.vectorized.payloads import payload_rows
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_client import AsyncClient, AsyncHttpxTransport, Campaign, Caps, Client, HttpxTransport
from sordino_shared.domains import Categorical, Domain
from sordino_shared.errors import SordinoError
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import (
    CampaignState,
    DevicePart,
    Digest,
    EveryRound,
    Manifest,
    PlanReference,
    Problem,
    RefusedReport,
    ReportBatch,
    ReportOutcomes,
    RetryWindow,
    Rotating,
    RoundTerms,
    Task,
    ValueOf,
)
from sordino_shared.protocol.reports import Refusal
from sordino_shared.randomizers import RandomizedResponse
from sordino_shared.randomness import Randomness, SystemRandomness

ADDRESS = "https://telemetry.example"
DOMAIN = Domain((Categorical("colour", ("red", "green", "blue"), other=True),))


def device_part(epsilon: float = 1.0, domain: Domain = DOMAIN) -> DevicePart:
    guarantee = PureEpsilon.of(epsilon)
    return DevicePart(domain, guarantee, RandomizedResponse.for_guarantee(domain.size, guarantee))


class World:
    """One campaign and its server: what it serves can be changed, what it receives is kept."""

    def __init__(self, part: DevicePart | None = None, **manifest: Any) -> None:
        self.part = part or device_part()
        terms = RoundTerms(self.part.guarantee, PlanReference(self.part.digest, Digest.of(b"analyst")))
        fields: dict[str, Any] = {
            "name": "colours",
            "purpose": "Which colour the app is set to.",
            "population": "app users",
            "created_at": 1_700_000_000,
            "domain": self.part.domain,
            "device_guarantee": self.part.guarantee,
            "rounds": (terms,),
            "assignment": EveryRound(),
        }
        self.manifest = Manifest(**(fields | manifest))
        self.campaign = self.manifest.campaign
        self.manifest_content = self.manifest.content
        self.parts = {self.part.digest: self.part.content}
        self.task = Task(
            campaign=self.campaign,
            state=CampaignState.OPEN,
            round=0,
            device_parts=(self.part.digest,),
            epoch=7,
            retry=RetryWindow(min_s=4, max_s=8),
            answer_until=None,
            accept_until=None,
        )
        self.requests: list[httpx.Request] = []
        self.bodies: list[bytes] = []
        self.counted: dict[bytes, bytes] = {}
        self.replies: list[httpx.Response | Exception] = []

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        path = request.url.path
        if request.method == "POST":
            return self._receive(request)
        if path == f"/v1/campaigns/{self.campaign}":
            return httpx.Response(200, content=self.manifest_content)
        if path == f"/v1/campaigns/{self.campaign}/task":
            return httpx.Response(200, content=self.task.content)
        for digest, content in self.parts.items():
            if path == f"/v1/plans/{digest}":
                return httpx.Response(200, content=content)
        return self.problem(Problem.NOT_FOUND)

    def _receive(self, request: httpx.Request) -> httpx.Response:
        """Counts first, then answers as `replies` says: a lost response is a report that was counted."""
        self.bodies.append(request.content)
        try:
            batch = ReportBatch.read(request.content)
        except SordinoError:
            return self.problem(Problem.MALFORMED_BODY)
        outcomes = self._count(batch)
        if self.replies:
            reply = self.replies.pop(0)
            if isinstance(reply, Exception):
                raise reply
            return reply
        return httpx.Response(200, content=outcomes.content)

    def _count(self, batch: ReportBatch) -> ReportOutcomes:
        accepted, replayed, refused = 0, 0, []
        for index, (report, row) in enumerate(zip(batch.report_ids(), payload_rows(batch), strict=True)):
            known = self.counted.setdefault(report, row.tobytes())
            if known != row.tobytes():
                refused.append(RefusedReport(index, Refusal.ID_CONFLICT))
        accepted = batch.count - len(refused)
        return ReportOutcomes(accepted, replayed, tuple(refused))

    @staticmethod
    def problem(problem: Problem, **headers: str) -> httpx.Response:
        body = {"type": f"/problems/{problem.slug}", "title": problem.title, "status": problem.status, "detail": ""}
        return httpx.Response(
            problem.status,
            content=json.dumps(body).encode(),
            headers={
                "Content-Type": "application/problem+json",
                **{k.replace("_", "-"): v for k, v in headers.items()},
            },
        )


class ManualClock:
    """A clock that only tests and sleeping move."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds

    async def sleep_async(self, seconds: float) -> None:
        self.sleep(seconds)


CAPS = Caps(PureEpsilon.of(4), 30, PureEpsilon.of(40))


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def make_world() -> type[World]:
    return World


@pytest.fixture
def make_part() -> Callable[..., DevicePart]:
    return device_part


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite3"


@pytest.fixture
def make_client(world: World, clock: ManualClock, ledger: Path) -> Iterator[Callable[..., Client]]:
    """Clients of `world` (or `to`) on one ledger file, closed at the end."""
    made: list[Client] = []

    def make(to: World | None = None, **changes: Any) -> Client:
        handler = httpx.MockTransport(lambda request: (to or world).handle(request))
        arguments: dict[str, Any] = {
            "ledger": ledger,
            "caps": CAPS,
            "transport": HttpxTransport(ADDRESS, handler=handler),
            "randomness": SeededRandomness(len(made)),
            "clock": clock,
            "sleep": clock.sleep,
        }
        made.append(Client(changes.pop("server", ADDRESS), **(arguments | changes)))
        return made[-1]

    yield make
    for client in made:
        client.close()


@pytest.fixture
def make_async_client(world: World, clock: ManualClock, ledger: Path) -> Callable[..., AsyncClient]:
    """Async clients of `world` on one ledger file; the test closes them."""

    def make(**changes: Any) -> AsyncClient:
        handler = httpx.MockTransport(world.handle)
        arguments: dict[str, Any] = {
            "ledger": ledger,
            "caps": CAPS,
            "transport": AsyncHttpxTransport(ADDRESS, handler=handler),
            "clock": clock,
            "sleep": clock.sleep_async,
        }
        return AsyncClient(ADDRESS, **(arguments | changes))

    return make


@pytest.fixture
def client(make_client: Callable[..., Client]) -> Client:
    return make_client()


DAY_S = 86_400
# Period 0 begins at midnight (UTC) of the day that a ManualClock shows.
SERIES_START = 1_800_000_000 - 1_800_000_000 % DAY_S
WEEKLY = Rotating(
    start=SERIES_START,
    period_s=DAY_S,
    slots=7,
    answers_max=5,
    value_of=ValueOf.CURRENT,
    late_s=2 * DAY_S,
    replaces=None,
)
SERIES_CAPS = Caps(PureEpsilon.of(100), 30, PureEpsilon.of(100))


class Phase(Randomness):
    """The operating system's randomness, but for the phase."""

    def __init__(self, phase: int) -> None:
        self._phase = phase

    def bytes(self, count: int) -> bytes:
        return SystemRandomness().bytes(count)

    def below(self, bound: int) -> int:
        return self._phase % bound


@pytest.fixture
def make_series(make_world: type[World], clock: ManualClock) -> Callable[..., World]:
    """A series of ε = 1 and its server; the clock shows a second of period 0."""
    clock.time = SERIES_START + 100.0

    def make(created_at: int = 0, part: DevicePart | None = None, **changes: Any) -> World:
        law = dataclasses.replace(WEEKLY, **changes)
        return make_world(part, assignment=law, device_guarantee=PureEpsilon.of(law.answers_max), created_at=created_at)

    return make


@pytest.fixture
def start(make_client: Callable[..., Client]) -> Callable[..., tuple[Client, Campaign]]:
    """A joined device of a phase, and its campaign."""

    def begin(world: World, phase: int = 0, **changes: Any) -> tuple[Client, Campaign]:
        client = make_client(world, **({"randomness": Phase(phase), "caps": SERIES_CAPS} | changes))
        return client, client.join(world.campaign)

    return begin
