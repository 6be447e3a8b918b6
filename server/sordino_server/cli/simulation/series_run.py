"""A simulated series: a real server, days of some seconds, apps that run the SDK, a fleet that reports in batches."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.kinds.reading import estimate_of
from sordino_analysis.kinds.series import periods_of
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_client import AnswerStatus, Caps, Client, HttpTransport, Request
from sordino_server.cli.remote import Remote
from sordino_server.cli.simulation.devices import DevicesFailed
from sordino_server.cli.simulation.progress import Advance, Stages
from sordino_server.cli.wait import TIMEOUT_S, Patience
from sordino_server.kit.clock import WallClock
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import (
    MAX_REPORTS,
    DevicePart,
    Digest,
    ReportBatch,
    ReportId,
    ReportOutcomes,
    Rotating,
)
from sordino_shared.quantities import quantity

# A day of the simulation: long enough for its reports on a busy machine, which may be four days late.
DAY_S = 3
LATE_S = 4 * DAY_S
SLOTS = 7
LABELS = ("1.0", "1.1", "2.0")
# Apps join in this time before the first day.
_LEAST_ADVANCE_S, _APPS_A_SECOND = 2, 5
_POLL_S = 0.05
_CAPS = Caps(per_period=PureEpsilon.at_most(16), period_days=30, lifetime=PureEpsilon.at_most(16))
WORKLOAD: Mapping[str, Any] = {
    "name": "versions",
    "domain": [{"name": "version", "kind": "categorical", "labels": list(LABELS)}],
    "queries": "histogram",
}


@dataclass(frozen=True, kw_only=True)
class SeriesTerms:
    """How many days, devices and apps among them, with which ε."""

    days: int
    users: int
    apps: int
    epsilon: float
    seed: int

    def shares(self, day: int) -> Sequence[float]:
        """True shares of the versions: 2.0 is released in the middle, and a tenth of the devices takes it every day."""
        new = 1 - 0.9 ** max(0, day - self.days // 2)
        return (0.3 * (1 - new), 0.7 * (1 - new), new)


@dataclass(frozen=True, kw_only=True)
class SeriesResult:
    """The series with its estimate, the true shares (days, 3) of those who reported, and reports by sender."""

    series: str
    estimate: EstimateDocument
    truth: Sequence[Sequence[float]]
    app_reports: int
    fleet_reports: int


def run_series(remote: Remote, address: str, terms: SeriesTerms, ledgers: Path, stages: Stages) -> SeriesResult:
    """Create and open the series, have devices answer in their periods, wait for the estimates, and end it."""
    with stages.stage("planning"):
        workload = remote.post("/v1/workloads", WORKLOAD)["id"]
        request = remote.post("/v1/plan-requests", {"workload": workload, "epsilon": terms.epsilon, "seed": terms.seed})
        *_, plan = remote.plan_progress(request["id"], Patience(TIMEOUT_S))
    series, start = _opened(remote, request["id"], terms)
    with stages.stage("joining"), _apps(address, series, terms, ledgers) as apps:
        fleet = _Fleet(address, series, Digest.parse(plan["device_digest"]), terms)
        with stages.stage(f"{quantity(terms.days, 'day')} of {quantity(DAY_S, 'second')}") as advance:
            sent = _days(apps, fleet, terms, start, advance)
        fleet.close()
    with stages.stage("estimating"):
        estimate = _closed_estimate(remote, series, terms.days)
    remote.post(f"/v1/campaigns/{series}/close")
    return SeriesResult(
        series=series,
        estimate=estimate,
        truth=[(np.array(counts) / sum(counts)).tolist() for counts in sent.held],
        app_reports=sent.apps,
        fleet_reports=sent.fleet,
    )


def _opened(remote: Remote, plan: str, terms: SeriesTerms) -> tuple[str, int]:
    start = WallClock().now() + _LEAST_ADVANCE_S + terms.apps // _APPS_A_SECOND
    asked = {"period_s": DAY_S, "slots": SLOTS, "answers_max": -(-terms.days // SLOTS), "late_s": LATE_S}
    order = {
        "name": "versions every day",
        "purpose": "Your device sends the version that it runs, with random noise added.",
        "population": "devices of a demo",
        "plan_request": plan,
        "series": asked | {"start": start},
    }
    identifier: str = remote.post("/v1/campaigns", order)["id"]
    remote.post(f"/v1/campaigns/{identifier}/open")
    return identifier, start


@dataclass
class _Sent:
    """Reports by sender, and for each day how many of the reporters held each version."""

    held: list[list[int]]
    apps: int = 0
    fleet: int = 0


@dataclass(frozen=True)
class _App:
    """A device that runs the SDK: it holds version 2.0 where `taste` is below its share, as everybody does."""

    client: Client
    taste: float

    def version(self, shares: Sequence[float]) -> int:
        """The version held while these shares of the devices hold each one."""
        newer = int(np.searchsorted(np.cumsum(shares[::-1]), self.taste, side="right"))
        return max(len(LABELS) - 1 - newer, 0)


@contextmanager
def _apps(address: str, series: str, terms: SeriesTerms, ledgers: Path) -> Iterator[list[_App]]:
    rng = np.random.default_rng(terms.seed)
    with ExitStack() as opened:
        apps = []
        for number in range(terms.apps):
            ledger = ledgers / f"device-{number:05d}.sqlite3"
            client = opened.enter_context(
                Client(address, ledger=ledger, caps=_CAPS, allow_http=True, largest_part=DevicePart.limit)
            )
            client.join(series)
            apps.append(_App(client, float(rng.random())))
        yield apps


def _days(apps: Sequence[_App], fleet: _Fleet, terms: SeriesTerms, start: int, advance: Advance) -> _Sent:
    clock, sent = WallClock(), _Sent([[0] * len(LABELS) for _ in range(terms.days)])
    for day in range(terms.days):
        while clock.now() < start + day * DAY_S:
            time.sleep(_POLL_S)
        for app in apps:
            asked = app.client.due(fleet.series)
            if asked is None or asked.number >= terms.days:
                continue
            version = app.version(terms.shares(asked.number))
            answer = app.client.answer(fleet.series, LABELS[version])
            if answer.status is AnswerStatus.RECORDED and app.client.flush().delivered == 1:
                sent.apps += 1
                sent.held[asked.number][version] += 1
        counts = fleet.report(day)
        sent.fleet += sum(counts)
        sent.held[day] = [own + other for own, other in zip(sent.held[day], counts, strict=True)]
        advance((day + 1) / terms.days)
    return sent


class _Fleet:
    """Devices without ledgers: each day those of one phase report, by the law and in the form of the SDK."""

    def __init__(self, address: str, series: str, plan: Digest, terms: SeriesTerms) -> None:
        self.series = series
        self._terms = terms
        self._http = HttpTransport(address, allow_http=True)
        asked = Request(method="GET", path=f"/v1/plans/{plan}", limit=DevicePart.limit)
        self._part = DevicePart.read(self._http.send(asked).content, plan)
        self._randomness = SeededRandomness(terms.seed)
        self._rng = np.random.default_rng([terms.seed, 1])
        self._phases = np.bincount(self._rng.integers(0, SLOTS, terms.users - terms.apps), minlength=SLOTS)

    def close(self) -> None:
        """End the connection."""
        self._http.close()

    def report(self, day: int) -> list[int]:
        """Send the day's reports; how many devices held each version."""
        count = int(self._phases[day % SLOTS])
        cells = self._rng.choice(len(LABELS), size=count, p=self._terms.shares(day)).astype(np.int64)
        for first in range(0, count, MAX_REPORTS):
            self._send(day, cells[first : first + MAX_REPORTS])
        return [int(held) for held in np.bincount(cells, minlength=len(LABELS))]

    def _send(self, day: int, cells: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        head = Rotating.epoch(day).to_bytes(2, "big")
        ids = b"".join(head + self._randomness.bytes(ReportId.LENGTH - len(head)) for _ in cells)
        payloads = randomize_many(self._part.randomizer, cells, self._randomness).tobytes()
        batch = ReportBatch(self._part.digest, ids, payloads).content
        path = f"/v1/campaigns/{self.series}/rounds/{day}/reports"
        answer = self._http.send(Request(method="POST", path=path, limit=ReportOutcomes.limit, body=batch))
        if answer.status != 200 or ReportOutcomes.read(answer.content).accepted != len(cells):
            raise DevicesFailed(len(cells), f"day {day}: the server answered {answer.status}")


def _closed_estimate(remote: Remote, series: str, days: int) -> EstimateDocument:
    """The estimate of all days, when a worker has closed and estimated them."""
    patience = Patience(TIMEOUT_S)
    while True:
        asked: dict[str, str | int] = {"from": 0, "to": days - 1, "trend": "true"}
        estimate = estimate_of(remote.get(f"/v1/campaigns/{series}/series", **asked))
        if not {each.state for each in periods_of(estimate)} & {"open", "closed"}:
            return estimate
        patience.pause("the last days still take reports", f"look again with: sordino series estimates {series}")
