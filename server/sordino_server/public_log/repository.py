"""Queries of the public log's tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import Select, func, insert, select, update
from sqlalchemy.orm import Session

from sordino_server.models import (
    Campaign,
    Log,
    LogCheckpoint,
    LogCosignature,
    LogEntryRow,
    LogNode,
    Round,
    SeriesRow,
    WitnessedCheckpoint,
)
from sordino_server.public_log.tree import TILE, ReadTile
from sordino_shared.protocol import CampaignState

_DAY_S = 86_400


def current(session: Session) -> Log | None:
    """The log of this server; None where it keeps none."""
    return session.scalars(select(Log).order_by(Log.id.desc()).limit(1)).first()


def has_campaigns(session: Session) -> bool:
    """Whether anything was ever asked."""
    return session.execute(select(Campaign.id).limit(1)).first() is not None


def mark_ahead(session: Session, log: int, size: int) -> None:
    """Others know `size` entries of a log; of several that know more than the database the one with most counts."""
    row = session.get_one(Log, log)
    row.ahead = max(size, row.ahead or 0)


def kept_campaigns(session: Session, ids: Iterable[str]) -> set[str]:
    """Those of the ids whose campaigns are in the database: one that was deleted stays in the log."""
    return set(session.scalars(select(Campaign.id).where(Campaign.id.in_(list(ids)))))


def unfinished_campaigns(session: Session) -> Sequence[Campaign]:
    """Ready and open ones, the oldest first."""
    states = (CampaignState.READY, CampaignState.OPEN)
    query = select(Campaign).where(Campaign.state.in_(states)).order_by(Campaign.created_at, Campaign.id)
    return session.scalars(query).all()


def later_plans(session: Session, campaign: str) -> list[tuple[int, str]]:
    """(index, digest of the device part) of the rounds behind the first whose plans are sealed; none of a series."""
    series = select(SeriesRow.campaign_id).where(SeriesRow.campaign_id == campaign)
    query = select(Round.index, Round.device_digest).where(
        Round.campaign_id == campaign, Round.index > 0, ~series.exists()
    )
    return [(row[0], row[1]) for row in session.execute(query.order_by(Round.index))]


def find_entry(session: Session, log: Log, kind: str, campaign: str, index: int | None) -> LogEntryRow | None:
    """The first entry of this kind about a campaign, or about a round of it."""
    same_round = LogEntryRow.round.is_(None) if index is None else LogEntryRow.round == index
    query = select(LogEntryRow).where(
        LogEntryRow.log_id == log.id, LogEntryRow.kind == kind, LogEntryRow.campaign == campaign, same_round
    )
    return session.scalars(query.order_by(LogEntryRow.id).limit(1)).first()


def key_entries(session: Session, log: Log, *, waiting: bool = False) -> Sequence[LogEntryRow]:
    """The entries about the log's keys in their order, with those that wait for a number where that is asked."""
    query = _of_kind(log, "key")
    numbered = query if waiting else query.where(LogEntryRow.number.is_not(None))
    return session.scalars(numbered).all()


def signer_entries(session: Session, log: Log) -> Sequence[LogEntryRow]:
    """The entries about keys that sign manifests, in their order, with those that wait for a number."""
    return session.scalars(_of_kind(log, "signer")).all()


def _of_kind(log: Log, kind: str) -> Select[LogEntryRow]:
    # The index begins with the campaign, which these kinds have none of.
    query = select(LogEntryRow).where(
        LogEntryRow.campaign.is_(None), LogEntryRow.kind == kind, LogEntryRow.log_id == log.id
    )
    # By numbers: in a restored database an entry that was read back has a larger id than one that waits.
    return query.order_by(LogEntryRow.number.is_(None), LogEntryRow.number, LogEntryRow.id)


def has_waiting(session: Session, log: Log) -> bool:
    """Whether there are entries without a number."""
    return session.execute(_waiting(log).limit(1)).first() is not None


def waiting(session: Session, log: Log, most: int) -> list[int]:
    """Ids of the first entries without a number."""
    return list(session.scalars(_waiting(log).order_by(LogEntryRow.id).limit(most)))


def waiting_entries(session: Session, log: Log) -> Sequence[LogEntryRow]:
    """All entries without a number, the first to be written first."""
    query = select(LogEntryRow).where(LogEntryRow.log_id == log.id, LogEntryRow.number.is_(None))
    return session.scalars(query.order_by(LogEntryRow.id)).all()


def count_waiting(session: Session, log: Log) -> int:
    """How many entries have no number."""
    return session.scalar(select(func.count()).select_from(_waiting(log).subquery())) or 0


def oldest_waiting(session: Session, log: Log) -> int | None:
    """When the first entry without a number was written; None where there is none."""
    query = select(func.min(LogEntryRow.at)).where(LogEntryRow.log_id == log.id, LogEntryRow.number.is_(None))
    return session.scalar(query)


def numbered_before(session: Session, log: Log, before: int | None, most: int) -> Sequence[LogEntryRow]:
    """Numbered entries below `before`, or all of them, the newest first."""
    query = select(LogEntryRow).where(LogEntryRow.log_id == log.id, LogEntryRow.number.is_not(None))
    if before is not None:
        query = query.where(LogEntryRow.number < before)
    return session.scalars(query.order_by(LogEntryRow.number.desc()).limit(most)).all()


def last_witnessed(session: Session, origin: str) -> WitnessedCheckpoint | None:
    """The largest checkpoint of another log that was cosigned."""
    query = select(WitnessedCheckpoint).where(WitnessedCheckpoint.origin == origin)
    return session.scalars(query.order_by(WitnessedCheckpoint.size.desc()).limit(1)).first()


def _waiting(log: Log) -> Select[int]:
    return select(LogEntryRow.id).where(LogEntryRow.log_id == log.id, LogEntryRow.number.is_(None))


def give_numbers(session: Session, ids: Sequence[int], first: int) -> None:
    """Number entries from `first` on."""
    session.execute(update(LogEntryRow), [{"id": each, "number": first + place} for place, each in enumerate(ids)])


def add_nodes(session: Session, log: Log, level: int, nodes: Sequence[tuple[int, bytes]]) -> None:
    """Write (index, hash) of full tiles."""
    rows = [{"log_id": log.id, "level": level, "index": index, "hash": content} for index, content in nodes]
    if rows:
        session.execute(insert(LogNode), rows)


def tile_reader(session: Session, log: Log) -> ReadTile:
    """Reads tiles of the log in this transaction."""

    def read(level: int, index: int, width: int) -> Sequence[bytes]:
        first = index * TILE
        if level == 0:
            place, found = LogEntryRow.number, LogEntryRow.leaf
            owned = LogEntryRow.log_id == log.id
        else:
            place, found = LogNode.index, LogNode.hash
            owned = (LogNode.log_id == log.id) & (LogNode.level == level)
        query = select(found).where(owned, place >= first, place < first + width).order_by(place)
        hashes = session.scalars(query).all()
        if len(hashes) != width:
            raise ValueError(f"tile {level}/{index} of the log has {len(hashes)} of {width} hashes: restore a backup")
        return hashes

    return read


def entries(session: Session, log: Log, first: int, count: int) -> Sequence[bytes]:
    """The contents of numbered entries."""
    query = select(LogEntryRow.content).where(
        LogEntryRow.log_id == log.id, LogEntryRow.number >= first, LogEntryRow.number < first + count
    )
    return session.scalars(query.order_by(LogEntryRow.number)).all()


def newest_checkpoint(session: Session, log: Log) -> LogCheckpoint | None:
    """The one of the largest size."""
    query = select(LogCheckpoint).where(LogCheckpoint.log_id == log.id)
    return session.scalars(query.order_by(LogCheckpoint.size.desc()).limit(1)).first()


def first_signed(session: Session, log: Log, number: int) -> int | None:
    """When the first checkpoint with this entry was signed, in Unix seconds; None where there is none yet."""
    own = (LogCheckpoint.log_id == log.id, LogCheckpoint.size > number)
    return session.scalar(select(LogCheckpoint.at).where(*own).order_by(LogCheckpoint.size).limit(1))


def newest_cosigned(session: Session, log: Log, quorum: int) -> LogCheckpoint | None:
    """The largest one that so many witnesses cosigned."""
    if quorum == 0:
        return newest_checkpoint(session, log)
    enough = (
        select(LogCosignature.size)
        .where(LogCosignature.log_id == log.id)
        .group_by(LogCosignature.size)
        .having(func.count() >= quorum)
    )
    query = select(LogCheckpoint).where(LogCheckpoint.log_id == log.id, LogCheckpoint.size.in_(enough))
    return session.scalars(query.order_by(LogCheckpoint.size.desc()).limit(1)).first()


def cosignatures(session: Session, checkpoint: LogCheckpoint) -> Sequence[LogCosignature]:
    """Those of a checkpoint, by the names of witnesses."""
    query = select(LogCosignature).where(
        LogCosignature.log_id == checkpoint.log_id, LogCosignature.size == checkpoint.size
    )
    return session.scalars(query.order_by(LogCosignature.witness)).all()


def largest_cosigned(session: Session, log: Log) -> dict[str, int]:
    """By witness, the largest size that it cosigned."""
    query = select(LogCosignature.witness, func.max(LogCosignature.size)).where(LogCosignature.log_id == log.id)
    return {row[0]: row[1] for row in session.execute(query.group_by(LogCosignature.witness))}


def last_lines(session: Session, log: Log) -> dict[str, LogCosignature]:
    """By witness, its line below the largest checkpoint that it cosigned."""
    owned = LogCosignature.log_id == log.id
    largest = (
        select(LogCosignature.witness, func.max(LogCosignature.size).label("size"))
        .where(owned)
        .group_by(LogCosignature.witness)
        .subquery()
    )
    same = (LogCosignature.witness == largest.c.witness) & (LogCosignature.size == largest.c.size)
    query = select(LogCosignature).join(largest, same).where(owned)
    return {each.witness: each for each in session.scalars(query)}


def first_of_days(session: Session, log: Log, size: int, most: int) -> list[LogCheckpoint]:
    """The first checkpoint of each of the last days that have one, up to `size`, ascending."""
    # Whole numbers on both engines: at − at mod 86,400.
    day = LogCheckpoint.at - LogCheckpoint.at % _DAY_S
    firsts = (
        select(func.min(LogCheckpoint.size))
        .where(LogCheckpoint.log_id == log.id, LogCheckpoint.size <= size)
        .group_by(day)
        .order_by(func.min(LogCheckpoint.size).desc())
        .limit(most)
    )
    query = select(LogCheckpoint).where(LogCheckpoint.log_id == log.id, LogCheckpoint.size.in_(firsts))
    return list(session.scalars(query.order_by(LogCheckpoint.size)))


def add_all(session: Session, rows: Iterable[object]) -> None:
    """Insert rows."""
    session.add_all(rows)
    session.flush()
