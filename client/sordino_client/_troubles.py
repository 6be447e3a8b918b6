"""Times that a ledger keeps by code: until when a server said to wait, and since when a series is paused.

Codes: `retry-after ORIGIN`, `retry-after CAMPAIGN ROUND`, `hurried ORIGIN`, `paused CAMPAIGN`.
"""

from __future__ import annotations

import sqlite3

from sordino_client._storage import blob
from sordino_shared.protocol import CampaignId

_PAUSED = "paused "


def note(connection: sqlite3.Connection, code: str, at: float) -> None:
    """Keep a time in Unix seconds under a code, in place of an earlier one."""
    connection.execute("INSERT OR REPLACE INTO trouble (code, at) VALUES (?, ?)", (code, at))


def noted(connection: sqlite3.Connection, code: str) -> float | None:
    """The time under a code; None where there is none."""
    row = connection.execute("SELECT at FROM trouble WHERE code = ?", (code,)).fetchone()
    return None if row is None else float(row[0])


def forget(connection: sqlite3.Connection, code: str) -> None:
    """Keep the time under a code no longer."""
    connection.execute("DELETE FROM trouble WHERE code = ?", (code,))


def forget_over(connection: sqlite3.Connection, prefix: str, now: float, latest: float) -> None:
    """Keep no time under a code that begins so and that is over, or so late that a clock was set back since."""
    connection.execute(
        "DELETE FROM trouble WHERE substr(code, 1, ?) = ? AND (at <= ? OR at > ?)", (len(prefix), prefix, now, latest)
    )


def is_paused(connection: sqlite3.Connection, campaign: CampaignId) -> bool:
    """Whether the operator paused the series when its task was last read."""
    return noted(connection, f"{_PAUSED}{campaign}") is not None


def keep_paused(connection: sqlite3.Connection, campaign: CampaignId, paused: bool, now: float) -> None:
    """Remember what the task says of a pause."""
    if paused:
        note(connection, f"{_PAUSED}{campaign}", now)
    else:
        forget(connection, f"{_PAUSED}{campaign}")


def paused_among(connection: sqlite3.Connection) -> set[CampaignId]:
    """The campaigns that are paused."""
    rows = connection.execute(
        "SELECT campaign FROM campaigns JOIN trouble ON code = ? || lower(hex(campaign))", (_PAUSED,)
    )
    return {CampaignId(blob(campaign)) for (campaign,) in rows}
