"""Debits of series in ledgers before format 7, which dated them at their period's start: no budget may appear."""

from __future__ import annotations

import sqlite3

from sordino_client._former import read_kept_manifest
from sordino_shared.protocol import CampaignId, Rotating

DEBITS_ARE_FINAL = (
    "CREATE TRIGGER debits_are_final BEFORE UPDATE ON debits BEGIN SELECT RAISE(ABORT, 'debits are final'); END"
)
_RE_DATE = (
    "UPDATE debits SET period_start = :start, at = max(at, min(:high_water, at + :span))"
    " WHERE campaign = :campaign AND round = :round"
)


def date_at_draw(connection: sqlite3.Connection) -> None:
    """Set the debits of series to the latest time at which they can have been made, in the caller's transaction.

    A debit was dated at its period's start, later by as much as the ledger's time was later than the clock. The clock
    was before the end of the period's acceptance, and the ledger's time never after its highest.
    """
    found = connection.execute(
        "SELECT campaign, round, manifest, (SELECT value FROM marks WHERE name = 'high_water')"
        " FROM debits JOIN campaigns USING (campaign) WHERE campaign IN (SELECT campaign FROM series)"
    )
    rows = [_re_dated(*row) for row in found.fetchall()]
    connection.execute("DROP TRIGGER debits_are_final")
    connection.executemany(_RE_DATE, rows)
    connection.execute(DEBITS_ARE_FINAL)


def _re_dated(campaign: bytes, number: int, manifest: bytes, high_water: int) -> dict[str, object]:
    law = read_kept_manifest(manifest, CampaignId(campaign)).assignment
    if not isinstance(law, Rotating):
        raise ValueError("a series whose manifest is of another kind")
    start = law.period(number).start
    span = law.accepted_until(number) - start
    return {"campaign": campaign, "round": number, "start": start, "span": span, "high_water": high_water}
