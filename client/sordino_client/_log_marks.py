"""What a ledger keeps of public logs: the checkpoints that it accepted, with the proofs that came with them.

A row is a checkpoint. `note` has the proofs of campaigns at it, end to end with a zero byte between, `day` its day
where it was in the list of days, and −1 where it was refused: then the row is evidence of a contradiction.
"""

from __future__ import annotations

import sqlite3

from sordino_client._storage import blob, whole
from sordino_shared._records import dataclass
from sordino_shared.protocol import CampaignId, Digest
from sordino_shared.protocol.log_days import LogDay
from sordino_shared.protocol.log_proofs import LogProof

_BETWEEN = b"\0"
_REFUSED = -1
# A server that lies again and again does not fill the disk.
_MOST_REFUSED = 16
_TRIED = "log-proof "


@dataclass(frozen=True)
class LogMark:
    """An accepted checkpoint: size, root, its day or None, and the bytes of the last proof at it, or none."""

    size: int
    root: Digest
    day: int | None
    proof: bytes


def marks(connection: sqlite3.Connection, origin: str) -> list[LogMark]:
    """The accepted checkpoints of a log by size, ascending."""
    rows = connection.execute(
        "SELECT size, root, day, note FROM log_marks WHERE origin = ? AND (day IS NULL OR day >= 0) ORDER BY size",
        (origin,),
    )
    return [
        LogMark(whole(size), Digest(blob(root)), None if day is None else whole(day), blob(note).split(_BETWEEN)[-1])
        for size, root, day, note in rows
    ]


def keep_proof(connection: sqlite3.Connection, proof: LogProof, content: bytes) -> None:
    """Keep an accepted proof beside the others of its checkpoint, in the caller's transaction."""
    note = proof.checkpoint
    row = (note.origin, note.size, bytes(note.root))
    found = connection.execute("SELECT note FROM log_marks WHERE origin = ? AND size = ? AND root = ?", row).fetchone()
    known = [] if found is None else [each for each in blob(found[0]).split(_BETWEEN) if each]
    if content in known:
        return
    connection.execute(
        "INSERT INTO log_marks (origin, size, root, note) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (origin, size, root) DO UPDATE SET note = excluded.note,"
        f" day = CASE WHEN day = {_REFUSED} THEN NULL ELSE day END",
        (*row, _BETWEEN.join([*known, content])),
    )


def keep_day(connection: sqlite3.Connection, origin: str, day: LogDay) -> None:
    """Keep the newest daily checkpoint; of older ones those with proofs stay."""
    connection.execute(
        "INSERT INTO log_marks (origin, size, root, note, day) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (origin, size, root) DO UPDATE SET day = excluded.day",
        (origin, day.size, bytes(day.root), b"", day.day),
    )
    connection.execute(
        "DELETE FROM log_marks WHERE origin = ? AND day >= 0 AND day < ? AND length(note) = 0", (origin, day.day)
    )


def keep_evidence(connection: sqlite3.Connection, proof: LogProof, content: bytes) -> None:
    """Keep a proof that the log signed and that was refused, unless it is kept or there are many."""
    (count,) = connection.execute("SELECT count(*) FROM log_marks WHERE day = ?", (_REFUSED,)).fetchone()
    note = proof.checkpoint
    if count < _MOST_REFUSED:
        connection.execute(
            "INSERT INTO log_marks VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (note.origin, note.size, bytes(note.root), content, _REFUSED),
        )


def evidence(connection: sqlite3.Connection) -> list[bytes]:
    """The texts of refused proofs."""
    return [blob(row[0]) for row in connection.execute("SELECT note FROM log_marks WHERE day = ?", (_REFUSED,))]


def proofs(connection: sqlite3.Connection) -> dict[CampaignId, tuple[LogProof, bytes]]:
    """The accepted proof of each campaign's manifest, and its text."""
    found = {}
    rows = connection.execute(
        "SELECT note FROM log_marks WHERE length(note) > 0 AND (day IS NULL OR day >= 0) ORDER BY size"
    )
    for (note,) in rows:
        for content in blob(note).split(_BETWEEN):
            proof = LogProof.read(content)
            if proof.entry.event.kind == "campaign":
                found[CampaignId(proof.entry.subject)] = proof, content
    return found


def tried_at(connection: sqlite3.Connection, campaign: CampaignId) -> float:
    """When the proof of a joined campaign was asked for in vain; 0 for never."""
    row = connection.execute("SELECT at FROM trouble WHERE code = ?", (f"{_TRIED}{campaign}",)).fetchone()
    return 0.0 if row is None else float(row[0])


def keep_trial(connection: sqlite3.Connection, campaign: CampaignId, now: float) -> None:
    """Remember that the proof of a campaign was asked for in vain."""
    connection.execute("INSERT OR REPLACE INTO trouble VALUES (?, ?)", (f"{_TRIED}{campaign}", now))
