"""The log of a closed round added up by several processes, each over its own ranges of chunks."""

from __future__ import annotations

from functools import lru_cache, partial, reduce

from sordino_analysis.archive.process_pool import ProcessDied, imap_unordered
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.progress import Progress, ProgressCallback, ignore_progress
from sordino_server.aggregates import repository
from sordino_server.aggregates.log_pages import add_up
from sordino_server.aggregates.repository import ChunkIds
from sordino_server.kit.db import Database
from sordino_server.kit.logs import logger
from sordino_shared.randomizers import AnyRandomizer

log = logger(__name__)

# Below this a process starts for longer than it adds up: about a second for 1.2 µs a report.
LEAST_POOLED_REPORTS = 1 << 21
# Every process has sums of its own, and sends them once for each of its ranges.
MOST_POOLED_SUMS = 1 << 16
# Chunks of other rounds lie between those of this one: small ranges keep all processes busy to the end.
_RANGES_A_PROCESS = 8


def worth_a_pool(randomizer: AnyRandomizer, counted: int) -> bool:
    """Whether several processes add up so many reports sooner than one; never where a report is a single lookup."""
    is_costly = for_randomizer(randomizer).summed_on_ingest != "cheap"
    return is_costly and counted >= LEAST_POOLED_REPORTS and randomizer.accumulator_size <= MOST_POOLED_SUMS


def add_up_in_pool(
    database: Database,
    round_id: int,
    randomizer: AnyRandomizer,
    counted: int,
    processes: int,
    progress: ProgressCallback = ignore_progress,
    arm: int | None = None,
) -> Aggregate:
    """The payloads of the round added up by `processes` processes: the same bytes as one process gives.

    Where one of them dies, this process adds up all by itself: a round must not fail for what may pass.
    """
    with database.read("read range of the log") as session:
        ranges = repository.chunk_ids(session, round_id, arm).split(processes * _RANGES_A_PROCESS)
    try:
        parts = _sums_of_ranges(database, round_id, randomizer, counted, ranges, processes, progress)
    except ProcessDied:
        log.warning("a process that added up reports died; the worker adds up all of them by itself", round=round_id)
        return add_up(database, round_id, randomizer, counted, progress, ChunkIds(arm=arm))
    return reduce(Aggregate.__add__, parts, Aggregate.empty(randomizer))


def _sums_of_ranges(
    database: Database,
    round_id: int,
    randomizer: AnyRandomizer,
    counted: int,
    ranges: list[ChunkIds],
    processes: int,
    progress: ProgressCallback,
) -> list[Aggregate]:
    url = database.url.render_as_string(hide_password=False)
    parts: list[Aggregate] = []
    # Not forks of the planner's server, which is prepared for plans.
    for part in imap_unordered(partial(_sums_of_range, url, round_id, randomizer), ranges, processes):
        parts.append(part)
        progress(Progress(min(1.0, sum(part.count for part in parts) / counted)))
    return parts


@lru_cache(maxsize=1)
def _database(url: str) -> Database:
    return Database(url, connections=1)


def _sums_of_range(url: str, round_id: int, randomizer: AnyRandomizer, chunks: ChunkIds) -> Aggregate:
    return add_up(_database(url), round_id, randomizer, 0, chunks=chunks)
