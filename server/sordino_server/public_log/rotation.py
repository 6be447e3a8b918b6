"""The keys of a log: an entry of kind `key` names the next one, and for 30 days both sign.

The entry is in the tree that the key before it signs, which makes the next key its successor.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from sordino_server.models import Log, LogEntryRow
from sordino_server.public_log import repository
from sordino_server.public_log.entries import write
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import LogEntry
from sordino_shared.protocol.log_entries import LoggedKey
from sordino_shared.protocol.log_keys import KEY_OVERLAP_S, LOG_KIND, MAX_LOG_KEYS, NoteKey
from sordino_shared.protocol.log_notes import read_checkpoint


def known_keys(session: Session, log: Log) -> tuple[NoteKey, ...]:
    """All keys that the log ever had, the first one first."""
    return _keys(log, repository.key_entries(session, log))


def named_keys(session: Session, log: Log) -> set[bytes]:
    """The public keys that the log had, has, or will have once a worker signs: none of them is ever new again."""
    rows = repository.key_entries(session, log, waiting=True)
    return {log.key, *(LogEntry.read(row.content).subject for row in rows)}


def _keys(log: Log, rows: Sequence[LogEntryRow]) -> tuple[NoteKey, ...]:
    named = [log.key, *(LogEntry.read(row.content).subject for row in rows)]
    return tuple(NoteKey(log.origin, LOG_KIND, key) for key in named)


def signing_keys(session: Session, log: Log, now: int) -> tuple[NoteKey, ...]:
    """Those that sign a checkpoint at `now`, in Unix seconds; the newest, which is the last, always does.

    The one before it does for 30 days from the first checkpoint with the entry, however long that waited for a worker:
    an entry in a tree that only the next key signs names nobody's successor.
    """
    ending, newest = keys_and_ends(session, log, now)
    return (*(key for key, _ in ending), newest)


def keys_and_ends(session: Session, log: Log, now: int) -> tuple[list[tuple[NoteKey, int]], NoteKey]:
    """Those that sign at `now` beside the newest, each with the Unix second from which it signs no more; the newest."""
    rows = repository.key_entries(session, log)
    *earlier, newest = _keys(log, rows)
    ends = [(key, _end(session, log, key, row, now)) for key, row in zip(earlier, rows, strict=True)]
    return [(key, end) for key, end in ends if now < end], newest


def _end(session: Session, log: Log, key: NoteKey, row: LogEntryRow, now: int) -> int:
    """When `key` stops, whose next one the entry names."""
    assert row.number is not None
    since = repository.first_signed(session, log, row.number)
    if since is None:
        return now + KEY_OVERLAP_S
    newest = repository.newest_checkpoint(session, log)
    assert newest is not None
    # A restored log lacks its first checkpoints. A key that has stopped does not begin again: it may be destroyed.
    return since + KEY_OVERLAP_S if key.signed(read_checkpoint(newest.note)) else since


def key_rotated(session: Session, log: Log, key: bytes, now: int) -> LogEntry:
    """Name the log's next key, which signs from the checkpoint with this entry on.

    Raises InvalidValue for a key that the log had, while a rotation waits for a worker, and beyond the keys that apps
    can pin.
    """
    rows = repository.key_entries(session, log, waiting=True)
    if key in named_keys(session, log):
        raise InvalidValue("the log had this key before: a rotation needs a new one")
    if any(row.number is None for row in rows):
        raise InvalidValue("the last rotation waits for a worker, which signs within seconds: try again then")
    signing = signing_keys(session, log, now)
    if len(signing) == MAX_LOG_KEYS:
        raise InvalidValue(f"{MAX_LOG_KEYS} keys sign now, as many as an app pins: wait until the first one ends")
    entry = LogEntry(now, key, LoggedKey())
    write(session, log, entry)
    return entry
