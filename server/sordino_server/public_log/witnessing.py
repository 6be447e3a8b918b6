"""This server as a witness of other logs (C2SP tlog-witness): it cosigns a checkpoint that continues the last one.

Two checkpoints of one log that contradict are never both cosigned: comparing and storing is one transaction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from sordino_server.errors import ServerError
from sordino_server.kit.db import Database
from sordino_server.models import WitnessedCheckpoint
from sordino_server.public_log import repository
from sordino_server.public_log.signing import NoteSigner
from sordino_server.public_log.tree import EMPTY_ROOT
from sordino_shared.errors import MalformedDocument, SordinoError
from sordino_shared.protocol import Digest, Problem
from sordino_shared.protocol.log_keys import NoteKey
from sordino_shared.protocol.log_notes import (
    Checkpoint,
    read_checkpoint,
    read_digest,
    read_number,
    read_text,
    written_base64,
)
from sordino_shared.protocol.log_tree import is_consistent

# Advisory locks of PostgreSQL in this space, one for each log.
_LOCK_SPACE = 0x10D
# As C2SP says.
_MOST_HASHES = 63


class OtherSize(SordinoError):
    """The log's last cosigned checkpoint has another size, or root, than the request builds on."""

    def __init__(self, size: int) -> None:
        super().__init__(f"the last checkpoint that was cosigned has {size} entries")
        self.size = size


@dataclass(frozen=True)
class Offer:
    """A checkpoint that a log wants cosigned: the size that it builds on, the proof, and the note."""

    old: int
    path: tuple[Digest, ...]
    checkpoint: Checkpoint
    note: str

    @classmethod
    def read(cls, content: bytes) -> Offer:
        """The offer of these bytes; raises `MalformedDocument`."""
        head, blank, note = read_text(content).partition("\n\n")
        first, *hashes = head.split("\n")
        if not blank or not first.startswith("old ") or len(hashes) > _MOST_HASHES:
            raise MalformedDocument("write `old` and a size, the hashes of the proof, a blank line, and the checkpoint")
        old, path = read_number(first.removeprefix("old ")), tuple(map(read_digest, hashes))
        offer = cls(old, path, read_checkpoint(note), note)
        if offer.old > offer.checkpoint.size:
            raise MalformedDocument(f"the old size {offer.old} is above the checkpoint's, {offer.checkpoint.size}")
        return offer


def offer_text(old: int, path: Sequence[bytes], note: str) -> str:
    """The body of an offer."""
    return "\n".join([f"old {old}", *map(written_base64, path)]) + f"\n\n{note}"


def cosign(database: Database, signer: NoteSigner, logs: Sequence[NoteKey], content: bytes, now: int) -> str:
    """The line of this witness below an offered checkpoint, which is stored before the line exists.

    Raises `MalformedDocument`, `OtherSize`, and ServerError for an unknown log, a wrong signature or a wrong proof.
    """
    offer = Offer.read(content)
    origin = offer.checkpoint.origin
    keys = [each for each in logs if each.name == origin]
    if not keys:
        raise ServerError(Problem.NOT_FOUND, f"this server does not witness the log {origin}")
    if not any(key.signed(offer.checkpoint) for key in keys):
        raise ServerError(Problem.FORBIDDEN, f"the checkpoint has no valid signature of {origin}")
    database.run("cosign", lambda session: _compare_and_store(database, session, offer, now))
    return signer.cosigned(offer.checkpoint.text, now)


def _compare_and_store(database: Database, session: Session, offer: Offer, now: int) -> None:
    """Raise unless the offer continues what was cosigned last."""
    new = offer.checkpoint
    database.lock(session, _LOCK_SPACE, int.from_bytes(hashlib.sha256(new.origin.encode()).digest()[:3], "big"))
    last = repository.last_witnessed(session, new.origin)
    size = 0 if last is None else last.size
    if offer.old != size:
        raise OtherSize(size)
    if last is not None and new.size == size:
        if last.root != bytes(new.root):
            raise OtherSize(size)
        return
    if not _is_proved(last, offer):
        raise ServerError(Problem.INVALID_REQUEST, f"the proof does not lead from {size} to {new.size} entries")
    session.add(WitnessedCheckpoint(origin=new.origin, size=new.size, root=bytes(new.root), note=offer.note, at=now))
    session.flush()


def _is_proved(last: WitnessedCheckpoint | None, offer: Offer) -> bool:
    """Whether the offer's tree continues the last one: every tree continues the empty one, without a proof."""
    new = offer.checkpoint
    if last is None or last.size == 0:
        return not offer.path and (new.size > 0 or new.root == EMPTY_ROOT)
    return is_consistent((last.size, Digest(last.root)), (new.size, new.root), offer.path)
