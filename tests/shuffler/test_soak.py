"""Real processes that are killed while devices answer: every report is in the batch once, and no other one is."""

from __future__ import annotations

import os
import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sordino_client import Caps, Client, HttpTransport, Request, Response, TransportFailed
from sordino_shared.protocol import SealedReports
from tests.shuffler.processes import Setup, wait_for
from tests.shuffler.small_collector import BLANKET

CAPS = Caps.of(4, days=28, lifetime=48)  # pins a shuffler
GARBAGE = 5


class LossyTransport:
    """A connection on which one answer in ten is lost after the server gave it; it keeps what was uploaded."""

    def __init__(self, address: str, chosen: random.Random) -> None:
        self._inner = HttpTransport(address)
        self._chosen = chosen
        self.uploads: list[bytes] = []
        self.paths: list[str] = []
        self.counted = False

    def send(self, request: Request) -> Response:
        if request.body is not None:
            self.uploads.append(request.body)
            self.paths.append(request.path)
        response = self._inner.send(request)
        if self._chosen.random() < 0.1:
            raise TransportFailed("the answer was lost")
        return response

    def close(self) -> None:
        self._inner.close()


@pytest.fixture
def spied(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The ports that this process connects to; devices are here, both servers are not."""
    ports: set[int] = set()
    connect = socket.socket.connect

    def watched(self: socket.socket, address: Any) -> None:
        if isinstance(address, tuple):
            ports.add(address[1])
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", watched)
    return ports


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Any]:
    made: list[Setup] = []

    def make(seconds: float) -> Setup:
        made.append(Setup(tmp_path, floor=5, end=int(time.time() + seconds)))
        return made[-1]

    yield make
    for setup in made:
        setup.close()


def _devices(setup: Setup, count: int, folder: Path, until: float, stop: threading.Event) -> list[LossyTransport]:
    """Devices that answer once and retry until they are told that they are counted, or the round is over."""
    transports = []
    for number in range(count):
        if stop.is_set():
            break
        transport = LossyTransport(setup.url, random.Random(number))
        client = Client(
            setup.url,
            ledger=folder / f"device-{number}.sqlite3",
            caps=CAPS,
            transport=transport,
            sleep=lambda _: time.sleep(0.05),
        )
        transports.append(transport)
        while time.time() < until:
            try:
                campaign = client.join(setup.campaign)
                client.answer(campaign, 2.5)
            except Exception:
                time.sleep(0.05)
                continue
            if client.flush(1.0).delivered:
                transport.counted = True
                break
        client.close()
    return transports


def _send_garbage(setup: Setup, until: float) -> list[bytes]:
    """Reports of the right length that open to nothing, as anybody can send them."""
    width = len(setup.collector().sealed())
    garbage = [os.urandom(width) for _ in range(GARBAGE)]
    transport = HttpTransport(setup.url)
    path = f"/v1/campaigns/{setup.campaign}/rounds/0/sealed"
    request = Request(method="POST", path=path, limit=1 << 16, body=SealedReports(b"".join(garbage), GARBAGE).content)
    while time.time() < until:
        with suppress(TransportFailed):
            if transport.send(request).status == 200:
                return garbage
        time.sleep(0.1)
    raise AssertionError("the shuffler took no garbage")


def kill_at_random(setup: Setup, kills: int, until: float, seed: int) -> int:
    chosen, done = random.Random(seed), 0
    while done < kills and time.time() < until:
        time.sleep((until - time.time()) / (kills - done + 1) * chosen.uniform(0.5, 1.0))
        name = chosen.choice(("shuffler", "collector"))
        setup.kill(name)
        setup.start(name)
        done += 1
    return done


@pytest.mark.parametrize(
    ("kills", "devices", "seconds"),
    [
        (4, 12, 14),
        pytest.param(20, 100, 90, marks=pytest.mark.slow),
        pytest.param(200, 600, 900, marks=pytest.mark.slow),
    ],
)
def test_what_devices_were_told_is_counted_is_in_the_batch_once(
    begin: Any, tmp_path: Path, spied: set[int], kills: int, devices: int, seconds: float
):
    setup: Setup = begin(seconds)
    for name in ("collector", "shuffler"):
        setup.start(name)
    setup.wait_until_served()
    end = float(setup.terms["end"])
    # A busy machine takes seconds to start a program again.
    calm = end - max(2, seconds / 15)
    stop = threading.Event()
    transports: list[LossyTransport] = []
    threads = [
        threading.Thread(
            target=lambda share=share: transports.extend(
                _devices(setup, devices // 4, (tmp_path / f"share-{share}"), calm, stop)
            )
        )
        for share in range(4)
    ]
    for share in range(4):
        (tmp_path / f"share-{share}").mkdir()
    for thread in threads:
        thread.start()
    assert kill_at_random(setup, kills * 3 // 4, calm, seed=kills) == kills * 3 // 4
    for thread in threads:
        thread.join()
    # The collector's answers are lost, too: some kills come while the batch is on its way.
    garbage = _send_garbage(setup, end - 0.5)
    wait_for(lambda: time.time() >= end, "the end")
    kill_at_random(setup, kills - kills * 3 // 4, time.time() + 4, seed=kills + 1)
    collector = setup.wait_for_statement()
    statement, batch = collector.statements[0], collector.batch()
    sent = [set(transport.uploads) for transport in transports]
    assert all(len(bodies) <= 1 for bodies in sent), "a retry sent other bytes"
    told = {SealedReports.read(each.uploads[0]).reports()[0] for each in transports if each.counted}
    reports = {SealedReports.read(body).reports()[0] for bodies in sent for body in bodies}
    assert told <= set(batch)
    # An answer that was lost, and no time to ask again.
    delivered = reports & set(batch)
    assert statement.received == len(delivered) + GARBAGE
    assert statement.blanket == BLANKET
    assert len(batch) == len(set(batch)) == statement.reports == statement.received + BLANKET
    opened = dict(zip(batch, collector.opened(), strict=True))
    assert {report for report, payload in opened.items() if payload is None} == set(garbage)
    # A machine that is busy tells few; where devices stop being told, most of this test would be about nothing.
    assert len(told) >= seconds // 14
    assert setup.collector_port not in spied
    # Of campaigns and rounds, of no request.
    log = setup.log()
    assert "mistake" not in log
    assert "sealed" not in log
    assert log.count("127.0.0.1") <= 2 * log.count("serving ") + log.count("gives no answer") + log.count(
        "not handed on"
    )
