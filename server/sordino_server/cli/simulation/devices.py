"""Simulated devices of one campaign: some as whole apps, the rest as a fleet with the same law and wire code."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sordino_client import AnswerStatus, Caps, Client
from sordino_client.simulation import DeviceFleet
from sordino_shared.errors import SordinoError
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomness import SeededRandomness

# Simulated owners allow whatever one campaign asks; a real app chooses smaller caps.
_CAPS = Caps(per_period=PureEpsilon.of(16), period_days=30, lifetime=PureEpsilon.of(16))
_AT_ONCE = 16384


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

    They draw from the operating system's generator, like devices.
    """
    started = time.perf_counter()
    for index, value in enumerate(values):
        with Client(server, ledger=ledgers / f"device-{index:05d}.sqlite3", caps=_CAPS, allow_http=True) as client:
            answer = client.answer(client.join(campaign), value)
            flushed = client.flush()
        if answer.status is not AnswerStatus.RECORDED or flushed.delivered != 1:
            reason = flushed.refused[0].reason if flushed.refused else flushed.trouble or answer.status.value
            raise DevicesFailed(len(values) - index, reason)
        progress((index + 1) / len(values))
    return Upload(len(values), time.perf_counter() - started)


def run_fleet(
    server: str, campaign: str, values: Sequence[object], seed: int, progress: Callable[[float], None]
) -> Upload:
    """The values answer as a fleet: ledgers in memory, one verified plan, one connection, batches of 4096 reports."""
    started = time.perf_counter()
    randomness = SeededRandomness(seed)
    with Client(server, ledger=":memory:", caps=_CAPS, allow_http=True) as client:
        fleet = DeviceFleet(client, client.join(campaign))
        for first in range(0, len(values), _AT_ONCE):
            part = values[first : first + _AT_ONCE]
            answered = fleet.answer_many(part, randomness, first_device=first)
            flushed = fleet.flush(progress=_shifted(progress, first, len(values)))
            if answered.get(AnswerStatus.RECORDED, 0) != len(part) or flushed.delivered != len(part):
                reason = flushed.trouble or ", ".join(flushed.refused or answered)
                raise DevicesFailed(len(values) - first - flushed.delivered, reason)
    return Upload(len(values), time.perf_counter() - started)


def _shifted(progress: Callable[[float], None], before: int, whole: int) -> Callable[[int], None]:
    return lambda settled: progress((before + settled) / whole)
