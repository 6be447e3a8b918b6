"""A series on a running server, whose clock moves when a test says so."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_server.models import Accumulator, ReportChunk, Round
from sordino_shared.protocol import CBOR_MEDIA_TYPE, DevicePart, Digest, Manifest, ReportBatch, Rotating
from tests.server.conftest import RunningServer, served

DAY = 86_400


@dataclass
class Series:
    """A series over HTTP; day 0 begins at `start`."""

    running: Any
    id: str
    start: int
    part: DevicePart
    manifest: Manifest

    def at(self, day: float, seconds: int = 0) -> None:
        """Set the server's clock to a moment of a day."""
        moment = self.start + int(day * DAY) + seconds
        self.running.clock.advance(moment - self.running.clock.now())

    def report(self, number: int, cells: list[int], seed: int = 1, epoch: int | None = None) -> httpx.Response:
        """Reports of devices that hold `cells`, for a period."""
        randomness = SeededRandomness(seed * 1000 + number)
        payloads = randomize_many(self.part.randomizer, np.array(cells), randomness)
        head = (Rotating.epoch(number) if epoch is None else epoch).to_bytes(2, "big")
        ids = b"".join(head + randomness.bytes(14) for _ in cells)
        content = ReportBatch(self.part.digest, ids, payloads.tobytes()).content
        return self.send(number, content)

    def send(self, number: int, content: bytes) -> httpx.Response:
        path = f"/v1/campaigns/{self.id}/rounds/{number}/reports"
        headers = {"Content-Type": CBOR_MEDIA_TYPE}
        found: httpx.Response = self.running.anonymous.post(path, content=content, headers=headers)
        return found

    def refusal(self, number: int) -> tuple[int, str]:
        """Status and state of a refused report of one device."""
        answer = self.report(number, [0], seed=99)
        return answer.status_code, answer.json().get("state", answer.json()["type"])

    def act(self, action: str) -> httpx.Response:
        found: httpx.Response = self.running.api.post(f"/v1/campaigns/{self.id}/{action}")
        return found

    @property
    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.running.api.get(f"/v1/campaigns/{self.id}/status").raise_for_status().json()
        return found

    def document(self, **query: Any) -> dict[str, Any]:
        answer = self.running.api.get(f"/v1/campaigns/{self.id}/series", params=query)
        found: dict[str, Any] = answer.raise_for_status().json()
        return found


Begin = Callable[..., Series]


def terms_of(running: Any, **series: Any) -> dict[str, Any]:
    """The order of a series that is not created yet."""
    asked = {"slots": 7, "answers_max": 12, "late_s": DAY} | series
    terms = {"name": "versions", "purpose": "We ask how late you are.", "population": "travellers", "series": asked}
    return terms | {"plan_request": running.ready_plan()["id"]}


def begin(running: Any, population: str = "travellers", **series: Any) -> Series:
    """An open series."""
    # Of the same second and the same terms there is one series.
    running.clock.advance(1)
    made = (
        running.api.post("/v1/campaigns", json=terms_of(running, **series) | {"population": population})
        .raise_for_status()
        .json()
    )
    running.api.post(f"/v1/campaigns/{made['id']}/open").raise_for_status()
    manifest = Manifest.read(running.anonymous.get(f"/v1/campaigns/{made['id']}").content)
    plan = manifest.rounds[0].plan
    assert plan is not None
    content = running.anonymous.get(f"/v1/plans/{plan.device}").content
    part = DevicePart.read(content, Digest.parse(str(plan.device)))
    assert isinstance(manifest.assignment, Rotating)
    return Series(running, made["id"], manifest.assignment.start, part, manifest)


def a_year(series: Series) -> None:
    """365 open rounds of 100,000 reports, as a writer leaves them; the log has one byte for each round."""
    rng, plan = np.random.default_rng(1), series.manifest.rounds[0].plan
    assert plan is not None
    size = series.part.randomizer.accumulator_size
    with series.running.database.write("a year") as session:
        for day in range(365):
            row = Round(
                campaign_id=series.id, index=day, state="open", device_digest=str(plan.device),
                analyst_digest=str(plan.analyst), epoch=day, opened_at=series.start,
            )  # fmt: skip
            session.add(row)
            session.flush()
            sums = rng.multinomial(100_000, np.full(size, 1 / size)).astype("<i8").tobytes()
            session.add(Accumulator(round_id=row.id, shard="test", count=100_000, sums=sums))
            session.add(ReportChunk(round_id=row.id, count=100_000, payloads=b"0", created_at=series.start))


@pytest.fixture(scope="module")
def running(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """One server for a module, since a series begins at a midnight that no other one has seen."""
    file = tmp_path_factory.mktemp("series") / "server.sqlite3"
    shutil.copy(sqlite_template, file)
    with served(f"sqlite:///{file}") as server:
        yield server


@pytest.fixture
def series(running: Any) -> Series:
    """Seven slots, a day a period, reports count for a day after it."""
    return begin(running)
