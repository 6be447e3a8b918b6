"""What ledgers before format 8 keep in the form of their time: manifests without a route, batches without an arm.

Both mean what was then the only way: a direct campaign without arms and texts, reports of arm 0. What a manifest's
digest names are its bytes of then, so they are kept; debits count whatever becomes of their campaign. Before format 7
debits of series were dated at their period's start. Before format 10 no manifest had the keys of an issuer.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from sordino_shared.errors import MalformedDocument
from sordino_shared.protocol import CampaignId, Manifest, Rotating
from sordino_shared.protocol.codec import read_value
from sordino_shared.protocol.documents import PROTOCOL_VERSION
from sordino_shared.protocol.schema import from_plain

_SINCE_8: dict[str, Any] = {"route": {"kind": "direct"}, "arms": [], "texts": []}
DEBITS_ARE_FINAL = (
    "CREATE TRIGGER debits_are_final BEFORE UPDATE ON debits BEGIN SELECT RAISE(ABORT, 'debits are final'); END"
)
_RE_DATE = (
    "UPDATE debits SET period_start = :start, at = max(at, min(:high_water, at + :span))"
    " WHERE campaign = :campaign AND round = :round"
)
_HEAD = b"\xa5cids"
_HEAD_WITH_ARM = b"\xa6carm\x00cids"


def read_kept_manifest(content: bytes, campaign: CampaignId) -> Manifest:
    """The manifest that `campaign` names, of now or of before format 8; raises a `ProtocolError`."""
    try:
        return Manifest.read(content, campaign)
    except MalformedDocument:
        plain = read_value(content, Manifest.limit, Manifest.max_items)
        lacked = _lacked(plain)
        if lacked is None:
            raise
    del plain["document"], plain["version"]
    manifest = from_plain(Manifest, plain | lacked)
    # Its id is the digest of the bytes that were joined.
    vars(manifest)["content"] = content
    return manifest


def _lacked(plain: Any) -> dict[str, Any] | None:
    """The fields of a manifest that a former one did not have yet; None for what is no former manifest."""
    if not isinstance(plain, dict):
        return None
    if (plain.get("document"), plain.get("version")) != (Manifest.document, PROTOCOL_VERSION):
        return None
    if not _SINCE_8.keys() & plain.keys():
        return _SINCE_8
    route = plain.get("route")
    if not isinstance(route, dict) or "issuer" in route:
        return None
    # No server can go on with a campaign whose tokens were of that time.
    former = {"shuffled": route | {"issuer": None}, "direct_with_tokens": {"kind": "direct"}}.get(
        str(route.get("kind"))
    )
    return None if former is None else {"route": former}


def add_arms(connection: sqlite3.Connection) -> None:
    """Give each kept report its arm, 0, in the caller's transaction: servers read no batch without one."""
    rows = connection.execute("SELECT campaign, round, body FROM reports WHERE body IS NOT NULL").fetchall()
    changed = [(_with_arm(body), campaign, number) for campaign, number, body in rows]
    connection.executemany("UPDATE reports SET body = ? WHERE campaign = ? AND round = ?", changed)


def _with_arm(body: object) -> bytes:
    if not isinstance(body, bytes) or not body.startswith(_HEAD):
        raise ValueError("a report in no form of its time")
    return _HEAD_WITH_ARM + body[len(_HEAD) :]


def date_at_draw(connection: sqlite3.Connection) -> None:
    """Set the debits of series to the latest time at which they can have been made, in the caller's transaction.

    Formats before 7 dated a debit at its period's start, later by as much as the ledger's time was later than the
    clock. The clock was before the end of the period's acceptance, and the ledger's time never after its highest.
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
