"""The log of a closed round, page by page. It never changes, so pages need no common snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.evaluation.accumulate import Aggregate, add_payloads
from sordino_analysis.progress import Progress, ProgressCallback, ignore_progress
from sordino_server.aggregates import repository
from sordino_server.aggregates.repository import ChunkIds
from sordino_server.kit.db import Database
from sordino_shared.protocol import MAX_REPORTS
from sordino_shared.randomizers import AnyRandomizer

# One page of the log is read and added up at a time. PostgreSQL's driver keeps the memory for one in each connection.
_PAGE_BYTES = 4 << 20
_ALL = ChunkIds()
_COUNTS_AT_ONCE = 10_000


def log_pages(database: Database, round_id: int, width: int, chunks: ChunkIds = _ALL) -> Iterator[NDArray[np.uint8]]:
    """(n, width) payloads of the round's chunks, page by page."""
    limit = max(1, _PAGE_BYTES // (width * MAX_REPORTS))
    while True:
        with database.read("read log") as session:
            count, last, payloads = repository.log_after(database, session, round_id, chunks, limit)
        yield np.frombuffer(payloads, dtype=np.uint8).reshape(-1, width)
        if count < limit:
            return
        chunks = replace(chunks, after=last)


def ranges_of_reports(database: Database, round_id: int, reports: int) -> Iterator[ChunkIds]:
    """The chunks of the round in ranges of at least so many reports each, but for the last; none where it has none."""
    start, last, held = 0, 0, 0
    while True:
        with database.read("read chunks of the log") as session:
            chunks = repository.counts_after(session, round_id, last, _COUNTS_AT_ONCE)
        for last, count in chunks:
            held += count
            if held >= reports:
                yield ChunkIds(start, last)
                start, held = last, 0
        if len(chunks) < _COUNTS_AT_ONCE:
            break
    if held:
        yield ChunkIds(start, last)


def add_up(
    database: Database,
    round_id: int,
    randomizer: AnyRandomizer,
    counted: int,
    progress: ProgressCallback = ignore_progress,
    chunks: ChunkIds = _ALL,
) -> Aggregate:
    """The payloads of the round's chunks added up in this process; `progress` hears of `counted` reports in all."""
    # In place, as the sums of a large domain take as much memory as the machine may have left.
    sums, count = Aggregate.empty(randomizer).sums, 0
    for payloads in log_pages(database, round_id, randomizer.payload_bytes, chunks):
        add_payloads(randomizer, payloads, sums)
        count += len(payloads)
        progress(Progress(min(1.0, count / max(counted, 1))))
    return Aggregate(count, sums)
