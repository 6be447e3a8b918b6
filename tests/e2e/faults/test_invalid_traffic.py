"""Among requests of which some or all are invalid the valid ones count, and every invalid one under its reason."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count, cycle
from pathlib import Path
from typing import Any

import pytest

from sordino_server.kit.db import Database
from sordino_server.reports import repository as reports
from sordino_shared.protocol import CBOR_MEDIA_TYPE, Digest, ReportBatch

REQUESTS = 100
# Cost of a request among invalid ones, against one among valid ones: a refusal takes a commit of its own, as they do.
# The clock that counts a process's time ticks a hundred times a second, and a phase takes some dozens of ticks.
LARGEST_RATIO = 2.5


@pytest.fixture
def database(migrated_sqlite_url: str) -> Iterator[Database]:
    database = Database(migrated_sqlite_url)
    yield database
    database.close()


def invalid_requests(round_: Any) -> Iterator[tuple[str, int, bytes, str]]:
    """Reason, status, body and media type; every kind in turn, for ever."""
    good = round_.body([9_999])
    batch = ReportBatch.read(good)
    stale = ReportBatch(batch.device_digest, b"\xff\xff" + bytes(14), batch.payloads).content
    other = ReportBatch(Digest.of(b"other"), batch.ids, batch.payloads).content
    outside = ReportBatch(batch.device_digest, batch.ids, b"\xff\xff").content
    return cycle(
        [
            ("malformed-body", 400, good[:-1], CBOR_MEDIA_TYPE),
            ("unsupported-media-type", 415, b"{}", "application/json"),
            ("plan-mismatch", 409, other, CBOR_MEDIA_TYPE),
            ("too-large", 413, bytes(ReportBatch.limit + 1), CBOR_MEDIA_TYPE),
            ("wrong-epoch", 200, stale, CBOR_MEDIA_TYPE),
            ("payload-outside-alphabet", 200, outside, CBOR_MEDIA_TYPE),
            ("report-id-conflict", 200, round_.body([0], shift=1), CBOR_MEDIA_TYPE),
        ]
    )


def seconds_of(process: int) -> float:
    """Processor time that a process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_invalid_requests_are_counted_by_reason_and_cost_no_more_than_valid_ones(
    installation: Any, database: Database, buckets: Callable[..., Any], post_reports: Callable[..., tuple[int, bytes]]
) -> None:
    process, address = installation.serve("--no-worker", SORDINO_DATABASE_URL=str(database.url))
    round_ = buckets(database)
    invalid = invalid_requests(round_)
    expected: Counter[str] = Counter()
    valid = count()
    cost = {}
    for percent in (0, 5, 50, 100):
        begun = seconds_of(process.pid)
        for number in range(REQUESTS):
            is_valid = number * percent // 100 == (number + 1) * percent // 100
            request = ("", 200, round_.body([next(valid)]), CBOR_MEDIA_TYPE) if is_valid else next(invalid)
            reason, status, body, media_type = request
            assert post_reports(address, round_.path, body, media_type)[0] == status, reason
            expected[reason] += 1
        cost[percent] = seconds_of(process.pid) - begun
    accepted = expected.pop("")
    with database.read() as session:
        assert reports.refusals(session, [round_.campaign]) == {round_.campaign: expected}
    assert len(expected) == 7
    assert round_.counts(database) == dict.fromkeys(range(accepted), 1)
    assert max(cost.values()) < LARGEST_RATIO * cost[0], cost
