"""What a round's reports add up to: one share a writer, merged exactly in any order, and recomputed from the log."""

from sordino_server.aggregates.aggregation import (
    AggregateMismatch,
    LogPurged,
    aggregate,
    arms_of,
    logged_payloads,
    own_aggregate,
    purge,
    re_aggregate,
)
from sordino_server.aggregates.log_pages import ranges_of_reports
from sordino_server.aggregates.repository import (
    add_chunk,
    bytes_on_disk,
    counted_over_time,
    counts_by_arm,
    counts_by_round,
    counts_by_source,
    last_reports,
    log_bytes,
    newest_at,
    put_shard,
    put_source,
    source_counts,
    summed_on_ingest,
)

__all__ = [
    "AggregateMismatch",
    "LogPurged",
    "add_chunk",
    "aggregate",
    "arms_of",
    "bytes_on_disk",
    "counted_over_time",
    "counts_by_arm",
    "counts_by_round",
    "counts_by_source",
    "last_reports",
    "log_bytes",
    "logged_payloads",
    "newest_at",
    "own_aggregate",
    "purge",
    "put_shard",
    "put_source",
    "ranges_of_reports",
    "re_aggregate",
    "source_counts",
    "summed_on_ingest",
]
