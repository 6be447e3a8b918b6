"""Devices on a bad network before a server that crashes: any order of it counts every acknowledged report once."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import numpy as np
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

from sordino_server import aggregates, rounds
from sordino_server.reports import ReportWriter
from sordino_shared.protocol import CBOR_MEDIA_TYPE, ReportBatch, ReportOutcomes, Task

CELLS = 64
SHIFT = 32
LINE = {"name": "value", "kind": "ordinal", "edges": list(range(1, CELLS))}
WORKLOAD = {"name": "buckets", "domain": [LINE], "queries": "histogram"}
NUMBERS = st.lists(st.integers(0, SHIFT - 1), min_size=1, max_size=6, unique=True)


class Crash(Exception):
    """The process died here."""


class Devices(RuleBasedStateMachine):
    """Report n says cell n, or n + 32 when its device randomised twice: every report has a bucket of its own.

    `counted` is the oracle: the bucket of every report that was certainly committed. `unknown` are reports whose device
    hung up before the answer, so that they may count or not, until they are sent again.
    """

    running: Any

    @initialize()
    def create(self) -> None:
        # Two campaigns of one second and with the same terms would be one.
        self.running.clock.advance(1)
        workload = self.running.workload(WORKLOAD)
        self.campaign = self.running.campaign("open", workload=workload)
        self.path = f"/v1/campaigns/{self.campaign['id']}"
        self.part = self.running.device_part(self.campaign)
        self.epoch = Task.read(self.running.anonymous.get(f"{self.path}/task").content).epoch
        with self.running.database.read() as session:
            self.round = rounds.find(session, self.campaign["id"], 0).id
        self.counted: dict[int, int] = {}
        self.unknown: set[int] = set()
        self.open = True
        self.estimates: bytes | None = None

    def body(self, numbers: list[int], shift: int = 0) -> bytes:
        ids = b"".join(self.epoch.to_bytes(2, "big") + number.to_bytes(14, "big") for number in numbers)
        return ReportBatch(self.part.digest, ids, bytes(number + shift for number in numbers)).content

    def send(self, numbers: list[int], shift: int = 0) -> Any:
        headers = {"Content-Type": CBOR_MEDIA_TYPE}
        path = f"{self.path}/rounds/0/reports"
        return self.running.anonymous.post(path, content=self.body(numbers, shift), headers=headers)

    def note(self, numbers: list[int], shift: int) -> list[str]:
        """Apply a delivered request to the oracle: what becomes of each report; "?" where it was unknown."""
        fates = []
        for number in numbers:
            if number in self.unknown:
                self.unknown.discard(number)
                fates.append("?")
            else:
                known = self.counted.get(number)
                fates.append("new" if known is None else "replayed" if known == number + shift else "conflict")
            self.counted.setdefault(number, number + shift)
        return fates

    # --- devices and the network between

    @rule(numbers=NUMBERS)
    def upload_or_replay(self, numbers: list[int]) -> None:
        self.answered(numbers, 0)

    @rule(numbers=NUMBERS)
    def replay_altered(self, numbers: list[int]) -> None:
        if known := [number for number in numbers if number not in self.unknown]:
            self.answered(known, SHIFT)

    def answered(self, numbers: list[int], shift: int) -> None:
        response = self.send(numbers, shift)
        if not self.open:
            assert response.status_code == 409, response.text
            return
        outcomes = ReportOutcomes.read(response.content)
        fates = self.note(numbers, shift)
        assert [report.index for report in outcomes.refused] == [
            index for index, fate in enumerate(fates) if fate == "conflict"
        ]
        assert 0 <= outcomes.accepted - fates.count("new") <= fates.count("?")
        assert outcomes.accepted + outcomes.replayed + len(outcomes.refused) == len(numbers)

    @rule(numbers=NUMBERS)
    def drop_response(self, numbers: list[int]) -> None:
        """The device will send the same again, since it heard nothing."""
        self.send(numbers)
        if self.open:
            self.note(numbers, 0)

    @rule(numbers=NUMBERS, part=st.floats(0, 1))
    def drop_request(self, numbers: list[int], part: float) -> None:
        """The connection breaks before the last byte is through."""
        body = self.body(numbers)
        self.hang_up(body, int(part * (len(body) - 1)))

    @rule(numbers=NUMBERS)
    def hang_up_before_the_answer(self, numbers: list[int]) -> None:
        body = self.body(numbers)
        self.hang_up(body, len(body))
        if self.open:
            self.unknown |= set(numbers) - self.counted.keys()

    def hang_up(self, body: bytes, sent: int) -> None:
        place = urlsplit(self.running.address)
        head = (
            f"POST {self.path}/rounds/0/reports HTTP/1.1\r\nHost: {place.netloc}\r\n"
            f"Content-Type: {CBOR_MEDIA_TYPE}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection((place.hostname, place.port)) as connection:
            connection.sendall(head.encode() + body[:sent])

    # --- the server

    @precondition(lambda self: self.open)
    @rule(numbers=NUMBERS, committed=st.booleans(), restarted=st.booleans())
    def crash_between_write_and_answer(self, numbers: list[int], committed: bool, restarted: bool) -> None:
        run = self.running.database.run

        def crash(name: str, work: Callable[..., Any]) -> None:
            def dying(session: object) -> None:
                work(session)
                if not committed:
                    raise Crash

            run(name, dying)
            raise Crash

        numbers = [number for number in numbers if number not in self.unknown]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.running.database, "run", crash)
            if numbers:
                assert self.send(numbers).status_code == 500
        if committed:
            self.note(numbers, 0)
        if restarted:
            self.restart()

    @rule()
    def restart(self) -> None:
        state = self.running.app.state
        state.report_writer.close()
        state.report_writer = ReportWriter(self.running.database, self.running.clock).start()

    @rule(seconds=st.integers(-100_000, 100_000))
    def advance_clock(self, seconds: int) -> None:
        self.running.clock.advance(seconds)

    # --- operators

    @precondition(lambda self: self.open and len(self.counted) > 10)
    @rule()
    def close_round(self) -> None:
        self.running.api.post(f"{self.path}/close").raise_for_status()
        self.open = False
        counts = self.counts()
        # From now on nothing changes: what was unknown is decided.
        self.counted |= {number: number for number in self.unknown if number in counts}
        self.unknown.clear()

    @rule()
    def query(self) -> None:
        (status,) = self.running.api.get(f"{self.path}/status").raise_for_status().json()["rounds"]
        assert 0 <= status["reports"] - len(self.counted) <= len(self.unknown)
        if self.open:
            return
        self.running.work()
        answer = self.running.api.get(f"{self.path}/rounds/0/estimates").raise_for_status()
        assert answer.json()["terms"]["users"] == len(self.counted)
        self.estimates = self.estimates or answer.content
        assert answer.content == self.estimates

    def counts(self) -> dict[int, int]:
        """Count by bucket that is not empty; the shards of all writers must agree with the log."""
        database = self.running.database
        total = aggregates.aggregate(database, self.round, self.part.randomizer)
        if not self.unknown:
            logged = aggregates.re_aggregate(database, self.round, self.part.randomizer, total.count)
            assert logged.sums.tobytes() == total.sums.tobytes()
        return {int(cell): int(total.sums[cell]) for cell in np.flatnonzero(total.sums)}

    @invariant()
    def every_report_is_counted_once(self) -> None:
        counts = self.counts()
        assert set(counts.values()) <= {1}
        assert set(self.counted.values()) <= counts.keys() <= {*self.counted.values(), *self.unknown}

    def teardown(self) -> None:
        """What devices heard nothing of they send again; then every report counts exactly once."""
        if getattr(self, "open", False) and self.unknown:
            self.answered(sorted(self.unknown), 0)
            assert self.counts() == dict.fromkeys(self.counted.values(), 1)


def run(running: Any, examples: int, steps: int) -> None:
    Devices.running = running
    options = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(Devices, settings=options)


def test_devices_on_sqlite(running: Any) -> None:
    run(running, examples=6, steps=20)


def test_devices_on_postgresql(running_on_postgres: Any) -> None:
    run(running_on_postgres, examples=6, steps=20)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("engine", ["running", "running_on_postgres"])
def test_devices_for_longer(engine: str, request: pytest.FixtureRequest) -> None:
    run(request.getfixturevalue(engine), examples=150, steps=50)
