"""The log of payloads and the running sums, row by row."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

from sqlalchemy import CursorResult, case, delete, func, select, text
from sqlalchemy.orm import Session, aliased

from sordino_analysis.evaluation.randomizers import IngestSums, for_randomizer
from sordino_server.kit.db import AS_BYTES, Database
from sordino_server.models import Accumulator, Report, ReportChunk, Round
from sordino_shared.protocol.experiments import MAX_ARMS
from sordino_shared.randomizers import AnyRandomizer

# Every commit rewrites the writer's sums; beyond 128 KiB that costs more than adding up the log once at the end.
MAX_INGEST_SUMS = 1 << 14
# As text: to put a statement together takes longer than to run it, and these run in every upload's transaction.
_ADD_CHUNK = text(
    "INSERT INTO report_chunks (round_id, arm, count, payloads, created_at)"
    " VALUES (:round, :arm, :count, :payloads, :now)"
)
_PUT_SHARE = text(
    "INSERT INTO accumulators (round_id, arm, shard, count, sums) VALUES (:round, :arm, :shard, :count, :sums)"
    " ON CONFLICT (round_id, shard) DO UPDATE SET count = excluded.count, sums = excluded.sums"
)
_CHUNKS = (
    "SELECT id, payloads FROM report_chunks WHERE round_id = :round AND id > :last AND id <= :until"
    " AND arm >= :first_arm AND arm <= :last_arm"
    " ORDER BY id LIMIT :limit"
)
_CHUNKS_AFTER = text(_CHUNKS)
# Row by row PostgreSQL would send them in small pieces, and waiting for each costs more than adding it up.
_JOINED_AFTER = text(
    f"SELECT count(*), coalesce(max(id), :last), coalesce(string_agg(payloads, ''), '') FROM ({_CHUNKS}) AS page"
).execution_options(**AS_BYTES)
# Of a series, whose later periods have the later reports.
_NEWEST_ROUNDS = 60
# The name of the share that is left of a round whose reports were given up.
_WHOLE = "whole"
# What the name of a share begins with whose reports are elsewhere: only their sums came.
_SOURCE = "source:"
_OWN = Accumulator.shard.not_like(f"{_SOURCE}%")
# Of a shard's 32 random digits so many stay where the arm is in the name: 116 bits, which no two writers share.
_SHARD_NAME = 29
_LAST_ID = (1 << 63) - 1


@dataclass(frozen=True)
class ChunkIds:
    """Chunks of the log whose ids are above `after` and at most `until`, of one `arm`; by default all of all arms."""

    after: int = 0
    until: int = _LAST_ID
    arm: int | None = None

    def split(self, ranges: int) -> list[ChunkIds]:
        """At most `ranges` ranges of equal length that hold each of these ids once."""
        bounds = [self.after + (self.until - self.after) * part // ranges for part in range(ranges + 1)]
        return [ChunkIds(after, until, self.arm) for after, until in pairwise(bounds) if after < until]


def summed_on_ingest(randomizer: AnyRandomizer, setting: IngestSums = "cheap") -> bool:
    """Whether a server with this SORDINO_SUM_ON_INGEST keeps sums while reports arrive."""
    least = for_randomizer(randomizer).summed_on_ingest
    return least in ("cheap", setting) and randomizer.accumulator_size <= MAX_INGEST_SUMS


def add_chunk(session: Session, round_id: int, count: int, payloads: bytes, now: int, arm: int = 0) -> None:
    """Append the payloads of `count` new reports of an arm to the log."""
    row = {"round": round_id, "arm": arm, "count": count, "payloads": payloads, "now": now}
    session.connection().execute(_ADD_CHUNK, row)


def put_shard(session: Session, round_id: int, shard: str, count: int, sums: bytes, arm: int = 0) -> None:
    """Replace one writer's share of an arm; nobody else writes it, so nothing is read first."""
    row = {"round": round_id, "arm": arm, "shard": shard_name(shard, arm), "count": count, "sums": sums}
    session.connection().execute(_PUT_SHARE, row)


def shard_name(shard: str, arm: int) -> str:
    """What the share of an arm is called: each has a name of its own, and the first that of its writer."""
    return f"{shard[:_SHARD_NAME]}_{arm}" if arm else shard


def shards(session: Session, round_id: int, arm: int | None = None) -> Sequence[tuple[int, bytes]]:
    """(count, sums) of every writer's share, of one arm or of all; nothing from elsewhere."""
    query = select(Accumulator.count, Accumulator.sums).where(Accumulator.round_id == round_id, _OWN)
    if arm is not None:
        query = query.where(Accumulator.arm == arm)
    return [(count, sums) for count, sums in session.execute(query.order_by(Accumulator.arm, Accumulator.shard))]


def counts_by_arm(session: Session, rounds: Collection[int]) -> dict[int, dict[int, int]]:
    """Reports counted so far in each of the rounds, for each arm that has some."""
    found: dict[int, dict[int, int]] = {number: {} for number in rounds}
    if not found:
        return found
    query = select(Accumulator.round_id, Accumulator.arm, func.sum(Accumulator.count))
    query = query.where(Accumulator.round_id.in_(found)).group_by(Accumulator.round_id, Accumulator.arm)
    for number, arm, total in session.execute(query):
        found[number][arm] = int(total)
    return found


def put_source(session: Session, round_id: int, source: str, count: int, sums: bytes) -> None:
    """Replace what a source has counted."""
    put_shard(session, round_id, _SOURCE + source, count, sums)


def source_shares(session: Session, round_id: int) -> dict[str, tuple[int, bytes]]:
    """(count, sums) that came from each source."""
    query = select(Accumulator.shard, Accumulator.count, Accumulator.sums)
    chosen = query.where(Accumulator.round_id == round_id, ~_OWN).order_by(Accumulator.shard)
    return {shard.removeprefix(_SOURCE): (count, sums) for shard, count, sums in session.execute(chosen)}


def source_counts(session: Session, round_id: int) -> dict[str, int]:
    """How many reports came from each source: no sums are read."""
    query = select(Accumulator.shard, Accumulator.count).where(Accumulator.round_id == round_id, ~_OWN)
    found = session.execute(query.order_by(Accumulator.shard))
    return {shard.removeprefix(_SOURCE): count for shard, count in found}


def counts_by_round(session: Session, rounds: Iterable[int], *, own: bool = False) -> dict[int, int]:
    """Reports counted so far, for each of the rounds; with `own` those in this server's log alone."""
    wanted = list(rounds)
    query = select(Accumulator.round_id, func.sum(Accumulator.count)).where(Accumulator.round_id.in_(wanted))
    if own:
        query = query.where(_OWN)
    found = {number: int(total) for number, total in session.execute(query.group_by(Accumulator.round_id))}
    return {number: found.get(number, 0) for number in wanted}


def counts_by_source(session: Session, rounds: Iterable[int]) -> dict[int, dict[str, int]]:
    """Reports counted so far from each source of each of the rounds; those in this server's log under ""."""
    wanted = list(rounds)
    source = case((_OWN, ""), else_=Accumulator.shard).label("source")
    query = select(Accumulator.round_id, source, func.sum(Accumulator.count)).where(Accumulator.round_id.in_(wanted))
    found: dict[int, dict[str, int]] = {number: {} for number in wanted}
    for number, name, total in session.execute(query.group_by(Accumulator.round_id, "source")):
        found[number][name.removeprefix(_SOURCE)] = int(total)
    return found


def log_after(
    database: Database, session: Session, round_id: int, chunks: ChunkIds, limit: int
) -> tuple[int, int, bytes]:
    """The first `limit` of the chunks at most: how many, the id of the last one, and their payloads in any order."""
    first, last_arm = (0, MAX_ARMS) if chunks.arm is None else (chunks.arm, chunks.arm)
    page = {"round": round_id, "last": chunks.after, "until": chunks.until, "limit": limit}
    page |= {"first_arm": first, "last_arm": last_arm}
    if not database.is_sqlite:
        count, last, payloads = session.connection().execute(_JOINED_AFTER, page).one()
        return count, last, payloads
    # All at once: a row at a time takes longer than what is in it.
    found = session.connection().execute(_CHUNKS_AFTER, page).all()
    return len(found), found[-1].id if found else chunks.after, b"".join([payloads for _, payloads in found])


def chunk_ids(session: Session, round_id: int, arm: int | None = None) -> ChunkIds:
    """The least range that holds all chunks of the round; chunks of other rounds may lie in it too."""
    query = select(func.min(ReportChunk.id), func.max(ReportChunk.id)).where(ReportChunk.round_id == round_id)
    first, last = session.execute(query).one()
    return ChunkIds(0, 0, arm) if first is None else ChunkIds(first - 1, last, arm)


def counts_after(session: Session, round_id: int, last: int, limit: int) -> Sequence[tuple[int, int]]:
    """(id, reports) of up to `limit` chunks of the round that follow chunk `last`, in order."""
    query = select(ReportChunk.id, ReportChunk.count).where(ReportChunk.round_id == round_id, ReportChunk.id > last)
    return [(number, count) for number, count in session.execute(query.order_by(ReportChunk.id).limit(limit))]


def last_reports(session: Session, campaigns: Collection[str]) -> dict[str, int]:
    """When the log of each campaign got its newest reports; one that has none, or whose are purged, is left out."""
    place = func.row_number().over(partition_by=Round.campaign_id, order_by=Round.index.desc())
    newest = (
        select(Round.id, Round.campaign_id, place.label("place")).where(Round.campaign_id.in_(campaigns)).subquery()
    )
    # The newest chunk of one round after the other: the index of each has it at the end.
    other = aliased(ReportChunk)
    last = select(func.max(other.id)).where(other.round_id == newest.c.id).scalar_subquery()
    query = select(newest.c.campaign_id, func.max(ReportChunk.created_at)).join(ReportChunk, ReportChunk.id == last)
    query = query.where(newest.c.place <= _NEWEST_ROUNDS).group_by(newest.c.campaign_id)
    return {campaign: int(moment) for campaign, moment in session.execute(query)}


def logged(session: Session, round_id: int, arm: int | None = None) -> int:
    """Reports in the log, as its chunks were counted when they were written: no payload is read."""
    query = select(func.coalesce(func.sum(ReportChunk.count), 0)).where(ReportChunk.round_id == round_id)
    return int(session.scalars(query if arm is None else query.where(ReportChunk.arm == arm)).one())


def purged_at(session: Session, round_id: int) -> int | None:
    """When the round's reports were given up; None while they are there."""
    return session.scalars(select(Round.purged_at).where(Round.id == round_id)).one()


def newest_at(session: Session) -> int | None:
    """When the last reports came that are in the log, of any round; None where it is empty."""
    return session.scalar(select(ReportChunk.created_at).order_by(ReportChunk.id.desc()).limit(1))


def bytes_on_disk(session: Session) -> int:
    """Bytes of ids and log with their indexes, on PostgreSQL."""
    ids, payloads = (func.pg_total_relation_size(table.__tablename__) for table in (Report, ReportChunk))
    return int(session.scalars(select(ids + payloads)).one())


def log_bytes(session: Session, round_id: int) -> int:
    """Bytes of all payloads in the log."""
    size = func.coalesce(func.sum(func.length(ReportChunk.payloads)), 0)
    return int(session.scalars(select(size).where(ReportChunk.round_id == round_id)).one())


def keep_one_share(session: Session, round_id: int, sums_of_arms: Sequence[tuple[int, bytes]]) -> None:
    """Replace the writers' shards by a whole one for each arm, also where sums were not kept on ingest.

    `sums_of_arms` are (count, sums) in the order of the arms.
    """
    session.execute(delete(Accumulator).where(Accumulator.round_id == round_id, _OWN))
    for arm, (count, sums) in enumerate(sums_of_arms):
        put_shard(session, round_id, _WHOLE, count, sums, arm)


def delete_reports(session: Session, round_id: int, limit: int) -> bool:
    """Delete up to `limit` chunks and as many ids; whether there were any."""
    chunks = select(ReportChunk.id).where(ReportChunk.round_id == round_id).limit(limit)
    ids = select(Report.report_id).where(Report.round_id == round_id).limit(limit)
    deleted = [
        session.execute(delete(ReportChunk).where(ReportChunk.id.in_(chunks))),
        session.execute(delete(Report).where(Report.round_id == round_id, Report.report_id.in_(ids))),
    ]
    return any(cast("CursorResult[Any]", each).rowcount for each in deleted)


def counted_over_time(session: Session, round_id: int, parts: int) -> Sequence[tuple[int, int]]:
    """(Unix time, reports so far) at the end of each of up to `parts` parts of the log; none where it is purged."""
    chunks = chunk_ids(session, round_id)
    length = max(1, -(-(chunks.until - chunks.after) // parts))
    part = ((ReportChunk.id - (chunks.after + 1)) // length).label("part")
    query = select(part, func.max(ReportChunk.created_at), func.sum(ReportChunk.count))
    query = query.where(ReportChunk.round_id == round_id).group_by("part").order_by("part")
    found, total = [], 0
    for _, moment, count in session.execute(query):
        total += int(count)
        found.append((int(moment), total))
    return found
