"""Any order of uploads, replays, crashes, restarts and closing: the counts are those of a dictionary of reports."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from sordino_server import rounds
from sordino_server.kit.clock import ManualClock
from sordino_server.kit.db import Database
from sordino_server.reports import ReportWriter, RoundNotOpen, Upload
from sordino_shared.protocol import Refusal
from tests.patience import PATIENCE_S

SHIFT = 5000
NUMBERS = st.lists(st.integers(0, 30), min_size=1, max_size=6)


class Crash(Exception):
    """The process died here."""


class Reports(RuleBasedStateMachine):
    """`counted` is the oracle: the bucket of every report number that is committed."""

    template: Path
    buckets: Callable

    @initialize()
    def create(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="sordino-reports-"))
        shutil.copy(self.template, self.folder / "store.sqlite3")
        self.database = Database(f"sqlite:///{self.folder}/store.sqlite3")
        self.round = self.buckets(self.database)
        self.counted: dict[int, int] = {}
        self.conflicts = 0
        self.open = True
        self.clock = ManualClock()
        self.writer = ReportWriter(self.database, self.clock).start()

    def teardown(self) -> None:
        self.writer.close()
        self.database.close()
        shutil.rmtree(self.folder)

    def expect(self, numbers: list[int], shift: int) -> tuple[int, int, list[int]]:
        """Apply an upload to the oracle: accepted, replayed, refused indices."""
        accepted = replayed = 0
        refused = []
        for index, number in enumerate(numbers):
            if number not in self.counted:
                self.counted[number] = number + shift
                accepted += 1
            elif self.counted[number] == number + shift:
                replayed += 1
            else:
                refused.append(index)
        return accepted, replayed, refused

    def send(self, upload: Upload, numbers: list[int], shift: int) -> None:
        future = self.writer.submit(upload)
        if not self.open:
            assert isinstance(future.exception(timeout=PATIENCE_S), RoundNotOpen)
            return
        outcomes = future.result(timeout=PATIENCE_S)
        accepted, replayed, refused = self.expect(numbers, shift)
        assert (outcomes.accepted, outcomes.replayed) == (accepted, replayed)
        assert [(report.index, report.reason) for report in outcomes.refused] == [
            (index, Refusal.ID_CONFLICT) for index in refused
        ]

    @rule(numbers=NUMBERS)
    def upload_or_replay(self, numbers: list[int]) -> None:
        self.send(self.round.upload(numbers), numbers, 0)

    @rule(numbers=NUMBERS)
    def upload_altered(self, numbers: list[int]) -> None:
        self.send(self.round.upload(numbers, SHIFT), numbers, SHIFT)

    @precondition(lambda self: self.open)
    @rule(numbers=NUMBERS, committed=st.booleans(), restart=st.booleans())
    def crash_before_the_answer(self, numbers: list[int], committed: bool, restart: bool) -> None:
        run = self.database.run

        def crash(name: str, work: Callable) -> None:
            def dying(session: object) -> None:
                work(session)
                if not committed:
                    raise Crash

            run(name, dying)
            raise Crash

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.database, "run", crash)
            assert isinstance(self.writer.submit(self.round.upload(numbers)).exception(timeout=PATIENCE_S), Crash)
        if committed:
            self.expect(numbers, 0)
        if restart:
            self.restart()

    @rule()
    def restart(self) -> None:
        self.writer.close()
        self.writer = ReportWriter(self.database, self.clock).start()

    @rule(seconds=st.integers(-5, 1000))
    def advance_clock(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @precondition(lambda self: self.open and len(self.counted) > 10)
    @rule()
    def close_round(self) -> None:
        with self.database.write("close") as session:
            rounds.close_round(self.database, session, self.round.campaign, 0, self.clock.now())
        self.open = False

    @invariant()
    def every_report_is_counted_once(self) -> None:
        assert self.round.counts(self.database) == dict.fromkeys(self.counted.values(), 1)


def run(template: str, buckets: Callable, examples: int, steps: int) -> None:
    Reports.template = Path(template.removeprefix("sqlite:///"))
    Reports.buckets = staticmethod(buckets)
    options = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(Reports, settings=options)


def test_counts_are_those_of_a_dictionary(migrated_sqlite_url, buckets):
    run(migrated_sqlite_url, buckets, examples=6, steps=20)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_counts_are_those_of_a_dictionary_for_longer(migrated_sqlite_url, buckets):
    run(migrated_sqlite_url, buckets, examples=400, steps=60)
