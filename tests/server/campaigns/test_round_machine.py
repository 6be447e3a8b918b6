"""Any order of uploads, closing, clocks, crashes and second workers: the campaign is what its reports make of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy.orm import Session

from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.kinds.pairwise_document import statistic_document
from sordino_analysis.planning.rounds import ClosedRound
from sordino_server import aggregates, models, rounds
from sordino_server.answers import next_step
from sordino_server.answers import repository as estimates
from sordino_server.campaigns import service as campaigns
from sordino_server.campaigns.schemas import CampaignOrder
from sordino_server.config import Settings
from sordino_server.errors import ServerError
from sordino_server.jobs import worker as worker_module
from sordino_server.jobs.worker import Worker
from sordino_server.kit.clock import ManualClock
from sordino_server.kit.db import Database
from sordino_server.reports import PlanMismatch, ReportWriter, RoundNotOpen, Upload
from sordino_server.rounds import RoundNotFound
from sordino_shared.protocol import ROUND_TRANSITIONS, Digest, IllegalTransition, Manifest, ReportBatch, RoundState
from tests.patience import PATIENCE_S

SIZE = 3
AFTER_REPORTS = 9
AFTER_S = 500
LEASE_S = Settings().lease_s
# Longer than any lease, however often the clock was set back.
LONG_S = 100_000
NUMBERS = st.lists(st.integers(0, 20), min_size=1, max_size=5, unique=True)
ROUND = st.integers(0, 1)
SELDOM = st.sampled_from([False, False, False, True])
NAMES = count()


class Crash(BaseException):
    """The process died here; no handler of the process saw it."""


class Rounds(RuleBasedStateMachine):
    """`counted` is the oracle: the cell of every report by round; `taking` the round that takes reports."""

    database: Database
    strategy: Any
    request: str

    @initialize()
    def create(self) -> None:
        self.clock, self.settings = ManualClock(), Settings()
        terms = {"purpose": "x", "population": "x", "plan_request": self.request, "name": f"x{next(NAMES)}"}
        order = CampaignOrder(**terms, close_after_reports=[AFTER_REPORTS, None], close_after_s=[None, AFTER_S])
        with self.database.write("create") as session:
            self.campaign = campaigns.create(session, order, self.clock.now()).id
            campaigns.open_campaign(self.database, session, self.campaign, self.clock.now())
        self.counted: list[dict[int, int]] = [{}, {}]
        self.taking: int | None = 0
        self.opened_at = self.clock.now()
        self.ended = ""
        self.seen: list[tuple[str, str]] = []
        self.states: list[str] = []
        self.answer: bytes | None = None
        self.writer = ReportWriter(self.database, self.clock).start()

    def teardown(self) -> None:
        if not hasattr(self, "writer"):
            return
        self.writer.close()
        self.drain()
        self.nothing_waits_for_ever()
        if self.ended == "":
            with self.database.write("cancel") as session:
                if campaigns.get(session, self.campaign).state == "open":
                    campaigns.cancel_campaign(self.database, session, self.campaign, 0)

    def rows(self) -> list[models.Round]:
        with self.database.read() as session:
            return list(rounds.of_campaign(session, self.campaign))

    # --- devices

    @rule(numbers=NUMBERS, other_round=SELDOM, other_plan=SELDOM)
    def upload(self, numbers: list[int], other_round: bool, other_plan: bool) -> None:
        """Report n of a round says cell n mod 3; a replay is acknowledged, another round's plan is refused."""
        rows = self.rows()
        index = (len(rows) - 1 + other_round) % 2
        plan = (index + other_plan) % 2
        digest = Digest.parse(rows[plan].device_digest) if plan < len(rows) else Digest(bytes(32))
        epoch = rows[min(index, len(rows) - 1)].epoch
        ids = [epoch.to_bytes(2, "big") + number.to_bytes(14, "big") for number in numbers]
        payloads = bytes(number % SIZE for number in numbers)
        future = self.writer.submit(Upload(self.campaign, index, ReportBatch(digest, b"".join(ids), payloads)))
        if index >= len(rows):
            assert isinstance(future.exception(timeout=PATIENCE_S), RoundNotFound)
        elif index != self.taking:
            assert isinstance(future.exception(timeout=PATIENCE_S), RoundNotOpen)
        elif plan != index:
            assert isinstance(future.exception(timeout=PATIENCE_S), PlanMismatch)
        else:
            known = self.counted[index].keys() & set(numbers)
            outcomes = future.result(timeout=PATIENCE_S)
            assert (outcomes.accepted, outcomes.replayed) == (len(numbers) - len(known), len(known))
            self.counted[index] |= {number: number % SIZE for number in numbers}

    @rule(seconds=st.integers(-100, 400))
    def advance_clock(self, seconds: int) -> None:
        self.clock.advance(seconds)

    # --- operators

    @rule(other_round=SELDOM)
    def close_round(self, other_round: bool) -> None:
        index = (len(self.rows()) - 1 + other_round) % 2
        if index == self.taking:
            self.change(lambda session: campaigns.close_round(*self.named(session), index, self.clock.now()))
            self.stop_taking()
        else:
            with pytest.raises((IllegalTransition, RoundNotFound)):
                self.change(lambda session: campaigns.close_round(*self.named(session), index, self.clock.now()))

    @precondition(lambda self: len(self.counted[0]) > 4)
    @rule(action=st.sampled_from(["close", "cancel"]))
    def end_campaign(self, action: str) -> None:
        act = {"close": campaigns.close_campaign, "cancel": campaigns.cancel_campaign}[action]
        if self.ended:
            with pytest.raises(IllegalTransition):
                self.change(lambda session: act(*self.named(session), self.clock.now()))
            return
        self.change(lambda session: act(*self.named(session), self.clock.now()))
        self.taking, self.ended = None, action

    @rule(index=ROUND)
    def retry_round(self, index: int) -> None:
        failed = [row.index for row in self.rows() if row.state == RoundState.CLOSED and row.error is not None]
        if index in failed:
            self.change(lambda session: campaigns.retry_round(*self.named(session), index))
        else:
            with pytest.raises(ServerError):
                self.change(lambda session: campaigns.retry_round(*self.named(session), index))

    def change(self, act: Callable[[Session], object]) -> None:
        self.database.run("change", act)

    def named(self, session: Session) -> tuple[Database, Session, str]:
        return self.database, session, self.campaign

    def stop_taking(self) -> None:
        """The open round was closed, and with the last one the campaign."""
        self.ended = "close" if self.taking == 1 else self.ended
        self.taking = None

    # --- workers

    @rule(crash_in=st.integers(0, 4), committed=st.booleans())
    def work_until_a_crash(self, crash_in: int, committed: bool) -> None:
        """The worker dies in its transaction number `crash_in`, or just after it; 4 is beyond what a step needs."""
        with self.dying(crash_in, committed):
            self.worked(self.step)

    @precondition(lambda self: self.closed_by_now() is not None)
    @rule(meanwhile=st.sampled_from(["second", "close", "cancel"]))
    def work_while_something_happens(self, meanwhile: str) -> None:
        """Between what the worker computes and what it stores, another one does all the work, or the campaign ends."""
        real, happened = next_step.compute, []

        def interrupted(database: Database, number: int, processes: int = 0, **others: Any) -> Any:
            outcome = real(database, number, processes, **others)
            if not happened:
                happened.append(meanwhile)
                if meanwhile == "second":
                    self.clock.advance(LEASE_S)
                    self.step()
                elif not self.ended:
                    self.end_campaign(meanwhile)
            return outcome

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(next_step, "compute", interrupted)
            self.worked(self.step)

    @rule()
    def drain(self) -> None:
        """Workers that live until there is nothing to do; the leases of the dead ran out meanwhile."""
        self.clock.advance(LONG_S)
        while self.worked(self.step):
            pass

    def step(self) -> bool:
        def compute(*_: object) -> Any:
            raise AssertionError("no plan is asked for")

        return Worker.of(self.database, self.clock, self.settings, compute).step()

    def worked(self, work: Callable[[], bool]) -> bool:
        """Do `work`, and let the oracle follow what a worker may have done: closed a due round, opened the next one."""
        due = self.due()
        try:
            return work()
        except Crash:
            return True
        finally:
            known = {row.index: row.state for row in self.rows()}
            if self.taking is not None and known[self.taking] != RoundState.OPEN:
                assert due, "no rule asks to close the round"
                self.stop_taking()
            if self.taking is None and known.get(1) == RoundState.OPEN:
                assert not self.ended
                self.taking, self.opened_at = 1, self.rows()[1].opened_at

    def due(self) -> bool:
        full = self.taking == 0 and len(self.counted[0]) >= AFTER_REPORTS
        return full or (self.taking == 1 and self.clock.now() >= self.opened_at + AFTER_S)

    def closed_by_now(self) -> models.Round | None:
        waiting = [row for row in self.rows() if row.state == RoundState.CLOSED and row.error is None]
        free = [row for row in waiting if row.lease_until is None or row.lease_until <= self.clock.now()]
        return next(iter(free), None)

    @contextmanager
    def dying(self, number: int, committed: bool) -> Iterator[None]:
        run, transactions = self.database.run, count()

        def dying(name: str, work: Callable) -> Any:
            here = next(transactions) == number

            def work_and_die(session: Session) -> Any:
                result = work(session)
                if here and not committed:
                    session.flush()
                    raise Crash
                return result

            result = run(name, work_and_die)
            if here:
                raise Crash
            return result

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.database, "run", dying)
            yield

    # --- what holds at any time

    @invariant()
    def reports_are_counted_once(self) -> None:
        for row in self.rows():
            expected = np.bincount(list(self.counted[row.index].values()), minlength=SIZE)
            with self.database.read() as session:
                randomizer = worker_module.plans.device_part(session, row.device_digest).randomizer
            assert aggregates.aggregate(self.database, row.id, randomizer).sums.tolist() == expected.tolist()

    @invariant()
    def rounds_go_on_along_the_table(self) -> None:
        states = [str(row.state) for row in self.rows()]
        for before, after in zip(self.states, states, strict=False):
            assert after in reachable(RoundState(before)), (before, after)
        assert len(states) >= len(self.states)
        self.states = states

    @invariant()
    def a_sealed_plan_is_what_the_reports_make_of_it_and_stays(self) -> None:
        sealed = [(row.device_digest, row.analyst_digest) for row in self.rows()]
        assert sealed[: len(self.seen)] == self.seen
        self.seen = sealed
        if len(sealed) > 1:
            assert len(sealed) == 2
            assert self.rows()[0].state == RoundState.ESTIMATED
            plan = self.strategy.second(self.sums(0))
            assert sealed[1] == (str(plan.device.digest), str(plan.analyst.digest))

    @invariant()
    def the_answer_is_what_the_reports_make_of_it_and_stays(self) -> None:
        with self.database.read() as session:
            content = estimates.find_last(session, self.campaign)
            campaign = campaigns.get(session, self.campaign)
        assert self.answer is None or content == self.answer
        self.answer = content
        if content is not None:
            assert campaign.state == "closed"
            assert content == self.expected_answer(Manifest.read(campaign.manifest))

    def sums(self, index: int) -> np.ndarray:
        return np.bincount(list(self.counted[index].values()), minlength=SIZE).astype(np.int64)

    def expected_answer(self, manifest: Manifest) -> bytes:
        asked = [self.strategy.first, self.strategy.second(self.sums(0))][: len(self.rows())]
        totals = [Aggregate(len(self.counted[index]), self.sums(index)) for index in range(len(asked))]
        closed = tuple(ClosedRound(plan, total) for plan, total in zip(asked, totals, strict=True))
        return statistic_document(manifest, self.strategy.plan(), closed, self.strategy.answer(closed)).content()

    def nothing_waits_for_ever(self) -> None:
        """Once workers that live have done what there is, a closed round has led somewhere or says why not."""
        for row in self.rows():
            assert row.state != RoundState.CLOSED or row.error is not None
            if row.state == RoundState.CLOSED and self.counted[row.index]:
                assert "without a result" in row.error or "is missing" in row.error


def reachable(state: RoundState) -> set[str]:
    found = {state}
    while more := {after for each in found for after in ROUND_TRANSITIONS[each]} - found:
        found |= more
    return {str(each) for each in found}


def run(url: str, strategy: Any, examples: int, steps: int) -> None:
    Rounds.database = Database(url)
    Rounds.strategy, Rounds.request = strategy, strategy.ready_request(Rounds.database)
    # A failure is some twenty steps long and read as it is: to shrink it takes minutes.
    phases = (Phase.explicit, Phase.reuse, Phase.generate)
    options = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        phases=phases,
        suppress_health_check=list(HealthCheck),
    )
    try:
        run_state_machine_as_test(Rounds, settings=options)
    finally:
        Rounds.database.close()


def test_on_sqlite(migrated_sqlite_url: str, two_rounds: Any) -> None:
    run(migrated_sqlite_url, two_rounds, examples=10, steps=20)


def test_on_postgres(migrated_postgres_url: str, two_rounds: Any) -> None:
    run(migrated_postgres_url, two_rounds, examples=6, steps=20)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_for_longer(migrated_sqlite_url: str, two_rounds: Any) -> None:
    run(migrated_sqlite_url, two_rounds, examples=300, steps=60)
