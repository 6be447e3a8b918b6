"""What a ledger remembers beside its answers: the highest time of any debit, and what its owner left."""

from __future__ import annotations

import sqlite3

from sordino_client._clock import LATEST_S
from sordino_client._storage import whole
from sordino_shared.protocol import CampaignId

_HIGH_WATER = "high_water"
_LEFT_ALL = "left_all"


def high_water(connection: sqlite3.Connection) -> int:
    """The highest time of a debit; 0 before the first."""
    return _mark(connection, _HIGH_WATER) or 0


def set_high_water(connection: sqlite3.Connection, now: int) -> None:
    """Remember `now`, the time of a debit, so that setting the clock back frees nothing."""
    connection.execute("INSERT OR REPLACE INTO marks VALUES (?, ?)", (_HIGH_WATER, now))


def left_all(connection: sqlite3.Connection) -> bool:
    """Whether the owner left all campaigns and did not come back."""
    return left_all_at(connection) is not None


def left_all_at(connection: sqlite3.Connection) -> int | None:
    """When the owner left all campaigns, in Unix seconds; None where they did not, or came back."""
    return _mark(connection, _LEFT_ALL)


def opted_out(connection: sqlite3.Connection, campaign: CampaignId) -> bool:
    """Whether the owner left this campaign."""
    return connection.execute("SELECT 1 FROM opt_outs WHERE campaign = ?", (bytes(campaign),)).fetchone() is not None


def left(connection: sqlite3.Connection, campaign: CampaignId) -> bool:
    """Whether the owner left this campaign, or all."""
    return left_all(connection) or opted_out(connection, campaign)


def leave(connection: sqlite3.Connection, campaign: CampaignId, now: int) -> None:
    """Remember permanently that the owner left this campaign at `now`."""
    connection.execute("INSERT INTO opt_outs VALUES (?, ?) ON CONFLICT DO NOTHING", (bytes(campaign), now))


def leave_all(connection: sqlite3.Connection, now: int) -> None:
    """Remember that the owner left all campaigns at `now`."""
    connection.execute("INSERT OR IGNORE INTO marks VALUES (?, ?)", (_LEFT_ALL, now))


def come_back(connection: sqlite3.Connection) -> None:
    """Forget that the owner left all campaigns."""
    connection.execute("DELETE FROM marks WHERE name = ?", (_LEFT_ALL,))


def _mark(connection: sqlite3.Connection, name: str) -> int | None:
    row = connection.execute("SELECT value FROM marks WHERE name = ?", (name,)).fetchone()
    return None if row is None else whole(row[0], LATEST_S)
