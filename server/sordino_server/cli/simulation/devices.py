"""Simulated devices of one campaign: some as whole apps, the rest as a fleet with the same law and wire code."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_client import AnswerStatus, Caps, Client
from sordino_server.simulation import DeviceFleet
from sordino_shared.errors import SordinoError
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart
from sordino_shared.quantities import quantity

# Simulated owners allow any ε of one campaign, and their devices have this machine's memory; an app sets lower caps.
_CAPS = Caps(per_period=PureEpsilon.at_most(16), period_days=30, lifetime=PureEpsilon.at_most(16))
# An app mostly waits for its disk and for the server.
_APPS_AT_ONCE = 8
_FLEET_AT_ONCE = 16384


class DevicesFailed(SordinoError):
    """Reports that were not counted: `missing` of them."""

    def __init__(self, missing: int, reason: str) -> None:
        super().__init__(f"{quantity(missing, 'simulated report')} did not count: {reason}")
        self.missing = missing
        self.reason = reason


@dataclass(frozen=True)
class SentReports:
    """Reports that the server acknowledged, and the seconds it took to randomise, send and commit them."""

    reports: int
    seconds: float

    def __add__(self, other: SentReports) -> SentReports:
        return SentReports(self.reports + other.reports, self.seconds + other.seconds)

    @property
    def per_second(self) -> float:
        return self.reports / self.seconds if self.reports else 0.0


def run_apps(
    server: str, campaign: str, values: Sequence[object], ledgers: Path, progress: Callable[[float], None]
) -> SentReports:
    """Every value takes an app's whole path: own ledger file, own verification, own connection, one report a request.

    They draw from the operating system's generator, like devices, and a few run at a time, as devices would. Called
    again for a later round, every app is restarted on its ledger; one that drew another round has nothing to do.
    """
    started = time.perf_counter()
    reports = 0
    with ThreadPoolExecutor(_APPS_AT_ONCE) as pool:
        runs = [
            pool.submit(_run_app, server, campaign, value, ledgers / f"device-{index:05d}.sqlite3")
            for index, value in enumerate(values)
        ]
        try:
            for done, run in enumerate(as_completed(runs), start=1):
                reports += run.result()
                progress(done / len(values))
        finally:
            pool.shutdown(cancel_futures=True)
    return SentReports(reports, time.perf_counter() - started)


def _run_app(server: str, campaign: str, value: object, ledger: Path) -> int:
    """One app from its start to its delivered report, 1, or to a round that is not its own, 0."""
    with Client(server, ledger=ledger, caps=_CAPS, allow_http=True, largest_part=DevicePart.limit) as client:
        answer = client.answer(client.join(campaign), value)
        flushed = client.flush()
    # A device that answered the one round it drew learns of no other; one that did not yet is not assigned this one.
    if answer.status in (AnswerStatus.NOT_ASSIGNED, AnswerStatus.ALREADY_ANSWERED):
        return 0
    if answer.status is not AnswerStatus.RECORDED or flushed.delivered != 1:
        reason = flushed.refused[0].reason if flushed.refused else flushed.trouble or answer.status.value
        raise DevicesFailed(1, reason)
    return 1


class Fleet:
    """Values that answer as a fleet: ledgers in memory, one verified plan a round, one connection, large batches."""

    def __init__(self, client: Client, campaign: str, values: Sequence[object], seed: int) -> None:
        joined = client.join(campaign)
        self.domain = joined.domain
        self._devices = DeviceFleet(client, joined)
        self._values = values
        self._randomness = SeededRandomness(seed)

    @property
    def size(self) -> int:
        """Devices in the fleet."""
        return len(self._values)

    def answer(self, progress: Callable[[float], None]) -> SentReports:
        """Have the round that is open answered by the devices whose round it is."""
        started = time.perf_counter()
        reports, values = 0, self._values
        for first in range(0, len(values), _FLEET_AT_ONCE):
            part = values[first : first + _FLEET_AT_ONCE]
            answered = self._devices.answer_many(part, self._randomness, first_device=first)
            flushed = self._devices.flush(progress=_shifted(progress, first, len(values)))
            recorded = answered.get(AnswerStatus.RECORDED, 0)
            if recorded + answered.get(AnswerStatus.NOT_ASSIGNED, 0) != len(part) or flushed.delivered != recorded:
                reason = flushed.trouble or ", ".join(flushed.refused or answered)
                raise DevicesFailed(recorded - flushed.delivered or len(part) - recorded, reason)
            reports += recorded
        return SentReports(reports, time.perf_counter() - started)


@contextmanager
def simulated_fleet(server: str, campaign: str, values: Sequence[object], seed: int) -> Iterator[Fleet]:
    """A fleet on one client, which is closed at the end."""
    with Client(server, ledger=":memory:", caps=_CAPS, allow_http=True, largest_part=DevicePart.limit) as client:
        yield Fleet(client, campaign, values, seed)


def _shifted(progress: Callable[[float], None], before: int, whole: int) -> Callable[[int], None]:
    return lambda settled: progress((before + settled) / whole)
