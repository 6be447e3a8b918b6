"""A series behind a shuffler, both programs killed again and again: each report is in the batch of its period, once."""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sordino_client import Caps, Client
from sordino_shared.protocol import BatchEnd, Rotating, SealedReports, ValueOf
from tests.shuffler.processes import Setup, wait_for
from tests.shuffler.small_collector import BLANKET
from tests.shuffler.test_soak import LossyTransport, kill_at_random

CAPS = Caps.of(200, days=28, lifetime=400)  # a series of many short periods
_ROUND = re.compile(r"/rounds/(\d+)/sealed")


@dataclass
class SeriesDevice:
    """Answers every period, and sends until it is told that the report is counted."""

    setup: Setup
    ledger: Path
    number: int
    until: float
    # Reports by period: what was sent, and what the device was told is counted.
    sent: dict[int, set[bytes]] = field(default_factory=dict)
    told: dict[int, set[bytes]] = field(default_factory=dict)

    def run(self) -> None:
        transport = LossyTransport(self.setup.url, random.Random(self.number))
        client = Client(self.setup.url, ledger=self.ledger, caps=CAPS, transport=transport, sleep=lambda _: None)
        while time.time() < self.until:
            try:
                client.answer(client.join(self.setup.campaign), 2.5)
                delivered = client.flush(1.0).delivered
            except Exception:
                # A server is away, or the period has not begun.
                delivered = 0
            self._note(transport, delivered)
            time.sleep(0.2)
        client.close()

    def _note(self, transport: LossyTransport, delivered: int) -> None:
        uploads = list(zip(transport.paths, transport.uploads, strict=True))
        for path, body in uploads:
            self.sent.setdefault(_period(path), set()).update(SealedReports.read(body).reports())
        if delivered == 1:
            path, body = uploads[-1]
            self.told.setdefault(_period(path), set()).update(SealedReports.read(body).reports())
        transport.paths.clear()
        transport.uploads.clear()


def _period(path: str) -> int:
    found = _ROUND.search(path)
    assert found is not None
    return int(found[1])


@pytest.fixture
def begun(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Setup]:
    law = Rotating(
        start=int(time.time()) + 8, period_s=request.param, slots=1, answers_max=100, value_of=ValueOf.CURRENT,
        late_s=3, replaces=None,
    )  # fmt: skip
    setup = Setup(tmp_path, floor=1, end=None, law=law)
    for name in ("collector", "shuffler"):
        setup.start(name)
    setup.wait_until_served()
    yield setup
    setup.close()


@pytest.mark.slow
@pytest.mark.parametrize(("begun", "periods", "kills", "devices"), [(8, 3, 4, 4), (15, 6, 20, 10)], indirect=["begun"])
def test_each_report_of_a_series_is_in_the_batch_of_its_period_once(
    begun: Setup, tmp_path: Path, periods: int, kills: int, devices: int
):
    law: Rotating = begun.terms["law"]
    until = law.accepted_until(periods - 1)
    running = [SeriesDevice(begun, tmp_path / f"device-{number}", number, until) for number in range(devices)]
    threads = [threading.Thread(target=device.run) for device in running]
    for thread in threads:
        thread.start()
    assert kill_at_random(begun, kills, until, seed=kills) == kills
    for thread in threads:
        thread.join()
    wait_for(lambda: set(range(periods)) <= set(begun.collector().statements), "all statements")
    collector = begun.collector()
    batches = [collector.batch(period) for period in range(periods)]
    together = [report for batch in batches for report in batch]
    # No report is in two batches, nor twice in one.
    assert len(together) == len(set(together))
    counted = 0
    for period, batch in enumerate(batches):
        statement = collector.statements[period]
        sent, told = (
            set().union(*(each.get(period, set()) for each in found))
            for found in ([device.sent for device in running], [device.told for device in running])
        )
        own = sent & set(batch)
        assert told <= own
        if statement.ended is BatchEnd.TIME:
            assert (statement.received, statement.reports) == (len(own), len(own) + BLANKET) == (len(own), len(batch))
        else:
            assert batch == []
        # All open, as reports of this period and of no other.
        assert None not in collector.opened(period)
        assert all(len(device.sent.get(period, ())) <= 1 for device in running), "a retry sent other bytes"
        counted += len(told)
    # A machine that is busy tells few; where devices stop being told, most of this test would be about nothing.
    assert counted >= periods
