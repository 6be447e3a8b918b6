"""Bringing a restored database up to the log that others know: the missing entries, read back from a copy of it."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from sordino_server.kit.db import Database
from sordino_server.models import Log, LogCheckpoint
from sordino_server.public_log import repository, rotation
from sordino_server.public_log.entries import row_of
from sordino_server.public_log.files import CHECKPOINT, DAYS, MOST_CHECKPOINT, KnownTree, LogFiles, read_entries
from sordino_server.public_log.integration import add_full_tiles, locked
from sordino_shared._records import replace
from sordino_shared.errors import InvalidValue, NoAnswer
from sordino_shared.protocol.log_days import MAX_DAYS_BYTES, LogDay, LogDays
from sordino_shared.protocol.log_keys import NoteKey, signature_line
from sordino_shared.protocol.log_notes import Checkpoint, checkpoint_text, read_checkpoint, read_text
from sordino_shared.protocol.log_tree import leaf_hash

_DAY_S = 86_400


def restore(database: Database, files: LogFiles, now: int, keys: Sequence[NoteKey] = ()) -> tuple[int, int]:
    """Add the entries that a copy of this log has and the database lacks; sizes before and after.

    `keys` are those of the log's file: a backup of before a rotation does not know the next one.

    Raises InvalidValue for another log, for a copy that is no continuation of the database's, and for one that is not
    what its checkpoint says; nothing is changed then.
    """
    content = read_text(files.read(CHECKPOINT, MOST_CHECKPOINT))
    note = read_checkpoint(content)
    days = _days(files)
    return database.run("restore log", lambda session: _restore(database, session, files, (note, days), now, keys))


def _days(files: LogFiles) -> tuple[LogDay, ...]:
    """The daily checkpoints of a copy; none where it has no list of them."""
    try:
        return LogDays.read(files.read(DAYS, MAX_DAYS_BYTES)).days
    except NoAnswer:
        return ()


def _restore(
    database: Database,
    session: Session,
    files: LogFiles,
    copy: tuple[Checkpoint, tuple[LogDay, ...]],
    now: int,
    keys: Sequence[NoteKey],
) -> tuple[int, int]:
    log, (note, days) = locked(database, session), copy
    lines = _signatures(note, log, (*rotation.known_keys(session, log), *keys))
    last = repository.newest_checkpoint(session, log)
    size = 0 if last is None else last.size
    tree, begun, found = KnownTree([], []), None, list[bytes]()
    for bundle in read_entries(files, tree, note.size):
        found += bundle
    if tree.root() != note.root:
        raise InvalidValue("the entries of the copy are not those that its checkpoint was signed for")
    if last is not None:
        begun = KnownTree([], [])
        begun.add([bytes(row_of(log, each).leaf) for each in found[:size]])
    if note.size < size or (begun is not None and last is not None and bytes(begun.root()) != last.root):
        raise InvalidValue(
            f"the copy has {note.size} entries and does not continue the {size} of this database: the log was forked; "
            "keep both, and begin another log with `sordino log init --new`"
        )
    if note.size > size:
        _add(session, log, found, size)
        add_full_tiles(session, log, size, note.size)
        daily = _daily(log, found, days, (size, note.size))
        text = f"{note.text}\n{lines}"
        at = next((each.day * _DAY_S for each in days if each.size == note.size), now)
        row = LogCheckpoint(log_id=log.id, size=note.size, root=bytes(note.root), note=text, at=at)
        repository.add_all(session, [*daily, row])
    if log.ahead is not None and log.ahead <= note.size:
        log.ahead = None
    return size, note.size


def _daily(log: Log, found: list[bytes], days: tuple[LogDay, ...], sizes: tuple[int, int]) -> list[LogCheckpoint]:
    """The first checkpoints of the days between two sizes: devices that saw one look for it in the list of days.

    Their notes have no signature; only the newest is ever shown.
    """
    rows, tree = [], KnownTree([], [])
    for each in days:
        if sizes[0] < each.size < sizes[1]:
            tree.add([bytes(leaf_hash(entry)) for entry in found[tree.size : each.size]])
            if tree.root() != each.root:
                raise InvalidValue(f"the copy has other entries than its checkpoint of {each.size} on day {each.day}")
            text = checkpoint_text(log.origin, each.size, each.root)
            at = each.day * _DAY_S
            rows.append(LogCheckpoint(log_id=log.id, size=each.size, root=bytes(each.root), note=text, at=at))
    return rows


def _add(session: Session, log: Log, found: list[bytes], size: int) -> None:
    """Give numbers to entries that wait here under the same bytes, and insert the others."""
    # Of two with the same bytes the first is told.
    waiting = {row.content: row for row in reversed(repository.waiting_entries(session, log))}
    rows = []
    for number, content in enumerate(found[size:], start=size):
        known = waiting.pop(content, None)
        if known is None:
            rows.append(row_of(log, content, number))
        else:
            known.number = number
    repository.add_all(session, rows)


def _signatures(note: Checkpoint, log: Log, keys: Sequence[NoteKey]) -> str:
    """The lines of the log's own keys, without those of witnesses; raises InvalidValue where there are none."""
    if note.origin != log.origin:
        raise InvalidValue(f"the checkpoint is one of {note.origin}, not of {log.origin}", note)
    own = {
        key: line
        for key in dict.fromkeys(keys)
        for line in note.signatures
        if key.signed(replace(note, signatures=(line,)))
    }
    if not own:
        raise InvalidValue(
            f"the checkpoint has no valid signature of {log.origin}: is SORDINO_LOG_KEY the file of its newest key?",
            note,
        )
    return "".join(signature_line(key, line.signature) for key, line in own.items())
