"""A chain of hashes over the audit log: who removes or changes an entry changes every hash after it.

Workers extend it in the order of the entries, so that two changes at once do not wait for each other. Anyone who
keeps a head sees later that the log was shortened before it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from sqlalchemy.orm import Session

from sordino_server.keys import repository
from sordino_server.kit.db import Database
from sordino_server.models import AuditEntry, AuditLink
from sordino_shared.protocol.log_notes import Checkpoint, read_digest, written_base64

# Before the first entry.
START = "0" * 64
# Links of one transaction; the rest follow in the next one.
_AT_ONCE = 1000
_LINE = "audit "
# A head that a checkpoint named and that the chain has no more.
_LOST = "audit-lost "
# Of these; each stands for a log that was shortened or restored.
_MOST_LOST = 8


def link(previous: str, fields: Iterable[object]) -> str:
    """SHA-256(previous ‖ newline ‖ JSON of the entry's fields), in hexadecimal digits.

    The fields are id, key_id, actor, action, path, created_at, request_id, before, after; JSON has no blanks and no
    escapes beyond those that it needs.
    """
    written = json.dumps(list(fields), ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(f"{previous}\n{written}".encode("utf-8", "surrogatepass")).hexdigest()


def fields_of(entry: AuditEntry) -> tuple[object, ...]:
    """What of an entry is hashed."""
    return (
        entry.id,
        entry.key_id,
        entry.actor,
        entry.action,
        entry.path,
        entry.created_at,
        entry.request_id,
        entry.before,
        entry.after,
    )


def extend(database: Database) -> int:
    """Add links for the entries that have none; how many."""
    with database.read("is the audit log chained") as session:
        if not repository.unlinked_entries(session, 1):
            return 0
    return database.run("extend audit chain", _extend)


def checkpoint_lines(session: Session, before: Checkpoint | None) -> tuple[str, ...]:
    """The extension lines of the checkpoint of the public log that follows `before`.

    `audit <base64>` is the head of the chain, if there is one: a log of entries that was shortened afterwards shows,
    although nobody kept a head. `audit-lost <base64>` is each head of a checkpoint before that the chain has no more:
    else it would show until the next checkpoint alone.
    """
    newest = repository.newest_link(session)
    heads = () if before is None else (*lost_in(before), *filter(None, [head_in(before)]))
    lost = [each for each in dict.fromkeys(heads) if not repository.has_link(session, each)]
    return tuple(
        prefix + written_base64(bytes.fromhex(head))
        for prefix, head in [*([] if newest is None else [(_LINE, newest.sha256)]), *((_LOST, each) for each in lost)]
    )[: 1 + _MOST_LOST]


def head_in(checkpoint: Checkpoint) -> str | None:
    """The head that a checkpoint names, in hexadecimal digits; raises MalformedDocument where it is no hash."""
    named = _named(checkpoint, _LINE)
    return named[0] if named else None


def lost_in(checkpoint: Checkpoint) -> tuple[str, ...]:
    """The heads of checkpoints before that the chain had no more; raises MalformedDocument where one is no hash."""
    return _named(checkpoint, _LOST)


def _named(checkpoint: Checkpoint, prefix: str) -> tuple[str, ...]:
    lines = (each.removeprefix(prefix) for each in checkpoint.extensions if each.startswith(prefix))
    return tuple(read_digest(each).hex() for each in lines)


def _extend(session: Session) -> int:
    repository.lock_audit_log(session)
    newest = repository.newest_link(session)
    previous = START if newest is None else newest.sha256
    entries = repository.unlinked_entries(session, _AT_ONCE)
    for entry in entries:
        previous = link(previous, fields_of(entry))
        repository.add_link(session, AuditLink(entry_id=entry.id, sha256=previous))
    return len(entries)
