"""The aggregate of a closed round, from the writers' shards or from the log, whose bytes are the same; its purging."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.progress import Progress, ProgressCallback, ignore_progress
from sordino_server.aggregates import repository
from sordino_server.aggregates.log_pages import add_up, log_pages
from sordino_server.aggregates.log_pool import add_up_in_pool, worth_a_pool
from sordino_server.aggregates.repository import ChunkIds
from sordino_server.kit.db import Database
from sordino_server.models import Round
from sordino_shared.errors import SordinoError
from sordino_shared.quantities import quantity
from sordino_shared.randomizers import AnyRandomizer


class AggregateMismatch(SordinoError):
    """The log holds `logged` reports of round `round_id`, the writers counted `counted`: the database was altered."""

    def __init__(self, round_id: int, counted: int, logged: int) -> None:
        super().__init__(
            f"round {round_id}: {quantity(counted, 'report')} counted, {logged:,} in the log; "
            "the database was altered from outside, restore it from a backup"
        )
        self.round_id = round_id
        self.counted = counted
        self.logged = logged


class LogPurged(SordinoError):
    """The log of round `round_id` was given up at `purged_at`, in Unix seconds, as its retention says."""

    def __init__(self, round_id: int, purged_at: int) -> None:
        super().__init__(
            f"the reports of round {round_id} were purged at {purged_at} (Unix time) and cannot be added up again; "
            "their aggregate was kept"
        )
        self.round_id = round_id
        self.purged_at = purged_at


def aggregate(
    database: Database,
    round_id: int,
    randomizer: AnyRandomizer,
    progress: ProgressCallback = ignore_progress,
    processes: int = 1,
    arm: int | None = None,
) -> Aggregate:
    """All that was counted in a closed round: this server's own reports, and the sums that came from elsewhere.

    With `arm` those of one arm; sums from elsewhere are of campaigns without arms. Raises `AggregateMismatch` where
    shards and log, unless it was given up, do not count the same.
    """
    own = own_aggregate(database, round_id, randomizer, progress, processes, arm)
    if arm is not None:
        return own
    with database.read("read sums from elsewhere") as session:
        shares = repository.source_shares(session, round_id)
    return reduce(Aggregate.__add__, (Aggregate.from_bytes(*share) for share in shares.values()), own)


def own_aggregate(
    database: Database,
    round_id: int,
    randomizer: AnyRandomizer,
    progress: ProgressCallback = ignore_progress,
    processes: int = 1,
    arm: int | None = None,
) -> Aggregate:
    """The merged shards of a closed round; where sums were not kept on ingest, its log added up by `processes`.

    Raises `AggregateMismatch` where shards and log, unless it was given up, do not count the same.
    """
    with database.read("read shards") as session:
        shards = repository.shards(session, round_id, arm)
        logged = repository.logged(session, round_id, arm)
        # Read last: a purge records its start before it deletes.
        is_gone = repository.purged_at(session, round_id) is not None
    counted = sum(count for count, _ in shards)
    if not all(sums for _, sums in shards):
        return re_aggregate(database, round_id, randomizer, counted, progress, processes, arm)
    if logged != counted and not is_gone:
        raise AggregateMismatch(round_id, counted, logged)
    parts = (Aggregate.from_bytes(count, sums) for count, sums in shards)
    merged = reduce(Aggregate.__add__, parts, Aggregate.empty(randomizer))
    progress(Progress(1.0))
    return merged


def re_aggregate(
    database: Database,
    round_id: int,
    randomizer: AnyRandomizer,
    counted: int,
    progress: ProgressCallback = ignore_progress,
    processes: int = 1,
    arm: int | None = None,
) -> Aggregate:
    """Every payload in the log, or of an arm, added up; raises `AggregateMismatch` unless there are `counted` of them.

    Raises `LogPurged` where the log was given up, be it while it was read.
    """
    if processes > 1 and worth_a_pool(randomizer, counted):
        total = add_up_in_pool(database, round_id, randomizer, counted, processes, progress, arm)
    else:
        total = add_up(database, round_id, randomizer, counted, progress, ChunkIds(arm=arm))
    _check_count(database, round_id, counted, total.count)
    return total


def logged_payloads(database: Database, round_id: int, width: int, counted: int) -> Iterator[NDArray[np.uint8]]:
    """(n, width) payloads of a closed round, page by page; raises at the end unless there were `counted`.

    Raises `AggregateMismatch`, or `LogPurged` where the log was given up, be it while it was read.
    """
    count = 0
    for payloads in log_pages(database, round_id, width):
        yield payloads
        count += len(payloads)
    _check_count(database, round_id, counted, count)


def _check_count(database: Database, round_id: int, counted: int, logged: int) -> None:
    if logged == counted:
        return
    with database.read("is the log gone") as session:
        gone = repository.purged_at(session, round_id)
    raise AggregateMismatch(round_id, counted, logged) if gone is None else LogPurged(round_id, gone)


# Rows of one transaction: other writers wait for no more than this.
_PURGED_AT_ONCE = 4096


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
        whole: list[Aggregate] | None = arms_of(database, round_id, randomizer)
    except LogPurged:
        # Somebody else has just begun to delete it.
        whole = None
    delete_copies()
    if whole is not None:
        database.run("keep aggregate", lambda session: _keep(session, round_id, whole, now))
    while database.run("purge reports", lambda session: repository.delete_reports(session, round_id, _PURGED_AT_ONCE)):
        pass


def arms_of(database: Database, round_id: int, randomizer: AnyRandomizer, processes: int = 1) -> list[Aggregate]:
    """The aggregate of each arm of a closed round in order; of a campaign without arms the one of all its reports.

    Raises `AggregateMismatch`, `LogPurged`.
    """
    with database.read("read arms of round") as session:
        arms = session.get_one(Round, round_id).arms
    return [own_aggregate(database, round_id, randomizer, processes=processes, arm=arm) for arm in range(max(1, arms))]


def _keep(session: Session, round_id: int, whole: Sequence[Aggregate], now: int) -> None:
    row = session.get_one(Round, round_id, with_for_update=True, populate_existing=True)
    if row.purged_at is None:
        repository.keep_one_share(session, round_id, [(each.count, each.to_bytes()) for each in whole])
        row.purged_at = now
