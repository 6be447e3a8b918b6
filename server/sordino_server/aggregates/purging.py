"""Giving up a round's reports: first its whole aggregate is kept as one share, then log and ids go, page by page."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy.orm import Session

from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_server.aggregates import repository
from sordino_server.aggregates.aggregation import LogPurged, own_aggregate
from sordino_server.kit.db import Database
from sordino_server.models import Round
from sordino_shared.randomizers import AnyRandomizer

# Rows of one transaction: other writers wait for no more than this.
_PAGE = 4096


def purge(
    database: Database,
    round_id: int,
    randomizer: AnyRandomizer,
    now: int,
    delete_copies: Callable[[], None] = lambda: None,
) -> None:
    """Delete the reports of a round that takes none any more; its aggregate stays what it is.

    May be broken off and done again, also by two at once. `delete_copies` is called before the first report goes, and
    where it raises, none does. Raises `AggregateMismatch` where shards and log disagree: then nothing is deleted.
    """
    try:
        whole: Aggregate | None = own_aggregate(database, round_id, randomizer)
    except LogPurged:
        # Somebody else has just begun to delete it.
        whole = None
    delete_copies()
    if whole is not None:
        database.run("keep aggregate", lambda session: _keep(session, round_id, whole, now))
    while database.run("purge reports", lambda session: repository.delete_reports(session, round_id, _PAGE)):
        pass


def _keep(session: Session, round_id: int, whole: Aggregate, now: int) -> None:
    row = session.get_one(Round, round_id, with_for_update=True, populate_existing=True)
    if row.purged_at is None:
        repository.keep_one_share(session, round_id, whole.count, whole.to_bytes())
        row.purged_at = now
