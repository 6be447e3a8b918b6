"""Whatever is in the ledger and whatever the clock shows: an error of the SDK, or a right answer, and nothing else."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing, suppress

import numpy as np
import pytest

from sordino_client import AnswerStatus, ClientError, ClockUnusable, LedgerUnavailable
from sordino_shared.protocol import Problem

COLUMNS = {
    "marks": ("value",),
    "campaigns": ("campaign", "manifest", "assigned_round", "joined_at", "origin"),
    "opt_outs": ("campaign", "at"),
    "debits": ("campaign", "round", "nano", "at"),
    "reports": (
        "campaign", "round", "body", "state", "reason", "retry_min_s", "retry_max_s", "failures", "postponed_at",
        "not_before",
    ),
    "parts": ("digest", "content"),
    "pinned_plans": ("campaign", "round", "digest"),
}  # fmt: skip
VALUES = ("x'ff'", "CAST(x'ff' AS TEXT)", "-1", "9223372036854775807", "9e999", "'text'")


@pytest.fixture
def filled(world, make_client, make_world, ledger):
    """A ledger with a report that waits, one that was sent, and a campaign that was left; gives its bytes."""
    client = make_client()
    client.answer(client.join(world.campaign), "red")
    client.flush()
    for number in (1, 2):
        other = make_world(created_at=number)
        another = make_client(other)
        another.answer(another.join(other.campaign), "red")
    another.opt_out(other.campaign)
    another.close()
    make_client().close()
    return ledger.read_bytes()


def use_all(make_client, world, fresh) -> None:
    """Every call on the ledger gives a result or an error of the SDK."""
    try:
        client, other = make_client(), make_client(fresh)
    except ClientError:
        return
    for step in (
        lambda: str(client.account()),
        lambda: client.join(world.campaign),
        lambda: client.answer(world.campaign, "red"),
        lambda: other.join(fresh.campaign),
        lambda: other.answer(fresh.campaign, "red"),
        lambda: client.flush(patience_s=0),
        lambda: client.opt_out(world.campaign),
    ):
        with suppress(ClientError):
            step()
    client.close()
    other.close()


@pytest.mark.parametrize(("table", "column"), [(table, column) for table in COLUMNS for column in COLUMNS[table]])
def test_a_value_that_no_sdk_wrote(filled, world, make_world, make_client, ledger, table, column) -> None:
    for value in VALUES:
        ledger.write_bytes(filled)
        with closing(sqlite3.connect(ledger, isolation_level=None)) as connection:
            connection.execute("PRAGMA ignore_check_constraints = ON")
            connection.execute("DROP TRIGGER debits_are_final")
            with suppress(sqlite3.Error):
                row = f"(SELECT min(rowid) FROM {table})"
                connection.execute(f"UPDATE {table} SET {column} = {value} WHERE rowid = {row}")
        use_all(make_client, world, make_world(created_at=3))


@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
def test_an_error_that_an_app_keeps_does_not_keep_the_file_locked(filled, make_client, ledger, closed) -> None:
    """Its traceback holds the cursor that met the damaged row, with rows left to read."""
    with closing(sqlite3.connect(ledger, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("UPDATE reports SET state = 'text' WHERE rowid = (SELECT min(rowid) FROM reports)")
    client = make_client()
    with pytest.raises(LedgerUnavailable, match="no SDK wrote") as kept:
        client.account()
    if closed:
        client.close()
    with closing(sqlite3.connect(ledger, timeout=0, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")
    assert kept.value.__traceback__ is not None


@pytest.mark.parametrize("seed", range(6))
def test_bytes_that_were_turned_anywhere(filled, world, make_world, make_client, ledger, seed) -> None:
    """Five spoiled copies a seed, each with some of its bytes replaced, most of them in its first page."""
    rng = np.random.default_rng(seed)
    for _ in range(5):
        content = bytearray(filled)
        span = len(content) if rng.random() < 0.5 else 4096
        for position in rng.integers(16, span, size=rng.integers(1, 200)):
            content[position] = rng.integers(256)
        ledger.write_bytes(content)
        use_all(make_client, world, make_world(created_at=3))
        for companion in ledger.parent.glob(f"{ledger.name}-*"):
            companion.unlink()


@pytest.mark.parametrize("name", ["marks", "debits", "origin"])
def test_a_schema_that_is_no_text(filled, make_client, ledger, name) -> None:
    """SQLite's own message quotes the schema's bytes, and Python cannot read them."""
    ledger.write_bytes(filled.replace(name.encode(), b"\xff" * len(name)))
    with pytest.raises(LedgerUnavailable):
        make_client().account()


ODD = [math.inf, -math.inf, math.nan, 1e18, 1e300, 2.0**63, 10**400, None, "noon"]


@pytest.mark.parametrize("shown", ODD, ids=repr)
def test_an_odd_clock_is_an_error_of_the_sdk_and_spends_nothing(world, make_client, clock, shown) -> None:
    client = make_client()
    campaign = client.join(world.campaign)
    clock.time = shown
    for step in (
        lambda: client.answer(campaign, "red"),
        client.account,
        client.flush,
        lambda: client.opt_out(campaign),
    ):
        with pytest.raises(ClockUnusable, match="set the device's time"):
            step()
    clock.time = 1_800_000_000.0
    assert client.account().lifetime_nano == 0
    assert client.answer(campaign, "red").status is AnswerStatus.RECORDED
    clock.time = shown
    with pytest.raises(ClockUnusable):
        client.flush()
    clock.time = 1_800_000_000.0
    assert client.flush().delivered == 1


@pytest.mark.parametrize("shown", [-1e12, -1.0, 0.0, 253_402_300_799.0])
def test_a_clock_that_is_merely_wrong_works(world, make_client, clock, shown) -> None:
    clock.time = shown
    client = make_client()
    assert client.answer(client.join(world.campaign), "red").status is AnswerStatus.RECORDED
    assert client.flush().delivered == 1
    assert "sent" in str(client.account())


def test_a_clock_that_fails_while_the_server_is_in_trouble(world, make_client, clock) -> None:
    client = make_client()
    clock.time = math.nan
    world.handle = lambda request: world.problem(Problem.UNAVAILABLE, Retry_After="Mon, 01 Jan 2035 00:00:00 GMT")
    with pytest.raises(ClockUnusable):
        client.join(world.campaign)
