"""The log of payloads and the running sums, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from sqlalchemy import CursorResult, delete, func, insert, select
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.orm import Session

from sordino_server.kit.db import Database
from sordino_server.models import Accumulator, Report, ReportChunk, Round
from sordino_shared.randomizers import Randomizer

# Statistics that take work for every report; they are added up when the round ends.
_DECODED_AT_THE_END = frozenset({"direction_sums", "character_sums", "pair_sums"})
# Every commit rewrites the writer's sums; beyond 128 KiB that costs more than adding up the log once at the end.
MAX_INGEST_SUMS = 1 << 14
# The name of the share that is left of a round whose reports were given up.
_WHOLE = "whole"


def summed_on_ingest(randomizer: Randomizer) -> bool:
    """Whether sums are kept while reports arrive."""
    return randomizer.statistic not in _DECODED_AT_THE_END and randomizer.statistic_size <= MAX_INGEST_SUMS


def add_chunk(session: Session, round_id: int, count: int, payloads: bytes, now: int) -> None:
    """Append the payloads of `count` new reports to the log."""
    session.execute(
        insert(ReportChunk), {"round_id": round_id, "count": count, "payloads": payloads, "created_at": now}
    )


def put_share(database: Database, session: Session, round_id: int, shard: str, count: int, sums: bytes) -> None:
    """Replace one writer's share; nobody else writes it, so nothing is read first."""
    into = sqlite_insert if database.is_sqlite else postgres_insert
    statement = into(Accumulator).values(round_id=round_id, shard=shard, count=count, sums=sums)
    replaced = {"count": statement.excluded.count, "sums": statement.excluded.sums}
    session.execute(statement.on_conflict_do_update(index_elements=["round_id", "shard"], set_=replaced))


def shares(session: Session, round_id: int) -> Sequence[tuple[int, bytes]]:
    """(count, sums) of every writer's share."""
    query = select(Accumulator.count, Accumulator.sums).where(Accumulator.round_id == round_id)
    return [(count, sums) for count, sums in session.execute(query.order_by(Accumulator.shard))]


def counts_by_round(session: Session, rounds: Iterable[int]) -> dict[int, int]:
    """Reports counted so far, for each of the rounds."""
    wanted = list(rounds)
    query = select(Accumulator.round_id, func.sum(Accumulator.count)).where(Accumulator.round_id.in_(wanted))
    found = {number: int(total) for number, total in session.execute(query.group_by(Accumulator.round_id))}
    return {number: found.get(number, 0) for number in wanted}


def chunks_after(session: Session, round_id: int, last: int, limit: int) -> Sequence[tuple[int, bytes]]:
    """Up to `limit` chunks (id, payloads) that follow chunk `last`."""
    query = select(ReportChunk.id, ReportChunk.payloads).where(ReportChunk.round_id == round_id, ReportChunk.id > last)
    rows = session.execute(query.order_by(ReportChunk.id).limit(limit))
    return [(key, payloads) for key, payloads in rows]


def purged_at(session: Session, round_id: int) -> int | None:
    """When the round's reports were given up; None while they are there."""
    return session.scalars(select(Round.purged_at).where(Round.id == round_id)).one()


def log_bytes(session: Session, round_id: int) -> int:
    """Bytes of all payloads in the log."""
    size = func.coalesce(func.sum(func.length(ReportChunk.payloads)), 0)
    return int(session.scalars(select(size).where(ReportChunk.round_id == round_id)).one())


def keep_one_share(database: Database, session: Session, round_id: int, count: int, sums: bytes) -> None:
    """Replace all shares of the round by one that is whole, also where sums were not kept on ingest."""
    session.execute(delete(Accumulator).where(Accumulator.round_id == round_id))
    put_share(database, session, round_id, _WHOLE, count, sums)


def delete_reports(session: Session, round_id: int, limit: int) -> bool:
    """Delete up to `limit` chunks and as many ids; whether there were any."""
    chunks = select(ReportChunk.id).where(ReportChunk.round_id == round_id).limit(limit)
    ids = select(Report.report_id).where(Report.round_id == round_id).limit(limit)
    deleted = [
        session.execute(delete(ReportChunk).where(ReportChunk.id.in_(chunks))),
        session.execute(delete(Report).where(Report.round_id == round_id, Report.report_id.in_(ids))),
    ]
    return any(cast("CursorResult[Any]", each).rowcount for each in deleted)
