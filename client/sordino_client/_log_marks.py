"""What a ledger keeps of public logs: the checkpoints that it accepted, with the proofs that came with them.

A row is a checkpoint. `origin` has the verifier key of the log: another key is another log, also under the same name.
`note` has the proofs of campaigns at it, end to end with a zero byte between, `day` its day where it was in the list of
days. Where a proof was refused, `day` is −1 and `origin` begins with `refused`: the row is evidence of a contradiction.
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


def marks(connection: sqlite3.Connection, log: str) -> list[LogMark]:
    """The accepted checkpoints of a log, by its verifier key; by size, ascending."""
    rows = connection.execute("SELECT size, root, day, note FROM log_marks WHERE origin = ? ORDER BY size", (log,))
    return [
        LogMark(whole(size), Digest(blob(root)), None if day is None else whole(day), blob(note).split(_BETWEEN)[-1])
        for size, root, day, note in rows
    ]


def keep_proof(connection: sqlite3.Connection, log: str, proof: LogProof, content: bytes) -> None:
    """Keep an accepted proof beside the others of its checkpoint, in the caller's transaction."""
    row = (log, proof.checkpoint.size, bytes(proof.checkpoint.root))
    found = connection.execute("SELECT note FROM log_marks WHERE origin = ? AND size = ? AND root = ?", row).fetchone()
    known = [] if found is None else [each for each in blob(found[0]).split(_BETWEEN) if each]
    if content in known:
        return
    connection.execute(
        "INSERT INTO log_marks (origin, size, root, note) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (origin, size, root) DO UPDATE SET note = excluded.note",
        (*row, _BETWEEN.join([*known, content])),
    )


def keep_day(connection: sqlite3.Connection, log: str, day: LogDay) -> None:
    """Keep the newest daily checkpoint; of older ones those with proofs stay."""
    connection.execute(
        "INSERT INTO log_marks (origin, size, root, note, day) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (origin, size, root) DO UPDATE SET day = excluded.day",
        (log, day.size, bytes(day.root), b"", day.day),
    )
    connection.execute("DELETE FROM log_marks WHERE origin = ? AND day < ? AND length(note) = 0", (log, day.day))


def keep_evidence(connection: sqlite3.Connection, log: str, proof: LogProof, content: bytes) -> None:
    """Keep a refused proof that the log signed, unless it is there already or many are."""
    (count,) = connection.execute("SELECT count(*) FROM log_marks WHERE day = ?", (_REFUSED,)).fetchone()
    note = proof.checkpoint
    if count < _MOST_REFUSED:
        connection.execute(
            "INSERT INTO log_marks VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (f"refused {log}", note.size, bytes(note.root), content, _REFUSED),
        )


def evidence(connection: sqlite3.Connection) -> list[bytes]:
    """The texts of refused proofs."""
    return [blob(row[0]) for row in connection.execute("SELECT note FROM log_marks WHERE day = ?", (_REFUSED,))]


def proofs(connection: sqlite3.Connection) -> dict[tuple[str, CampaignId], tuple[LogProof, bytes]]:
    """By verifier key of the log and campaign, the accepted proof of the manifest, and its text."""
    found = {}
    rows = connection.execute(
        "SELECT origin, note FROM log_marks WHERE length(note) > 0 AND (day IS NULL OR day >= 0) ORDER BY size"
    )
    for log, note in rows:
        for content in blob(note).split(_BETWEEN):
            proof = LogProof.read(content)
            if proof.entry.event.kind == "campaign":
                found[log, CampaignId(proof.entry.subject)] = proof, content
    return found


def tried_at(connection: sqlite3.Connection, campaign: CampaignId) -> float:
    """When the proof of a joined campaign was asked for in vain; 0 for never."""
    row = connection.execute("SELECT at FROM trouble WHERE code = ?", (f"{_TRIED}{campaign}",)).fetchone()
    return 0.0 if row is None else float(row[0])


def keep_trial(connection: sqlite3.Connection, campaign: CampaignId, now: float) -> None:
    """Remember that the proof of a campaign was asked for in vain."""
    connection.execute("INSERT OR REPLACE INTO trouble VALUES (?, ?)", (f"{_TRIED}{campaign}", now))
