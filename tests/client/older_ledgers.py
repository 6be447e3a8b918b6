"""Takes from a ledger of now what formats 8 to 10 brought, for tests that make older ones of it."""

from __future__ import annotations

import sqlite3

_BROUGHT = (
    "DROP TRIGGER tokens_are_final",
    "DROP TABLE tokens",
    "DROP TRIGGER arms_are_final",
    "DROP TRIGGER task_numbers_grow",
    "ALTER TABLE campaigns DROP COLUMN arm",
    "ALTER TABLE campaigns DROP COLUMN task_number",
    "DROP TABLE consent",
    "DROP TABLE trouble",
    "DROP TABLE log_marks",
)


def take_format_8(connection: sqlite3.Connection) -> None:
    """Tables and columns go, and batches lose their arm."""
    for statement in _BROUGHT:
        connection.execute(statement)
    for campaign, number, body in connection.execute("SELECT campaign, round, body FROM reports").fetchall():
        if body is not None:
            former = b"\xa5" + body.removeprefix(b"\xa6carm\x00")
            connection.execute(
                "UPDATE reports SET body = ? WHERE campaign = ? AND round = ?", (former, campaign, number)
            )
