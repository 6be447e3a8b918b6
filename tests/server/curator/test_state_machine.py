"""Any order of releases, replays, crashes, deletions and changes of the cap: noise ≤ ledger ≤ cap."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sordino_analysis.curator.noise import CuratorNoise
from sordino_server.datasets import service as datasets
from sordino_server.datasets.schemas import CapChange
from sordino_server.errors import ServerError
from sordino_server.releases import service as releases
from sordino_server.releases.making import ReleaseTask
from sordino_shared.errors import InvalidValue, SordinoError

NANO_RHO, STEPS = 10_000_000, 150


class Crash(BaseException):
    """The worker ends here: nothing of it runs any more."""


class Machine:
    """Drives one dataset, with a worker that may crash around each of its transactions and its noise."""

    def __init__(self, curator: Any, patch: pytest.MonkeyPatch, seed: int) -> None:
        self.curator, self.chance = curator, random.Random(seed)
        self.dataset = curator.add(cap={"rho": "0.05"}).id
        self.crash_at, self.draws, self.keys = "", 0, 0
        self.asked: dict[str, str] = {}
        self.states: Counter[str] = Counter()
        gaussian = CuratorNoise.gaussian

        def drawn(noise: CuratorNoise, *given: Any) -> Any:
            self.reach("before noise")
            self.draws += 1
            found = gaussian(noise, *given)
            self.reach("after noise")
            return found

        patch.setattr(CuratorNoise, "gaussian", drawn)
        for name in ("charge", "publish"):
            patch.setattr(releases, name, self.crashing(name, getattr(releases, name)))

    def crashing(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*given: Any) -> Any:
            self.reach(f"before {name}")
            found = work(*given)
            # The transaction is rolled back: it was not committed.
            self.reach(f"within {name}")
            return found

        return wrapped

    def reach(self, place: str) -> None:
        if place == self.crash_at:
            raise Crash

    def cap(self) -> int:
        with self.curator.database.read("test") as session:
            return int(datasets.get(session, self.dataset).cap_nano)

    def ask(self) -> None:
        self.keys += 1
        with_key = f"key {self.keys}"
        try:
            self.asked[with_key] = self.curator.request(self.dataset, with_key, "0.01").id
        except ServerError:
            self.states["refused"] += 1

    def replay(self) -> None:
        for key, identifier in self.asked.items():
            assert self.curator.request(self.dataset, key, "0.01").id == identifier

    def work(self) -> None:
        places = ["before charge", "within charge", "before noise", "after noise", "before publish", "within publish"]
        self.crash_at = self.chance.choice([*places, "", "", ""])
        curator, owner = self.curator, f"worker {self.chance.random()}"
        lease = {"owner": owner, "now": curator.clock.now(), "seconds": curator.settings.lease_s}
        row = curator.database.run("claim", lambda session: releases.begin(session, **lease))
        if row is None:
            return
        task = ReleaseTask(database=curator.database, clock=curator.clock, sealer=curator.sealer, owner=owner)
        try:
            task.make(row.id, lambda: False)
        except Crash:
            self.states["crashed"] += 1
        except SordinoError as error:
            text = str(error)
            curator.database.run("fail", lambda session: releases.fail(session, row.id, owner, text, 0))

    def restart(self) -> None:
        self.curator.clock.advance(self.curator.settings.lease_s + 1)

    def delete(self) -> None:
        now = self.curator.clock.now()
        self.curator.database.run("delete", lambda session: datasets.delete_rows(session, self.dataset, now))

    def add_again(self) -> None:
        cap = self.chance.choice([self.cap() / 10**9, self.cap() / 10**9, self.chance.randrange(1, 99) / 100])
        try:
            self.curator.add(cap={"rho": str(cap)})
        except (ServerError, InvalidValue):
            self.states["not added"] += 1

    def change_cap(self) -> None:
        change = CapChange(rho=f"0.{self.chance.randrange(3, 30):02}")

        def act(session: Any) -> None:
            etag = datasets.etag_of(datasets.get(session, self.dataset))
            datasets.change_cap(session, self.dataset, change, etag)

        try:
            self.curator.database.run("change", act)
        except InvalidValue:
            self.states["cap refused"] += 1

    def check(self, spent_before: int) -> int:
        spent = int(self.curator.spent(self.dataset))
        assert self.draws * NANO_RHO <= spent <= self.cap()
        assert spent >= spent_before
        return spent


@pytest.fixture(params=[4, 6])
def machine(
    request: pytest.FixtureRequest,
    curator_on: Callable[[str], Iterator[Any]],
    migrated_sqlite_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Machine]:
    """A machine of each seed."""
    for curator in curator_on(migrated_sqlite_url):
        yield Machine(curator, monkeypatch, request.param)


@pytest.mark.slow
def test_noise_is_within_the_ledger_and_the_ledger_within_the_cap(machine: Machine) -> None:
    actions = [machine.ask] * 4 + [machine.work] * 5 + [machine.restart] * 3
    actions += [machine.replay, machine.delete, *[machine.add_again] * 3, machine.change_cap]
    spent = 0
    for _ in range(STEPS):
        machine.chance.choice(actions)()
        spent = machine.check(spent)
    ended = Counter(machine.curator.release(each).state for each in machine.asked.values())
    # The walk came to everything that it is about.
    assert min(ended["released"], ended["lost"], machine.states["crashed"], machine.states["cap refused"]) > 0
    assert machine.draws < spent // NANO_RHO
