"""A state machine of owners of a store: what they did, and what the store and its server must say of it.

The oracle is written from docs/backends.md and docs/series.md alone: it knows neither the tables nor their statements.
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from sordino_client import AnswerStatus, BudgetExceeded, Caps, PlanUnavailable
from sordino_client.backend import LedgerStore
from sordino_client.testing import Categorical, Daily, Domain, FakeServer, ShakeRandomness

OS = Domain((Categorical("os", ("linux", "macos"), other=True),))
KEY = bytes(range(32))
EXAMPLES = 25
DAY, LATE, SLOTS = 86_400, 3600, 2
# ε of all answers of an owner in WINDOW days, and for life.
MOST, WINDOW, LIFE = 2, 3, 6
ROUND, SERIES = 0, 1
NAMES = ("a", "b", "c")
# A task of a round holds offline to the midnight eight days later; in between both may be.
SURELY_HOLDS, SURELY_OVER = 6 * DAY, 9 * DAY


def emptied(target: str) -> None:
    """Begin with a database without tables: an example that is repeated finds what it found before."""
    if "://" in target:
        with psycopg.connect(target, autocommit=True) as connection:
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
    else:
        for end in ("", "-wal", "-shm"):
            Path(target + end).unlink(missing_ok=True)


class Person:
    """What one owner did, and what became of each report: the key is the campaign and its round or period."""

    def __init__(self) -> None:
        self.draws: list[int] = []
        self.states: dict[tuple[int, int], str] = {}
        self.at: dict[tuple[int, int], int] = {}
        self.left_all = False
        self.left: set[int] = set()
        self.phase: int | None = None

    def now(self, clock: float) -> int:
        """The time of a debit: the clock, and never before an earlier debit."""
        return max([math.ceil(clock), *self.draws])

    def may_spend(self, clock: float) -> bool:
        """Whether one more answer of ε 1 is within the caps."""
        window = sum(at > self.now(clock) - WINDOW * DAY for at in self.draws)
        return window < MOST and len(self.draws) < LIFE

    def periods(self) -> list[int]:
        """The periods that were answered."""
        return [number for which, number in self.states if which == SERIES]

    def leave(self, which: int | None) -> None:
        """Reports that wait are deleted."""
        for key, state in self.states.items():
            if state == "spooled" and which in (None, key[0]):
                self.states[key] = "deleted"


class Owners(RuleBasedStateMachine):
    """Owners who answer, leave and come back, a clock that jumps, a wire that loses answers, and restarts."""

    target: str

    def __init__(self) -> None:
        super().__init__()
        emptied(self.target)
        terms = Daily(slots=SLOTS, late_s=LATE)
        self.servers = (FakeServer(OS), FakeServer(OS, series=terms))
        assignment: Any = self.servers[SERIES].manifest.assignment
        self.start = int(assignment.start)
        self.people = {name: Person() for name in NAMES}
        self.online, self.losing, self.held = [True, True], [0, 0], [0.0, 0.0]
        self.read_at = [self.clock, self.clock]
        self.counted: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
        self.sent: set[tuple[str, int, int]] = set()
        self.stores = self._open()
        for store, server in zip(self.stores, self.servers, strict=True):
            store.join(server.campaign)

    def _open(self) -> list[LedgerStore]:
        caps = Caps.of(MOST, days=WINDOW, lifetime=LIFE)
        return [
            LedgerStore(
                self.target, server=f"https://s{number}.example", caps=caps, key=KEY, transport=server,
                clock=self.servers[ROUND], randomness=ShakeRandomness(number),
            )
            for number, server in enumerate(self.servers)
        ]  # fmt: skip

    @property
    def clock(self) -> float:
        return self.servers[ROUND].now()

    @rule(name=st.sampled_from(NAMES), which=st.sampled_from([ROUND, SERIES]))
    def answer(self, name: str, which: int) -> None:
        person, server = self.people[name], self.servers[which]
        age = self.clock - self.read_at[which]
        try:
            answer = self._owner(name, which).answer(server.campaign, "linux")
            status, number = answer.status.value, answer.round
        except BudgetExceeded:
            status, number = "cap", None
        except PlanUnavailable:
            assert which == ROUND
            assert not self.online[which]
            assert not 0 <= age < SURELY_HOLDS, "a task that holds was not taken"
            return
        if self.online[which]:
            self.read_at[which] = self.read_at[which] if 0 <= age < 60 else self.clock
        else:
            assert which == SERIES or 0 <= age < SURELY_OVER, "an old task was taken"
        assert status in self._expected(person, which), (status, self._expected(person, which))
        if status == AnswerStatus.RECORDED:
            assert number == (0 if which == ROUND else self._period())
            self._record(person, which, number)
        self._check(name)

    def _period(self) -> int:
        return (math.floor(self.clock) - self.start) // DAY

    def _expected(self, person: Person, which: int) -> set[str]:
        """What an answer may become; two of them where nobody knows the phase yet."""
        spends = "recorded" if person.may_spend(self.clock) else "cap"
        if person.left_all or which in person.left:
            return {"opted_out"}
        if which == ROUND:
            return {"already_answered" if (ROUND, 0) in person.states else spends}
        period, answered = self._period(), person.periods()
        if period < 0:
            return {"not_this_period"}
        if person.phase is None:
            return {"not_this_period", spends}
        if period % SLOTS != person.phase:
            return {"not_this_period"}
        if answered and period == max(answered):
            return {"already_answered"}
        pause_until = max((person.at[SERIES, each] for each in answered), default=0) + (SLOTS - 1) * DAY - LATE
        if answered and (period < max(answered) + SLOTS or math.floor(self.clock) < pause_until):
            return {"not_this_period"}
        return {spends}

    def _record(self, person: Person, which: int, number: int) -> None:
        at = person.now(self.clock)
        person.draws.append(at)
        assert (which, number) not in person.states
        person.states[which, number], person.at[which, number] = "spooled", at
        if which == SERIES:
            assert person.phase in (None, number % SLOTS)
            person.phase = number % SLOTS

    @rule(hours=st.sampled_from([-30, -1, 1, 20, 25, 48, 80]))
    def travel(self, hours: int) -> None:
        for server in self.servers:
            server.travel(hours=hours)

    @rule(seconds=st.sampled_from([1, 61, 1800]))
    def wait(self, seconds: int) -> None:
        for server in self.servers:
            server.travel(seconds=seconds)

    @rule(which=st.sampled_from([ROUND, SERIES]))
    def flush(self, which: int) -> None:
        before = len(self.servers[which].requests)
        waiting = self._waiting(which)
        flushed = self.stores[which].flush()
        expired = {key for key in waiting if self._is_over(which, key[1])}
        for name, number in expired:
            self.people[name].states[which, number] = "expired"
        waiting -= expired
        if self.clock < self.held[which] or not waiting:
            assert (flushed.delivered, len(self.servers[which].requests)) == (0, before)
        elif not self.online[which]:
            assert flushed.delivered == 0
            self._hold(which, flushed.retry_in_s)
        else:
            self._sent(which, waiting, flushed)
        assert flushed.waiting == len(self._waiting(which))
        for name in NAMES:
            self._check(name)

    def _sent(self, which: int, waiting: set[tuple[str, int]], flushed: Any) -> None:
        """The rounds or periods follow one another; an answer that is lost ends the sending."""
        delivered = 0
        for number in sorted({number for _, number in waiting}):
            group = [key for key in waiting if key[1] == number]
            early = which == SERIES and self.clock < self.start + number * DAY
            new = [(name, which, number) for name, _ in group if (name, which, number) not in self.sent]
            if not early:
                self.counted[which][number] += len(new)
                self.sent.update(new)
            if self.losing[which]:
                self.losing[which] -= 1
                self._hold(which, flushed.retry_in_s)
                break
            self.held[which] = 0.0
            for name, _ in group:
                self.people[name].states[which, number] = "refused" if early else "delivered"
            delivered += 0 if early else len(group)
        assert flushed.delivered == delivered

    def _hold(self, which: int, retry_in_s: float | None) -> None:
        assert retry_in_s is not None
        assert retry_in_s >= 1
        self.held[which] = self.clock + retry_in_s

    def _is_over(self, which: int, number: int) -> bool:
        return which == SERIES and math.floor(self.clock) >= self.start + (number + 1) * DAY + LATE

    def _waiting(self, which: int) -> set[tuple[str, int]]:
        found = ((name, key) for name, person in self.people.items() for key in person.states)
        return {(name, key[1]) for name, key in found if key[0] == which and self.people[name].states[key] == "spooled"}

    @rule(which=st.sampled_from([ROUND, SERIES]))
    def lose(self, which: int) -> None:
        self.servers[which].lose_answers(1)
        self.losing[which] += 1

    @rule(which=st.sampled_from([ROUND, SERIES]), online=st.booleans())
    def connect(self, which: int, online: bool) -> None:
        server = self.servers[which]
        server.online() if online else server.offline()
        self.online[which] = online

    @rule(name=st.sampled_from(NAMES))
    def leave(self, name: str) -> None:
        person, owner = self.people[name], self._owner(name, ROUND)
        assert owner.opted_out == person.left_all
        if person.left_all:
            owner.opt_in()
        else:
            owner.opt_out_all()
            person.leave(None)
        person.left_all = not person.left_all
        self._check(name)

    @rule(name=st.sampled_from(NAMES), which=st.sampled_from([ROUND, SERIES]))
    def leave_one(self, name: str, which: int) -> None:
        person = self.people[name]
        self._owner(name, which).opt_out(self.servers[which].campaign)
        person.left.add(which)
        person.leave(which)
        self._check(name)

    @rule()
    def restart(self) -> None:
        for store in self.stores:
            store.close()
        # What waits for trouble to end is in memory alone.
        self.stores, self.held = self._open(), [0.0, 0.0]

    def _owner(self, name: str, which: int) -> Any:
        return self.stores[which].owner(name)

    def _check(self, name: str) -> None:
        """The account, and the reports that servers counted, are those of the oracle."""
        person, account = self.people[name], self._owner(name, ROUND).account()
        assert account.lifetime_nano == 10**9 * len(person.draws)
        campaigns = [str(server.campaign) for server in self.servers]
        said = {
            (campaigns.index(str(each.campaign)), entry.round): (entry.state, entry.at)
            for each in account.campaigns for entry in each.entries
        }  # fmt: skip
        assert said == {key: (state, person.at[key]) for key, state in person.states.items()}
        for server, counted in zip(self.servers, self.counted, strict=True):
            assert Counter(report.round for report in server.received) == +counted

    def teardown(self) -> None:
        for name in NAMES:
            self._check(name)
        for store in self.stores:
            store.close()


def run(target: str, examples: int) -> None:
    """So many examples on one database."""
    run_state_machine_as_test(
        type("Machine", (Owners,), {"target": target}),
        settings=settings(
            max_examples=examples, stateful_step_count=25, deadline=None,
            suppress_health_check=list(HealthCheck), database=None, derandomize=True,
        ),
    )  # fmt: skip


# Each is about what random steps reach seldom. Owners differ in their phase, so that `all` do what one of them shows.
SCRIPTS = {
    "a debit counts to the last second of its window": (
        "all 0, all 1, all 1, travel 25, all 1, travel 46, wait 3599, all 1, wait 1, all 1, all 1"
    ),
    "a clock that goes back frees nothing": (
        "all 1, travel 25, all 1, travel -20, all 0, travel 20, travel 35, all 1, travel 24, all 1"
    ),
    "a series pauses by the time of its debit": (
        "travel 128, all 0, travel -128, all 1, travel 25, all 1, travel 25, all 1, travel 25, all 1, travel 48, "
        "all 1, travel 25, all 1"
    ),
    "leaving deletes reports and keeps debits": (
        "all 0, all 1, travel 25, all 1, leave a, answer a 0, leave a, answer a 0, flush 0, flush 1, travel 24, "
        "all 1, travel 22, all 1, leave_one b 1, leave_one c 0, all 0, all 1"
    ),
    "leaving and coming back before the first answer": (
        "leave a, answer a 0, leave a, answer a 0, leave_one b 0, answer b 0, leave_one a 0, flush 0"
    ),
    "a lost answer is no second report": (
        "all 0, all 1, lose 0, flush 0, flush 0, travel 25, restart, flush 0, all 1, lose 1, flush 1, leave a, "
        "travel 1, flush 1, flush 1"
    ),
    "late reports count to the last second": (
        "travel 15, all 1, travel 1, all 1, wait 3599, flush 1, travel 22, wait 3600, all 1, travel 1, flush 1"
    ),
    "an answer that nobody can send expires": (
        "connect 1 0, all 1, travel 25, all 1, travel 48, flush 1, connect 1 1, flush 1"
    ),
    "a report of a later period is refused": "all 1, travel 25, all 1, travel -20, flush 1",
    "trouble is waited for": "all 0, connect 0 0, flush 0, connect 0 1, flush 0, travel 25, flush 0",
    "a pause is no longer than it is": ("travel 15, all 1, travel 24, all 1, travel 2, all 1, travel 24, all 1"),
    "a task is no longer taken offline": ("connect 0 0, travel 80, all 0, restart, travel 80, travel 80, all 0"),
}


def run_scripts(target: str) -> None:
    """The steps of each script, such as `answer a 0, travel 25, flush 0`, by owners of its own."""
    kind = type("Scripted", (Owners,), {"target": target})
    for script in SCRIPTS.values():
        machine = kind()
        for step in script.split(","):
            name, *words = step.split()
            given = [int(word) if word.lstrip("-").isdigit() else word for word in words]
            if name == "all":
                for each in NAMES:
                    machine.answer(each, *given)
            else:
                getattr(machine, name)(*given)
        machine.teardown()
