"""Entries become leaves: numbers, hashes of full tiles and a signed checkpoint, in one transaction under one lock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from sqlalchemy.orm import Session

from sordino_server.errors import ServerError
from sordino_server.kit.db import Database
from sordino_server.models import Log, LogCheckpoint
from sordino_server.public_log import repository, rotation
from sordino_server.public_log.tree import EMPTY_ROOT, TILE, TileTree, folded
from sordino_shared.protocol import Problem
from sordino_shared.protocol.log_keys import NoteKey
from sordino_shared.protocol.log_notes import Checkpoint, checkpoint_text, read_checkpoint

# Advisory locks of PostgreSQL in this space: two workers that number at once would sign two trees of one size.
LOCK_SPACE = 0x10C
# Beyond this the transaction would hold SQLite's lock for longer than uploads should wait.
MOST_AT_ONCE = 10_000
# Lines below the root of a checkpoint, which the log signs with it and devices do not look at.
Extensions = Callable[[Session, Checkpoint | None], tuple[str, ...]]


class CheckpointSigner(Protocol):
    """Signs checkpoints with the keys of a log."""

    def lines(self, text: str, keys: Sequence[NoteKey]) -> str:
        """The lines of these keys below a checkpoint's text; raises InvalidValue where one is not here."""


class LogAhead(ServerError):
    """A witness or a copy of the log has more entries than this database: signing would fork the log."""

    def __init__(self, ahead: int, size: int) -> None:
        super().__init__(
            Problem.LOG_AHEAD,
            f"the public log has {ahead:,} entries elsewhere and {size:,} here: the database was restored from a "
            "backup; run `sordino log restore` with a copy of the log, or `sordino log init --new`",
        )
        self.ahead = ahead
        self.size = size


class WitnessesSilent(ServerError):
    """So few witnesses say what they know that the database may be a restored backup: signing could fork the log."""

    def __init__(self, silent: Sequence[str]) -> None:
        super().__init__(
            Problem.UNAVAILABLE,
            f"{', '.join(silent)} cannot be asked what they know of the public log, or do not show it: a restored "
            "backup would fork the log; the worker asks again; take a witness that is gone, or lies, out of "
            "SORDINO_WITNESSES",
            missing=list(silent),
        )


def integrate(
    database: Database,
    signer: CheckpointSigner,
    now: int,
    most: int = MOST_AT_ONCE,
    extensions: Extensions = lambda *_: (),
) -> int | None:
    """Number what waits, in the order of ids, and sign the tree with it; the new size, None where nothing waited.

    `extensions` reads the extension lines of the checkpoint from the one before it. Raises `LogAhead` where a larger
    tree of this log is known.
    """
    with database.read("are there entries") as session:
        log = repository.current(session)
        if log is None or not repository.has_waiting(session, log):
            return None

    def work(session: Session) -> int | None:
        log = locked(database, session)
        last = repository.newest_checkpoint(session, log)
        size, at = (0, 0) if last is None else (last.size, last.at)
        if log.ahead is not None and log.ahead > size:
            raise LogAhead(log.ahead, size)
        ids = repository.waiting(session, log, most)
        if not ids:
            return None
        repository.give_numbers(session, ids, size)
        # A clock that was set back does not bring an earlier day's checkpoint behind a later one's.
        after = size + len(ids)
        lines = extensions(session, None if last is None else read_checkpoint(last.note))
        sign_tree(session, log, signer, size, after, max(now, at), lines)
        return after

    return database.run("integrate log", work)


def empty_checkpoint(log: Log, signer: CheckpointSigner, keys: Sequence[NoteKey]) -> LogCheckpoint:
    """The signed checkpoint of no entries, which every tree continues: it asks a witness what it knows of the log."""
    text = checkpoint_text(log.origin, 0, EMPTY_ROOT)
    note = f"{text}\n{signer.lines(text, keys)}"
    return LogCheckpoint(log_id=log.id, size=0, root=bytes(EMPTY_ROOT), note=note, at=0)


def locked(database: Database, session: Session) -> Log:
    """The log, which nobody else extends until the transaction ends."""
    log = repository.current(session)
    assert log is not None
    database.lock(session, LOCK_SPACE, log.id)
    session.refresh(log)
    return log


def sign_tree(
    session: Session,
    log: Log,
    signer: CheckpointSigner,
    before: int,
    size: int,
    now: int,
    extensions: tuple[str, ...] = (),
) -> None:
    """Write the hashes of tiles that are full now, and the signed checkpoint of `size` numbered entries."""
    add_full_tiles(session, log, before, size)
    root = TileTree(size, repository.tile_reader(session, log)).root()
    text = checkpoint_text(log.origin, size, root, extensions)
    note = f"{text}\n{signer.lines(text, rotation.signing_keys(session, log, now))}"
    repository.add_all(session, [LogCheckpoint(log_id=log.id, size=size, root=bytes(root), note=note, at=now)])


def add_full_tiles(session: Session, log: Log, before: int, size: int) -> None:
    """Write the hashes of the tiles that are full at `size` and were not `before`, the lowest level first."""
    read, level = repository.tile_reader(session, log), 1
    while (full := size // TILE**level) > 0:
        new = range(before // TILE**level, full)
        nodes = [(index, bytes(folded(read(level - 1, index, TILE)))) for index in new]
        repository.add_nodes(session, log, level, nodes)
        level += 1
