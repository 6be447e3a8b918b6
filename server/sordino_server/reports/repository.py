"""Report ids and refusal counters in the database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from sordino_server.kit.db import Database
from sordino_server.models import RefusalCount, Report

# Both engines limit the parameters of a statement (32,766 and 65,535).
_PAGE = 8192
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
    if database.is_sqlite:
        return _insert_new_sqlite(session, round_id, ordered, hashes)
    inserted = session.execute(
        text(
            "INSERT INTO reports (round_id, report_id, content_hash)"
            " SELECT :round, id, hash FROM unnest(CAST(:ids AS bytea[]), CAST(:hashes AS bytea[])) AS new (id, hash)"
            " ON CONFLICT DO NOTHING RETURNING report_id"
        ),
        {"round": round_id, "ids": ordered, "hashes": [hashes[key] for key in ordered]},
    )
    return {bytes(key) for key in inserted.scalars()}


def _insert_new_sqlite(
    session: Session, round_id: int, ordered: list[bytes], hashes: Mapping[bytes, bytes]
) -> set[bytes]:
    """Look up, then insert: nobody else writes meanwhile.

    Ids and hashes go in as columns, end to end: a statement of fixed text is not parsed anew, and it gives no rows to
    step over, at each of which the thread of requests would take its turn.
    """
    connection = session.connection()
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


def refusals(session: Session, campaign: str) -> dict[str, int]:
    """Refused reports of a campaign by reason."""
    query = select(RefusalCount.reason, RefusalCount.count).where(RefusalCount.campaign_id == campaign)
    rows = session.execute(query.order_by(RefusalCount.reason))
    return {str(reason): int(count) for reason, count in rows}
