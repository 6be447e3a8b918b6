"""Simulated devices of one campaign: some as whole apps, the rest as a fleet with the same law and wire code."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from sordino_client import AnswerStatus, Caps, Client
from sordino_client.simulation import DeviceFleet
from sordino_shared.errors import SordinoError
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomness import SeededRandomness

# Simulated owners allow whatever one campaign asks; a real app chooses smaller caps.
_CAPS = Caps(per_period=PureEpsilon.of(16), period_days=30, lifetime=PureEpsilon.of(16))
# An app mostly waits for its disk and for the server.
_APPS_AT_ONCE = 8
_FLEET_AT_ONCE = 16384


class DevicesFailed(SordinoError):
    """Reports that were not counted: `missing` of them."""

    def __init__(self, missing: int, reason: str) -> None:
        super().__init__(f"{missing} simulated reports were not counted: {reason}")
        self.missing = missing
        self.reason = reason


@dataclass(frozen=True)
class Upload:
    """Reports that the server acknowledged, and the seconds it took to randomise, send and commit them."""

    reports: int
    seconds: float

    @property
    def per_second(self) -> float:
        return self.reports / self.seconds if self.reports else 0.0


def run_apps(
    server: str, campaign: str, values: Sequence[object], ledgers: Path, progress: Callable[[float], None]
) -> Upload:
    """Every value takes an app's whole path: own ledger file, own verification, own connection, one report a request.

    They draw from the operating system's generator, like devices, and a few run at a time, as devices would.
    """
    started = time.perf_counter()
    with ThreadPoolExecutor(_APPS_AT_ONCE) as pool:
        runs = [
            pool.submit(_run_app, server, campaign, value, ledgers / f"device-{index:05d}.sqlite3")
            for index, value in enumerate(values)
        ]
        try:
            for done, run in enumerate(as_completed(runs), start=1):
                run.result()
                progress(done / len(values))
        finally:
            pool.shutdown(cancel_futures=True)
    return Upload(len(values), time.perf_counter() - started)


def _run_app(server: str, campaign: str, value: object, ledger: Path) -> None:
    """One app from its first start to its delivered report."""
    with Client(server, ledger=ledger, caps=_CAPS, allow_http=True) as client:
        answer = client.answer(client.join(campaign), value)
        flushed = client.flush()
    if answer.status is not AnswerStatus.RECORDED or flushed.delivered != 1:
        reason = flushed.refused[0].reason if flushed.refused else flushed.trouble or answer.status.value
        raise DevicesFailed(1, reason)


def run_fleet(
    server: str, campaign: str, values: Sequence[object], seed: int, progress: Callable[[float], None]
) -> Upload:
    """The values answer as a fleet: ledgers in memory, one verified plan, one connection, batches of 4096 reports."""
    started = time.perf_counter()
    randomness = SeededRandomness(seed)
    with Client(server, ledger=":memory:", caps=_CAPS, allow_http=True) as client:
        fleet = DeviceFleet(client, client.join(campaign))
        for first in range(0, len(values), _FLEET_AT_ONCE):
            part = values[first : first + _FLEET_AT_ONCE]
            answered = fleet.answer_many(part, randomness, first_device=first)
            flushed = fleet.flush(progress=_shifted(progress, first, len(values)))
            if answered.get(AnswerStatus.RECORDED, 0) != len(part) or flushed.delivered != len(part):
                reason = flushed.trouble or ", ".join(flushed.refused or answered)
                raise DevicesFailed(len(values) - first - flushed.delivered, reason)
    return Upload(len(values), time.perf_counter() - started)


def _shifted(progress: Callable[[float], None], before: int, whole: int) -> Callable[[int], None]:
    return lambda settled: progress((before + settled) / whole)
