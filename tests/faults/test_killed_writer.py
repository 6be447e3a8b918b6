"""kill -9 of a process that writes, at any moment: every report it acknowledged is there once, and none twice."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from sordino_server.kit.clock import ManualClock
from sordino_server.kit.db import Database
from sordino_server.reports import ReportWriter
from tests.patience import PATIENCE_S

SCRIPT = Path(__file__).with_name("killed_writer_script.py")


def kill_under_load(url: str, arguments: list[str], start: int, acknowledged: Path, wait_for: int) -> list[int]:
    """First numbers of the requests that the child acknowledged before it was killed."""
    with acknowledged.open("w") as output:
        child = subprocess.Popen([sys.executable, str(SCRIPT), url, *arguments, str(start)], stdout=output)
    deadline = time.monotonic() + PATIENCE_S
    try:
        while acknowledged.read_text().count("\n") < wait_for:
            # Where this process could not run for a while, the child may have written all.
            assert not child.poll(), "the child failed"
            assert time.monotonic() < deadline, "the child acknowledged nothing"
            time.sleep(0.002)
    finally:
        child.kill()
        child.wait()
    # The last line may be cut, a number whole lines name was acknowledged.
    return [int(line) for line in acknowledged.read_text().splitlines(keepends=True) if line.endswith("\n")]


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_every_acknowledged_report_counts_exactly_once(engine, request, tmp_path, buckets):
    url = request.getfixturevalue(f"migrated_{engine}_url")
    database = Database(url)
    round_ = buckets(database)
    acknowledged: set[int] = set()
    for kill in range(3):
        firsts = kill_under_load(url, round_.arguments(), kill * 2000, tmp_path / "acknowledged", 5 + 4 * kill)
        acknowledged |= {number for first in firsts for number in range(first, first + 20)}
    after_kills = round_.counts(database)
    assert set(after_kills.values()) == {1}
    assert acknowledged <= set(after_kills)

    # The clients that heard nothing send the same bytes again, to another process.
    writer = ReportWriter(database, ManualClock()).start()
    futures = [writer.submit(round_.upload(range(first, first + 20))) for first in range(0, 9000, 20)]
    outcomes = [future.result() for future in futures]
    writer.close()
    assert sum(outcome.replayed for outcome in outcomes) == len(after_kills)
    assert round_.counts(database) == dict.fromkeys(range(9000), 1)
    database.close()
