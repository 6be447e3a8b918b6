"""What ledgers before format 8 keep in the form of their time: manifests without a route, batches without an arm.

Both mean what was then the only way: a direct campaign without arms and texts, reports of arm 0. What a manifest's
digest names are its bytes of then, so they are kept; debits count whatever becomes of their campaign.
"""

from __future__ import annotations

import sqlite3

from sordino_shared.errors import MalformedDocument
from sordino_shared.protocol import CampaignId, Manifest
from sordino_shared.protocol.codec import read_value
from sordino_shared.protocol.documents import PROTOCOL_VERSION
from sordino_shared.protocol.schema import from_plain

_SINCE_8 = {"route": {"kind": "direct"}, "arms": [], "texts": []}
_HEAD = b"\xa5cids"
_HEAD_WITH_ARM = b"\xa6carm\x00cids"


def read_kept_manifest(content: bytes, campaign: CampaignId) -> Manifest:
    """The manifest that `campaign` names, of now or of before format 8; raises a `ProtocolError`."""
    try:
        return Manifest.read(content, campaign)
    except MalformedDocument:
        plain = read_value(content, Manifest.limit, Manifest.max_items)
        if not _is_former(plain):
            raise
    del plain["document"], plain["version"]
    manifest = from_plain(Manifest, plain | _SINCE_8)
    # Its id is the digest of the bytes that were joined.
    vars(manifest)["content"] = content
    return manifest


def _is_former(plain: object) -> bool:
    return (
        isinstance(plain, dict)
        and (plain.get("document"), plain.get("version")) == (Manifest.document, PROTOCOL_VERSION)
        and not _SINCE_8.keys() & plain.keys()
    )


def add_arms(connection: sqlite3.Connection) -> None:
    """Give each kept report its arm, 0, in the caller's transaction: servers read no batch without one."""
    rows = connection.execute("SELECT campaign, round, body FROM reports WHERE body IS NOT NULL").fetchall()
    changed = [(_with_arm(body), campaign, number) for campaign, number, body in rows]
    connection.executemany("UPDATE reports SET body = ? WHERE campaign = ? AND round = ?", changed)


def _with_arm(body: object) -> bytes:
    if not isinstance(body, bytes) or not body.startswith(_HEAD):
        raise ValueError("a report in no form of its time")
    return _HEAD_WITH_ARM + body[len(_HEAD) :]
