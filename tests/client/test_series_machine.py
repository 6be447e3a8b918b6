"""A device in a series under everything that may happen to it, against what its owner and the analyst were promised.

Time passes, clocks jump, the app dies in the middle of a request or of a transaction, the connection goes, the app is
installed again, the series is paused and replaced. Held after every step, read from the ledger's file by SQLite alone:

* no T consecutive periods hold two debits of one ledger, and no device answers more than answers_max times;
* two answers are at least (T − 1)·period_s − late_s apart by the device's clock;
* every acknowledged report is in one round, which is the period it was made for, and its debit is in the ledger;
* no report is sent from the second on from which it has expired.
"""

from __future__ import annotations

import dataclasses
import shutil
import sqlite3
import tempfile
from email.utils import formatdate
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_client import AnswerStatus, Client, HttpxTransport, PlanUnavailable, PureEpsilon
from sordino_shared.protocol import Period, Problem, ReportBatch, Rotating, ValueOf
from tests.client.conftest import ADDRESS, DAY_S, SERIES_CAPS, SERIES_START, WEEKLY, ManualClock, World

DAY, START = DAY_S, SERIES_START
DAYS = st.integers(1, 5)


class Killed(BaseException):
    """The process dies here."""


class Chance(SeededRandomness):
    """A seeded stream that kills the process at the draw of an answer, where it is told to."""

    deadly = False

    def bits(self, bits: int) -> int:
        if self.deadly:
            raise Killed
        return super().bits(bits)


class SeriesServer:
    """Honest servers of a series and of those that replace it, one after the other, by their own clock."""

    def __init__(self, value_of: ValueOf) -> None:
        law = dataclasses.replace(WEEKLY, slots=3, answers_max=4, late_s=DAY, value_of=value_of)
        self.clock = ManualClock()
        self.clock.time = float(START)
        self.worlds = [self._world(law)]
        for slots, answers in ((3, 4), (4, 3)):
            changes = {"slots": slots, "answers_max": answers, "replaces": self.worlds[-1].campaign}
            self.worlds.append(self._world(dataclasses.replace(law, **changes)))
        self.counted: dict[bytes, tuple[bytes, int]] = {}
        self.sent: list[tuple[bytes, float]] = []
        self.online = True
        self.dies_at: str | None = None

    def _world(self, law: Rotating) -> World:
        return World(assignment=law, device_guarantee=PureEpsilon.of(law.answers_max), created_at=0)

    def handle(self, request: httpx.Request, shown: ManualClock) -> httpx.Response:
        if self.dies_at == "before":
            raise Killed
        if not self.online:
            raise httpx.ConnectError("no route")
        response = self._receive(request, shown) if request.method == "POST" else self._serve(request)
        if self.dies_at == "after":
            raise Killed
        response.headers["Date"] = formatdate(self.clock.time, usegmt=True)
        return response

    def _serve(self, request: httpx.Request) -> httpx.Response:
        [world] = [each for each in self.worlds if str(each.campaign) in request.url.path] or self.worlds[:1]
        return world.handle(request)

    def _receive(self, request: httpx.Request, shown: ManualClock) -> httpx.Response:
        self.sent.append((request.content, shown.time))
        [world] = [each for each in self.worlds if str(each.campaign) in request.url.path]
        number = int(request.url.path.split("/")[-2])
        if not world.manifest.assignment.accepts(number, int(self.clock.time)):
            return world.problem(Problem.ROUND_NOT_OPEN)
        batch = ReportBatch.read(request.content)
        for each in batch.report_ids():
            found = self.counted.setdefault(bytes(each), (bytes(world.campaign), number))
            assert found == (bytes(world.campaign), number), "a report in two rounds"
            assert int.from_bytes(each[:2], "big") == number % 2**16
        return httpx.Response(200, content=world._count(batch).content)


class Machine(RuleBasedStateMachine):
    """One device, its clock, its ledgers one after the other, and the server."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.seeds = count()
        self.clock = ManualClock()
        self.client: Client | None = None

    @initialize(value_of=st.sampled_from(ValueOf))
    def begin(self, value_of: ValueOf) -> None:
        self.server = SeriesServer(value_of)
        self.clock.time = self.server.clock.time
        self.old_ledgers: list[Path] = []
        self.install()

    def install(self) -> None:
        self.ledger = self.folder / f"{next(self.seeds)}.sqlite3"
        self.joined = -1
        self.answered: list[tuple[int, float, Rotating]] = []
        self.open()
        self.join_next()

    def open(self) -> None:
        if self.client is not None:
            self.client.close()
        self.randomness = Chance(next(self.seeds))
        handler = httpx.MockTransport(lambda request: self.server.handle(request, self.clock))
        self.client = Client(
            ADDRESS,
            ledger=self.ledger,
            caps=SERIES_CAPS,
            transport=HttpxTransport(ADDRESS, handler=handler),
            randomness=self.randomness,
            clock=self.clock,
            sleep=self.clock.sleep,
        )

    def join_next(self) -> None:
        try:
            self.client.join(self.server.worlds[self.joined + 1].campaign)
        except PlanUnavailable:
            return
        self.joined += 1

    def live(self, days: int, sends: bool) -> None:
        """So many days with an answer tried on each, and a flush."""
        for _ in range(days):
            self.clock.time += 0.9 * DAY
            self.server.clock.time += 0.9 * DAY
            if self.joined >= 0:
                self.answer()
            if sends:
                self.client.flush(patience_s=0.0)

    def answer(self) -> None:
        world = self.server.worlds[self.joined]
        law, due = world.manifest.assignment, self.client.due(world.campaign)
        found = self.client.answer(world.campaign, "red")
        if found.status is AnswerStatus.RECORDED:
            assert due == law.period(found.round), "due() names what answer() records"
            self.answered.append((found.round, self.clock.time, law))
        else:
            assert due is None or found.status in (AnswerStatus.NOT_OPEN, AnswerStatus.CLOCK_DIFFERS)

    @rule(days=DAYS, sends=st.booleans())
    def days_pass(self, days: int, sends: bool) -> None:
        self.live(days, sends)

    @rule(days=DAYS, sends=st.booleans())
    def days_pass_offline(self, days: int, sends: bool) -> None:
        self.server.online = False
        self.live(days, sends)
        self.server.online = True

    @rule(days=DAYS)
    def the_series_is_paused_and_resumed(self, days: int) -> None:
        tasks = [world.task for world in self.server.worlds]
        for world in self.server.worlds:
            world.task = dataclasses.replace(world.task, round=None)
        before = len(self.answered)
        self.live(days, sends=True)
        assert len(self.answered) == before
        for world, task in zip(self.server.worlds, tasks, strict=True):
            world.task = task

    @rule(hours=st.integers(-40 * 24, 40 * 24), online=st.booleans())
    def the_devices_clock_jumps(self, hours: int, online: bool) -> None:
        self.clock.time = max(self.clock.time + 3600 * hours, 0.0)
        self.server.online = online
        self.live(3, sends=False)
        self.server.online = True

    @rule()
    def the_devices_clock_is_set_right(self) -> None:
        self.clock.time = self.server.clock.time

    @precondition(lambda self: self.joined >= 0)
    @rule()
    def the_old_series_are_answered_no_more(self) -> None:
        for world in self.server.worlds[: self.joined]:
            assert self.client.due(world.campaign) is None
            assert self.client.answer(world.campaign, "red").status is AnswerStatus.NOT_OPEN

    @precondition(lambda self: self.joined >= 0)
    @rule(where=st.sampled_from(["before", "after", "drawing"]), flush=st.booleans())
    def the_app_is_killed(self, where: str, flush: bool) -> None:
        campaign = self.server.worlds[self.joined].campaign
        self.server.dies_at, self.randomness.deadly = (None, True) if where == "drawing" else (where, False)
        due = self.client.due(campaign)
        try:
            if flush:
                self.client.flush(patience_s=0.0)
            else:
                found = self.client.answer(campaign, "green")
                assert found.status is not AnswerStatus.RECORDED or isinstance(due, Period)
        except Killed:
            pass
        self.server.dies_at = None
        self.open()
        self.live(2, sends=True)

    @rule()
    def the_app_starts_again(self) -> None:
        self.open()

    @precondition(lambda self: self.joined < 2)
    @rule()
    def the_series_is_replaced(self) -> None:
        self.join_next()

    @precondition(lambda self: len(self.old_ledgers) < 2)
    @rule()
    def the_app_is_installed_again(self) -> None:
        self.old_ledgers.append(self.ledger)
        self.install()

    @invariant()
    def promises_are_kept(self) -> None:
        laws = {bytes(world.campaign): world.manifest.assignment for world in self.server.worlds}
        debited = set()
        for ledger in (*self.old_ledgers, self.ledger):
            debits = rows(ledger, "SELECT campaign, round FROM debits ORDER BY rowid")
            debited.update(debits)
            for (before, i), (_, j) in pairwise(debits):
                assert j >= i + laws[before].slots
            assert len(debits) <= max(laws[campaign].answers_max for campaign, _ in debits) if debits else True
            [states] = rows(ledger, "SELECT count(*), sum(replaced_by IS NULL) FROM series")
            assert states in ((0, None), (states[0], 1)), "one series of the chain is open"
        assert set(self.server.counted.values()) <= debited
        for (i, then, law), (j, now, _) in pairwise(self.answered):
            assert j >= i + law.slots
            assert int(now) - int(then) >= law.pause_s - law.late_s
        self.check_what_was_sent()

    def check_what_was_sent(self) -> None:
        """Every body was sent before its period's acceptance ended by the device's clock; expired ones are gone."""
        laws = {bytes(world.campaign): world.manifest.assignment for world in self.server.worlds}
        kept = rows(self.ledger, "SELECT campaign, round, state, body FROM reports")
        ends = {body: laws[campaign].accepted_until(i) for campaign, i, _, body in kept if body is not None}
        assert all(when < ends.get(body, float("inf")) for body, when in self.server.sent)
        assert all((body is None) is (state == "expired") for _, _, state, body in kept)

    def teardown(self) -> None:
        if self.client is not None:
            self.client.close()
        shutil.rmtree(self.folder)


def rows(ledger: Path, query: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(ledger)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def run(examples: int, steps: int) -> None:
    profile = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(Machine, settings=profile)


def test_a_device_keeps_its_promises_whatever_happens() -> None:
    run(examples=20, steps=20)


@pytest.mark.slow
def test_a_device_keeps_its_promises_in_long_lives() -> None:
    run(examples=150, steps=60)
