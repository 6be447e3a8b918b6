"""SIGKILL of a backend before every statement and around every request: no owner spends twice or sends two reports.

The app starts, is killed, starts again, may be killed again, and starts once more. After each the database is read with
SQL alone, and what came to the server from a file, which outlives the process.
"""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sordino_client import Caps, Request, Response, TransportFailed
from sordino_client.backend import LedgerStore, _databases
from sordino_client.testing import FakeServer
from sordino_shared.protocol import ReportBatch
from tests.client.backend import test_mutants
from tests.client.backend.machine import KEY, OS, emptied

OWNERS = ("maria", "jose", "ana")
CAPS = Caps.of(1, days=28, lifetime=12)
# Every so many points in the gate; all of them in the slow run.
STEP = 36


class Countdown:
    """Kills this process at the `left`-th point; 0 never does."""

    left = 0

    def point(self) -> None:
        if self.left:
            self.left -= 1
            if not self.left:
                os.kill(os.getpid(), signal.SIGKILL)


class MortalConnection:
    """A connection that may be killed before any statement, BEGIN and COMMIT included."""

    def __init__(self, connection: Any, countdown: Countdown) -> None:
        self._connection, self._countdown = connection, countdown

    def execute(self, *given: Any) -> Any:
        self._countdown.point()
        return self._connection.execute(*given)

    def __getattr__(self, name: str) -> Any:
        if name in ("executemany", "cursor"):
            self._countdown.point()
        return getattr(self._connection, name)


class Wire:
    """The fake server behind a file of the uploads that came; their answers may be lost, or nothing arrive at all."""

    def __init__(self, server: FakeServer, log: Path, countdown: Countdown, kind: str) -> None:
        self._server, self._log, self._countdown, self._kind = server, log, countdown, kind

    def send(self, request: Request) -> Response:
        self._countdown.point()
        if request.method == "POST":
            if self._kind == "offline":
                raise TransportFailed("no connection")
            assert request.body is not None
            with self._log.open("a") as log:
                log.write(request.body.hex() + "\n")
            if self._kind == "lossy":
                raise TransportFailed("the response was lost")
        answer = self._server.send(request)
        self._countdown.point()
        return answer

    def close(self) -> None:
        """Nothing is open."""


def live(target: str, log: Path, kill_at: int, kind: str) -> None:
    """One start of the app: join, an answer of each owner, flush, an account."""
    countdown, server = Countdown(), FakeServer(OS)
    countdown.left = kill_at
    for each in (_databases.SqliteFile, _databases.Postgres):
        connect = each._connect
        each._connect = lambda self, of=connect: MortalConnection(of(self), countdown)  # type: ignore[method-assign]
    wire = Wire(server, log, countdown, kind)
    with LedgerStore(target, server="https://a.example", caps=CAPS, key=KEY, transport=wire, clock=server) as store:
        campaign = store.join(server.campaign)
        for name in OWNERS:
            store.owner(name).answer(campaign, "linux")
        store.flush()
        store.owner("maria").account()


def lived(target: str, log: Path, kill_at: int, kind: str) -> bool:
    """Whether a fork of this process came to its end; an error of its own is neither a kill nor a good end."""
    child = os.fork()
    if child == 0:
        try:
            live(target, log, kill_at, kind)
        except BaseException as error:
            log.with_suffix(".error").write_text(repr(error))
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in (0, -signal.SIGKILL):
        raise RuntimeError(log.with_suffix(".error").read_text())
    return code == 0


def wrong(target: str, log: Path, finished: bool) -> Iterable[str]:
    """What is wrong with the debits and with the reports on the wire."""
    answers = _answers(target)
    batches = [ReportBatch.read(bytes.fromhex(line)) for line in log.read_text().split()] if log.exists() else []
    width = len(batches[0].payloads) // len(batches[0].report_ids()) if batches else 0
    sent = {
        (bytes(each), batch.payloads[width * place : width * (place + 1)])
        for batch in batches for place, each in enumerate(batch.report_ids())
    }  # fmt: skip
    if len({owner for owner, _, _ in answers}) != len(answers) or any(nano != 10**9 for _, nano, _ in answers):
        yield f"debits are {answers}"
    if len(sent) > len(answers):
        yield f"{len(sent)} different reports were sent for {len(answers)} debits"
    if finished and (len(answers), len(sent), {state for _, _, state in answers}) != (len(OWNERS), len(OWNERS), {1}):
        yield f"in the end there are {len(sent)} reports for {answers}"


def _answers(target: str) -> list[tuple[int, int, int]]:
    connection: Any = psycopg.connect(target) if "://" in target else sqlite3.connect(target)
    tables = (
        "SELECT 1 FROM pg_tables WHERE tablename = 'answers'"
        if "://" in target
        else "SELECT 1 FROM sqlite_master WHERE name = 'answers'"
    )
    try:
        there = connection.execute(tables).fetchone()
        return connection.execute("SELECT owner, nano, state FROM answers").fetchall() if there else []
    finally:
        connection.close()


def search(target: str, folder: Path, kind: str, points: Iterable[int]) -> list[str]:
    """Kill the first start at these points, the second half-way, and look after each; ends after the last point."""
    found = []
    for point in points:
        of = target if "://" in target else str(folder / f"{kind}-{point}.sqlite3")
        emptied(of)
        log = folder / f"{kind}-{point}.log"
        done = lived(of, log, point, kind)
        found += [f"{log.stem}: {what}" for what in wrong(of, log, finished=False)]
        lived(of, log, max(1, point // 2), kind)
        found += [f"{log.stem}, again: {what}" for what in wrong(of, log, finished=False)]
        assert lived(of, log, 0, "clean")
        found += [f"{log.stem}, at the end: {what}" for what in wrong(of, log, finished=True)]
        if done:
            assert point > 40, "the first start has more points"
            return found
    raise AssertionError("the points end before the first start does")


@pytest.fixture(params=["sqlite", "postgres"])
def target(request: pytest.FixtureRequest) -> str:
    if request.param == "sqlite":
        return "sqlite"
    url: str = request.getfixturevalue("postgres_url")
    return url.replace("postgresql+psycopg://", "postgresql://")


@pytest.mark.parametrize(("kind", "first"), [("clean", 1), ("lossy", 5), ("offline", 9)])
def test_a_backend_that_is_killed_spends_once(target: str, tmp_path: Path, kind: str, first: int) -> None:
    assert search(target, tmp_path, kind, count(first, STEP)) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["clean", "lossy", "offline"])
def test_a_backend_that_is_killed_anywhere_spends_once(target: str, tmp_path: Path, kind: str) -> None:
    assert search(target, tmp_path, kind, count(1)) == []


def test_the_search_finds_a_report_that_is_drawn_at_each_try(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    test_mutants.install(monkeypatch, *test_mutants.MUTANTS["an id is drawn at each try"])
    monkeypatch.setattr("tests.client.backend.test_kill.LedgerStore", test_mutants._store.LedgerStore)
    assert any("different reports were sent" in each for each in search("sqlite", tmp_path, "lossy", count(30, 15)))
