"""What the log tells: checkpoints, tiles, entries, proofs and days, all the same for everybody who asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from sordino_server.errors import ServerError, found
from sordino_server.models import Log, LogCheckpoint
from sordino_server.public_log import repository
from sordino_server.public_log.integration import LogAhead
from sordino_server.public_log.tree import TILE, TileTree, tile_width
from sordino_shared.protocol import Digest, Problem
from sordino_shared.protocol.log_days import MAX_DAYS, LogDay, days_text
from sordino_shared.protocol.log_proofs import proof_text

_DAY_S = 86_400
_NO_LOG = "this server keeps no public log"


@dataclass(frozen=True)
class LogState:
    """The log's key as it is pinned, its newest checkpoint, who cosigned that, and how many entries wait."""

    log: Log
    checkpoint: LogCheckpoint | None
    witnesses: tuple[str, ...]


@dataclass(frozen=True)
class EntryPlace:
    """Where an entry is in the tree of the newest checkpoint; `number` counts from 0, None until it is in the tree."""

    number: int | None
    size: int
    root: str
    witnesses: tuple[str, ...]


def the_log(session: Session) -> Log:
    """The log of this server; raises `not-found`."""
    return found(repository.current(session), _NO_LOG)


def state(session: Session) -> LogState:
    """The log as it is now; raises `not-found`."""
    log = the_log(session)
    newest = repository.newest_checkpoint(session, log)
    lines = [] if newest is None else repository.cosignatures(session, newest)
    return LogState(log, newest, tuple(each.witness for each in lines))


def place_of(session: Session, campaign: str) -> EntryPlace | None:
    """The place of the entry about a campaign's manifest; None without a log, or without such an entry."""
    log = repository.current(session)
    entry = None if log is None else repository.find_entry(session, log, "campaign", campaign, None)
    if entry is None:
        return None
    newest = state(session)
    if newest.checkpoint is None or entry.number is None:
        return EntryPlace(None, 0, "", ())
    return EntryPlace(entry.number, newest.checkpoint.size, newest.checkpoint.root.hex(), newest.witnesses)


def whole_note(session: Session, checkpoint: LogCheckpoint) -> str:
    """The note with the lines of all witnesses that cosigned it so far."""
    return checkpoint.note + "".join(each.line for each in repository.cosignatures(session, checkpoint))


def newest_note(session: Session) -> str:
    """The newest checkpoint; raises `not-found` before the first."""
    log = the_log(session)
    return whole_note(session, found(repository.newest_checkpoint(session, log), "the public log has no entry yet"))


def note_or_none(session: Session) -> str | None:
    """The newest checkpoint; None before the first, and without a log."""
    log = repository.current(session)
    newest = None if log is None else repository.newest_checkpoint(session, log)
    return None if newest is None else whole_note(session, newest)


def tile(session: Session, level: int, index: int, width: int) -> bytes:
    """The first `width` hashes of a tile, 32 bytes each; raises `not-found` for what the tree does not have."""
    log, size = _log_and_size(session)
    if not 0 < width <= tile_width(size, level, index):
        raise ServerError(Problem.NOT_FOUND, f"the log has no tile {level}/{index} of {width} hashes")
    return b"".join(repository.tile_reader(session, log)(level, index, width))


def bundle(session: Session, index: int, width: int) -> bytes:
    """The first `width` entries of a bundle, each behind its length in two bytes; raises `not-found`."""
    log, size = _log_and_size(session)
    if not 0 < width <= tile_width(size, 0, index):
        raise ServerError(Problem.NOT_FOUND, f"the log has no {width} entries from {index * TILE} on")
    found_entries = repository.entries(session, log, index * TILE, width)
    return b"".join(len(each).to_bytes(2, "big") + each for each in found_entries)


def proof(session: Session, kind: str, campaign: str, index: int | None, quorum: int) -> str:
    """The `tlog-proof@v1` of a manifest's or a plan's entry.

    By the newest checkpoint that the quorum cosigned, or by the newest one where that does not have the entry. Raises
    `not-found` for what is not in the log, and `unavailable` or `log-ahead` for what is to be.
    """
    log = the_log(session)
    entry = found(repository.find_entry(session, log, kind, campaign, index), "the public log has no entry about it")
    by = _published(session, log, quorum)
    if entry.number is None:
        raise _not_yet(log, 0 if by is None else by.size)
    if by is None or entry.number >= by.size:
        by = repository.newest_checkpoint(session, log)
    assert by is not None
    path = TileTree(by.size, repository.tile_reader(session, log)).inclusion(entry.number)
    return proof_text(entry.content, entry.number, path, whole_note(session, by))


def check_witnessed(session: Session, campaign: str, witnesses: Sequence[str], quorum: int) -> None:
    """Raise `unavailable` until the quorum of witnesses cosigned a checkpoint with the campaign's entry.

    A database without a log, and a campaign from before it, wait for nobody.
    """
    log = repository.current(session)
    entry = None if log is None else repository.find_entry(session, log, "campaign", campaign, None)
    if log is None or entry is None or quorum == 0:
        return
    sizes = repository.largest_cosigned(session, log)
    missing = [each for each in witnesses if entry.number is None or sizes.get(each, 0) <= entry.number]
    if len(witnesses) - len(missing) < quorum:
        raise ServerError(
            Problem.UNAVAILABLE,
            f"the campaign stays ready: its entry of the public log is not cosigned by {', '.join(missing)} yet, and "
            f"{quorum} of {len(witnesses)} witnesses are needed; try again, or open it without them by "
            "unwitnessed=true",
            missing=missing,
            retry_after=2,
        )


def days(session: Session, quorum: int) -> str:
    """The last daily checkpoints, each with its proof to the newest one that the quorum cosigned."""
    log = the_log(session)
    newest = found(_published(session, log, quorum), "the public log has no entry yet")
    tree = TileTree(newest.size, repository.tile_reader(session, log))
    listed = [
        LogDay(each.at // _DAY_S, each.size, Digest(each.root), tree.consistency(each.size))
        for each in repository.first_of_days(session, log, newest.size, MAX_DAYS)
    ]
    return days_text(listed, whole_note(session, newest))


def consistency(session: Session, log: Log, first: int, size: int) -> Sequence[Digest]:
    """The proof that the tree of `first` entries, 0 or more, is a beginning of that of `size`."""
    return TileTree(size, repository.tile_reader(session, log)).consistency(first) if first else ()


def _published(session: Session, log: Log, quorum: int) -> LogCheckpoint | None:
    cosigned = repository.newest_cosigned(session, log, quorum)
    return repository.newest_checkpoint(session, log) if cosigned is None else cosigned


def _log_and_size(session: Session) -> tuple[Log, int]:
    log = the_log(session)
    newest = repository.newest_checkpoint(session, log)
    return log, 0 if newest is None else newest.size


def _not_yet(log: Log, size: int) -> ServerError:
    if log.ahead is not None and log.ahead > size:
        return LogAhead(log.ahead, size)
    return ServerError(Problem.UNAVAILABLE, "a worker writes the entry to the public log within seconds; ask again")
