"""Report ids and refusal counters in the database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, select, text
from sqlalchemy.orm import Session

from sordino_server.kit.db import Database
from sordino_server.models import RefusalCount, Report

# Both engines limit the parameters of a statement (32,766 and 65,535).
_PAGE = 8192
# Ids and hashes go in as columns, end to end. One by one, PostgreSQL and its driver take longer to spell out a value
# than to insert it, and SQLite gives rows to step over, at each of which the thread of requests would take its turn.
# What is told back are the ids that were there already: nearly always none.
_POSTGRES_INSERT = text(
    "WITH new AS MATERIALIZED ("
    "SELECT substr(:ids, 16 * i + 1, 16) AS report_id, substr(:hashes, 16 * i + 1, 16) AS content_hash"
    " FROM generate_series(0, :count - 1) AS i"
    "), inserted AS ("
    "INSERT INTO reports (round_id, report_id, content_hash) SELECT :round, report_id, content_hash FROM new"
    " ON CONFLICT DO NOTHING RETURNING report_id"
    ") SELECT report_id FROM new WHERE report_id NOT IN (SELECT report_id FROM inserted)"
)
# ?1 holds ?2 ids of round ?3 end to end, ?4 their hashes.
_SQLITE_PLACES = "WITH RECURSIVE places (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM places WHERE i + 1 < ?2) "
_SQLITE_KNOWN = (
    _SQLITE_PLACES + "SELECT report_id FROM places CROSS JOIN reports"
    " WHERE round_id = ?3 AND report_id = substr(?1, 16 * i + 1, 16)"
)
_SQLITE_INSERT = (
    _SQLITE_PLACES + "INSERT INTO reports (round_id, report_id, content_hash)"
    " SELECT ?3, substr(?1, 16 * i + 1, 16), substr(?4, 16 * i + 1, 16) FROM places"
)


def insert_new(database: Database, session: Session, round_id: int, hashes: Mapping[bytes, bytes]) -> set[bytes]:
    """Insert the ids that the round does not hold yet, and say which they were.

    Ids go in in order: pages of the index are visited once, and two writers never wait for each other in a circle.
    """
    ordered = sorted(hashes)
    insert = _insert_new_sqlite if database.is_sqlite else _insert_new_postgres
    return insert(session.connection(), round_id, ordered, hashes)


def _insert_new_postgres(
    connection: Connection, round_id: int, ordered: list[bytes], hashes: Mapping[bytes, bytes]
) -> set[bytes]:
    columns = {"ids": b"".join(ordered), "hashes": b"".join(map(hashes.__getitem__, ordered))}
    held = connection.execute(_POSTGRES_INSERT, columns | {"round": round_id, "count": len(ordered)})
    return set(ordered).difference(map(bytes, held.scalars()))


def _insert_new_sqlite(
    connection: Connection, round_id: int, ordered: list[bytes], hashes: Mapping[bytes, bytes]
) -> set[bytes]:
    """Look up, then insert: nobody else writes meanwhile."""
    known = set(connection.exec_driver_sql(_SQLITE_KNOWN, (b"".join(ordered), len(ordered), round_id)).scalars())
    new = [key for key in ordered if key not in known] if known else ordered
    if new:
        columns = b"".join(new), len(new), round_id, b"".join(map(hashes.__getitem__, new))
        connection.exec_driver_sql(_SQLITE_INSERT, columns)
    return set(new)


def known_hashes(session: Session, round_id: int, ids: Iterable[bytes]) -> dict[bytes, bytes]:
    """Hashes of those ids that the round holds."""
    wanted, found = list(ids), dict[bytes, bytes]()
    for start in range(0, len(wanted), _PAGE):
        query = select(Report.report_id, Report.content_hash).where(
            Report.round_id == round_id, Report.report_id.in_(wanted[start : start + _PAGE])
        )
        found.update((bytes(key), bytes(digest)) for key, digest in session.execute(query))
    return found


def add_refusals(session: Session, counts: Mapping[tuple[str, str], int]) -> None:
    """Add to the counters (campaign, reason); a campaign that does not exist has none."""
    statement = text(
        "INSERT INTO refusals (campaign_id, reason, count)"
        " SELECT id, :reason, :count FROM campaigns WHERE id = :campaign"
        " ON CONFLICT (campaign_id, reason) DO UPDATE SET count = refusals.count + excluded.count"
    )
    for campaign, reason in sorted(counts):
        session.execute(statement, {"campaign": campaign, "reason": reason, "count": counts[campaign, reason]})


def refusals(session: Session, campaigns: Iterable[str]) -> dict[str, dict[str, int]]:
    """Refused reports by reason, for each of the campaigns."""
    found: dict[str, dict[str, int]] = {campaign: {} for campaign in campaigns}
    query = select(RefusalCount).where(RefusalCount.campaign_id.in_(found)).order_by(RefusalCount.reason)
    for row in session.scalars(query.execution_options(populate_existing=True)):
        found[row.campaign_id][row.reason] = row.count
    return found
