"""A ledger of format 6 dated debits of series at their period's start: brought up, no budget may appear."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from sordino_client import BudgetExceeded, Caps, LedgerUnavailable, PureEpsilon
from tests.client.conftest import DAY_S, SERIES_START

DAY, START = DAY_S, SERIES_START
# The second at which each debit of the dump was made: a period of 40 days that began 31 days before, a series of
# yesterday late by a day and a half, one round, one round with the clock a year ahead, a series with the clock set
# back again.
AHEAD = START + 300 * DAY + 1
MADE = [START + 100, START + 2.5 * DAY, START + 2.5 * DAY, AHEAD, AHEAD]


@pytest.fixture
def old(ledger, clock) -> Path:
    clock.time = START + 3.5 * DAY
    with sqlite3.connect(ledger) as connection:
        connection.executescript((Path(__file__).parent / "ledgers" / "format_6.sql").read_text())
    return ledger


def entries(client):
    return [entry for campaign in client.account().campaigns for entry in campaign.entries]


def test_debits_of_series_are_dated_no_earlier_than_they_were_made(old, make_client) -> None:
    """At the end of the period's acceptance, later by as much as the ledger's time was than the clock."""
    found = entries(make_client())
    assert all(entry.at >= made for entry, made in zip(found, MADE, strict=True))
    assert [entry.at - START for entry in found] == [9 * DAY, 4 * DAY, 2.5 * DAY, 300 * DAY + 1, 300 * DAY + 1]
    assert [entry.period_start for entry in found] == [START - 31 * DAY, START, None, None, START + 3 * DAY]


def test_what_was_spent_counts_against_the_cap_again(old, make_client, make_world, clock) -> None:
    """Before, ε 2 of the 5 counted, since three debits were dated at their periods."""
    caps = Caps(PureEpsilon.of(5), 400, PureEpsilon.of(100))
    another = make_world(created_at=9)
    client = make_client(another, caps=caps)
    with pytest.raises(BudgetExceeded, match="in 400 days"):
        client.answer(client.join(another.campaign), "red")
    assert client.account().period_nano == 5 * 10**9


def test_it_is_done_once_and_debits_are_final_again(old, make_client) -> None:
    first, second = entries(make_client()), entries(make_client())
    assert first == second
    with sqlite3.connect(old) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (10,)
        for statement in ("UPDATE debits SET at = 0", "DELETE FROM debits"):
            with pytest.raises(sqlite3.IntegrityError, match="debits are"):
                connection.execute(statement)


@pytest.mark.parametrize(
    "manifest", ["x'a0'", "17", "(SELECT manifest FROM campaigns ORDER BY rowid LIMIT 1 OFFSET 2)"]
)
def test_a_damaged_manifest_leaves_the_ledger_as_it_was(old, make_client, manifest) -> None:
    with sqlite3.connect(old) as connection:
        connection.execute(f"UPDATE campaigns SET manifest = {manifest} WHERE rowid = 1")
    content = old.read_bytes()
    with pytest.raises(LedgerUnavailable, match="damaged"):
        make_client()
    assert old.read_bytes() == content
