"""Leases: one holder at a time, lost when they run out, and never granted to two workers at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from sordino_server import models, rounds
from sordino_server.kit import leases
from sordino_server.kit.db import Database
from sordino_server.kit.leases import LeaseLost


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    database = Database(request.getfixturevalue(f"migrated_{request.param}_url"))
    yield database
    database.close()


@pytest.fixture
def closed(database, store_round) -> int:
    stored = store_round(database)
    with database.write("close") as session:
        rounds.close_round(database, session, stored.campaign, 0, 1)
    return stored.id


def claim(database: Database, owner: str, now: int) -> int | None:
    with database.write("claim") as session:
        row = rounds.claim_closed_round(session, owner=owner, now=now, seconds=30)
        return None if row is None else row.id


def test_a_lease_is_one_holders_until_it_runs_out(database, closed):
    assert claim(database, "first", 100) == closed
    assert claim(database, "second", 129) is None
    assert claim(database, "second", 130) == closed
    with pytest.raises(LeaseLost), database.write("late") as session:
        leases.renew(session, models.Round, closed, owner="first", now=131, seconds=30)


def test_a_renewed_lease_lasts_longer(database, closed):
    claim(database, "first", 100)
    with database.write("renew") as session:
        leases.renew(session, models.Round, closed, owner="first", now=120, seconds=30)
    assert claim(database, "second", 149) is None
    assert claim(database, "second", 150) == closed


def test_a_released_row_is_free_at_once(database, closed):
    claim(database, "first", 100)
    with database.write("release") as session:
        leases.release(leases.hold(session, models.Round, closed, "first"))
    assert claim(database, "second", 101) == closed
    with database.read() as session:
        assert session.get_one(models.Round, closed).attempts == 2


def test_a_clock_that_was_set_back_does_not_hold_a_row_until_it_is_past_again(database, closed):
    assert claim(database, "dead", 86_400) == closed
    assert claim(database, "second", 86_400 - 30) is None, "two machines' clocks may differ by a lease"
    assert claim(database, "second", 100) == closed
    assert claim(database, "third", 101) is None


def test_the_result_of_a_lost_lease_is_dropped(database, closed):
    claim(database, "first", 100)
    claim(database, "second", 200)
    with pytest.raises(LeaseLost), database.write("result") as session:
        rounds.mark_estimated(session, closed, "first")
    with database.write("result") as session:
        rounds.mark_estimated(session, closed, "second")
    with database.read() as session:
        assert session.get_one(models.Round, closed).state == "estimated"
    assert claim(database, "third", 999) is None


def test_two_workers_never_hold_the_same_row(database, store_round):
    numbers = set()
    for _ in range(6):
        stored = store_round(database)
        with database.write("close") as session:
            rounds.close_round(database, session, stored.campaign, 0, 1)
        numbers.add(stored.id)
    claimed: list[int] = []
    start = threading.Barrier(6)

    def work(owner: str) -> None:
        start.wait()
        while (number := claim(database, owner, 100)) is not None:
            claimed.append(number)

    threads = [threading.Thread(target=work, args=(f"worker {index}",)) for index in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(claimed) == sorted(numbers)
