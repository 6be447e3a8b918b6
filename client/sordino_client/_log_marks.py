"""What a ledger keeps of public logs: the checkpoints that it accepted, with the proofs that came with them.

A row is a checkpoint. `origin` has the verifier key of the log: another key is another log, also under the same name.
`note` has the proofs of campaigns at it, end to end with a zero byte between, `day` its day where it was in the list of
days. Where a proof was refused, `day` is −1 and `origin` begins with `refused`: the row is evidence of a contradiction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from sordino_client._storage import blob, whole
from sordino_shared._records import dataclass
from sordino_shared.protocol import CampaignId, Digest
from sordino_shared.protocol.log_days import LogDay
from sordino_shared.protocol.log_keys import LogPins
from sordino_shared.protocol.log_proofs import LogProof

_BETWEEN = b"\0"
_REFUSED = -1
# A server that lies again and again does not fill the disk.
_MOST_REFUSED = 16
_TRIED = "log-proof "


class MarkRows(Protocol):
    """A transaction of the database with the marks: of a device's ledger, or of a store."""

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a statement with ? for values."""

    def run(self, statement: str, *values: object) -> None:
        """A statement without rows."""


# Begins a transaction.
Begin = Callable[[], AbstractContextManager[MarkRows]]


class LedgerRows:
    """The rows of a connection to a device's ledger."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """As `MarkRows.rows`."""
        found: list[tuple[Any, ...]] = self._connection.execute(statement, values).fetchall()
        return found

    def run(self, statement: str, *values: object) -> None:
        """As `MarkRows.run`."""
        self._connection.execute(statement, values)


def of_ledger(begin: Callable[[], AbstractContextManager[sqlite3.Connection]]) -> Begin:
    """The transactions of a device's ledger as those of `MarkRows`."""

    @contextmanager
    def transaction() -> Iterator[MarkRows]:
        with begin() as connection:
            yield LedgerRows(connection)

    return transaction


@dataclass(frozen=True)
class LogMark:
    """An accepted checkpoint: size, root, its day or None, and the bytes of the last proof at it, or none."""

    size: int
    root: Digest
    day: int | None
    proof: bytes


def marks(database: MarkRows, logs: Sequence[str]) -> list[LogMark]:
    """The accepted checkpoints of a log, by its verifier keys; by size, ascending."""
    found = [
        LogMark(whole(size), Digest(blob(root)), None if day is None else whole(day), blob(note).split(_BETWEEN)[-1])
        for log in logs
        for size, root, day, note in database.rows(
            "SELECT size, root, day, note FROM log_marks WHERE origin = ? ORDER BY size", log
        )
    ]
    return sorted(found, key=lambda mark: mark.size)


def keep_proof(database: MarkRows, log: str, proof: LogProof, content: bytes) -> None:
    """Keep an accepted proof beside the others of its checkpoint, in the caller's transaction."""
    row = (log, proof.checkpoint.size, bytes(proof.checkpoint.root))
    found = database.rows("SELECT note FROM log_marks WHERE origin = ? AND size = ? AND root = ?", *row)
    known = [each for each in blob(found[0][0]).split(_BETWEEN) if each] if found else []
    if content in known:
        return
    database.run(
        "INSERT INTO log_marks (origin, size, root, note) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (origin, size, root) DO UPDATE SET note = excluded.note",
        *row,
        _BETWEEN.join([*known, content]),
    )


def keep_day(database: MarkRows, log: str, day: LogDay) -> None:
    """Keep the newest daily checkpoint; of older ones those with proofs stay."""
    database.run(
        "INSERT INTO log_marks (origin, size, root, note, day) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (origin, size, root) DO UPDATE SET day = excluded.day",
        log, day.size, bytes(day.root), b"", day.day,
    )  # fmt: skip
    database.run("DELETE FROM log_marks WHERE origin = ? AND day < ? AND length(note) = 0", log, day.day)


def keep_evidence(database: MarkRows, log: str, proof: LogProof, content: bytes) -> None:
    """Keep a refused proof that the log signed, unless it is there already or many are."""
    [(count,)] = database.rows("SELECT count(*) FROM log_marks WHERE day = ?", _REFUSED)
    note = proof.checkpoint
    if count < _MOST_REFUSED:
        database.run(
            "INSERT INTO log_marks (origin, size, root, note, day) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            f"refused {log}", note.size, bytes(note.root), content, _REFUSED,
        )  # fmt: skip


def evidence(database: MarkRows) -> list[bytes]:
    """The texts of refused proofs."""
    return [blob(row[0]) for row in database.rows("SELECT note FROM log_marks WHERE day = ?", _REFUSED)]


def proofs(database: MarkRows) -> dict[tuple[str, CampaignId], tuple[LogProof, bytes]]:
    """By verifier key of the log and campaign, the accepted proof of the manifest, and its text."""
    found = {}
    kept = database.rows(
        "SELECT origin, note FROM log_marks WHERE length(note) > 0 AND (day IS NULL OR day >= 0) ORDER BY size"
    )
    for log, note in kept:
        for content in blob(note).split(_BETWEEN):
            proof = LogProof.read(content)
            if proof.entry.event.kind == "campaign":
                found[log, CampaignId(proof.entry.subject)] = proof, content
    return found


def proof_of(
    pins: LogPins, found: Mapping[tuple[str, CampaignId], tuple[LogProof, bytes]], campaign: CampaignId
) -> tuple[LogProof, bytes] | None:
    """Of `proofs` that of a campaign which a pinned key signed; None where there is none."""
    kept = (found.get((str(key), campaign)) for key in reversed(pins.keys))
    return next((each for each in kept if each is not None and pins.is_named_by(each[0].checkpoint)), None)


def tried_at(database: MarkRows, campaign: CampaignId) -> float:
    """When the proof of a joined campaign was asked for in vain; 0 for never."""
    found = database.rows("SELECT at FROM trouble WHERE code = ?", f"{_TRIED}{campaign}")
    return float(found[0][0]) if found else 0.0


def keep_trial(database: MarkRows, campaign: CampaignId, now: float) -> None:
    """Remember that the proof of a campaign was asked for in vain."""
    database.run(
        "INSERT INTO trouble (code, at) VALUES (?, ?) ON CONFLICT (code) DO UPDATE SET at = excluded.at",
        f"{_TRIED}{campaign}",
        now,
    )
