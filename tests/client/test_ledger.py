"""Caps per period and for life, by a clock that frees nothing; the bounded spool; debits that stay."""

from __future__ import annotations

import sqlite3

import pytest

from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_client import AnswerStatus, BudgetExceeded, Caps, PureEpsilon, SpoolFull
from sordino_shared.errors import InvalidValue

DAY = 86_400


class CountingRandomness(SeededRandomness):
    """Counts draws, so that a test sees whether anything was randomised."""

    draws = 0

    def bytes(self, count: int) -> bytes:
        self.draws += 1
        return super().bytes(count)


@pytest.fixture
def spend(world, make_client):
    """Answer one more campaign at ε = 1."""
    number = iter(range(1000))

    def answer(**changes):
        other = type(world)(world.part, created_at=next(number))
        client = make_client(other, **changes)
        return client.answer(client.join(other.campaign), "red")

    return answer


def caps(period: float, life: float) -> Caps:
    return Caps(PureEpsilon.of(period), 30, PureEpsilon.of(life))


def test_the_cap_of_the_period_refuses_before_anything_is_randomised(spend, clock) -> None:
    assert spend(caps=caps(2, 10)).status is AnswerStatus.RECORDED
    assert spend(caps=caps(2, 10)).status is AnswerStatus.RECORDED
    randomness = CountingRandomness(1)
    with pytest.raises(BudgetExceeded) as caught:
        spend(caps=caps(2, 10), randomness=randomness)
    error = caught.value
    assert (error.scope, error.cap) == ("in 30 days", PureEpsilon.of(2))
    assert error.spent.nano + error.asked.nano > error.cap.nano
    assert randomness.draws == 0
    clock.time += 30 * DAY + 1
    assert spend(caps=caps(2, 10)).status is AnswerStatus.RECORDED


def test_the_cap_for_life_never_ends(spend, clock) -> None:
    for _ in range(3):
        spend(caps=caps(1, 3))
        clock.time += 31 * DAY
    clock.time += 3650 * DAY
    with pytest.raises(BudgetExceeded, match="for life"):
        spend(caps=caps(1, 3))


@pytest.mark.parametrize("jump", [-1, -29 * DAY, -31 * DAY, -3650 * DAY])
def test_a_clock_set_back_refunds_nothing(spend, clock, jump) -> None:
    spend(caps=caps(1, 10))
    clock.time += jump
    with pytest.raises(BudgetExceeded):
        spend(caps=caps(1, 10))
    clock.time += 29 * DAY - jump
    with pytest.raises(BudgetExceeded):
        spend(caps=caps(1, 10))


def test_what_is_spent_in_a_wrong_future_stays_spent_until_that_future_is_past(spend, clock) -> None:
    clock.time += 300 * DAY
    spend(caps=caps(1, 10))
    clock.time -= 300 * DAY
    for _ in range(10):
        clock.time += 30 * DAY
        with pytest.raises(BudgetExceeded):
            spend(caps=caps(1, 10))
    clock.time += 31 * DAY
    assert spend(caps=caps(1, 10)).status is AnswerStatus.RECORDED


def test_opting_out_refills_nothing(world, make_client, spend) -> None:
    client = make_client(caps=caps(1, 10))
    client.answer(client.join(world.campaign), "red")
    client.opt_out(world.campaign)
    with pytest.raises(BudgetExceeded):
        spend(caps=caps(1, 10))


def test_a_full_spool_refuses_before_anything_is_spent(spend, make_client) -> None:
    spend(spool_limit=2)
    spend(spool_limit=2)
    randomness = CountingRandomness(1)
    with pytest.raises(SpoolFull) as caught:
        spend(spool_limit=2, randomness=randomness)
    assert caught.value.limit == 2
    assert randomness.draws == 0
    assert len([c for c in make_client().account().campaigns if c.entries]) == 2


def test_only_as_many_small_parts_are_kept_as_stated(make_world, make_part, make_client, ledger) -> None:
    for number in range(10):
        world = make_world(make_part(0.1 + number / 1000))
        client = make_client(world)
        client.answer(client.join(world.campaign), "red")
    with sqlite3.connect(ledger) as connection:
        assert connection.execute("SELECT count(*) FROM parts").fetchone() == (8,)


@pytest.mark.parametrize("statement", ["DELETE FROM debits", "UPDATE debits SET nano = 0"])
def test_the_database_itself_refuses_to_forget_a_debit(spend, ledger, statement) -> None:
    spend()
    with sqlite3.connect(ledger) as connection, pytest.raises(sqlite3.IntegrityError, match="debits are"):
        connection.execute(statement)


def test_impossible_caps_are_refused() -> None:
    with pytest.raises(InvalidValue, match="never be reached"):
        caps(2, 1)
    with pytest.raises(InvalidValue, match="period in days"):
        Caps(PureEpsilon.of(1), 0, PureEpsilon.of(1))


def test_what_is_spent_by_a_clock_set_back_does_not_expire_early(spend, clock) -> None:
    spend(caps=caps(2, 10))
    clock.time -= 29 * DAY
    spend(caps=caps(2, 10))
    clock.time += 29 * DAY + 2 * DAY
    with pytest.raises(BudgetExceeded):
        spend(caps=caps(2, 10))
