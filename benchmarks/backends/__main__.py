"""Processor time and bytes of an answer in a store of SQLite, each with a commit; the server is the fake one."""

from __future__ import annotations

import argparse
import json
import sqlite3
import tempfile
import time
from pathlib import Path

from sordino_client import Caps, PureEpsilon
from sordino_client.backend import LedgerStore
from sordino_client.testing import Categorical, Daily, Domain, FakeServer

OWNERS, DAYS = 1500, 4
OS = Domain((Categorical("os", ("linux", "macos"), other=True),))
MOST = PureEpsilon(DAYS * 10**9)


def measured(folder: Path) -> dict[str, float]:
    """Milliseconds of this process and bytes of the file for an answer, and seconds of sending a day's."""
    server = FakeServer(OS, series=Daily(slots=1))
    path = folder / "store.sqlite3"
    caps = Caps(MOST, DAYS, MOST)
    with LedgerStore(
        path, server="https://a.example", caps=caps, key=bytes(32), transport=server, clock=server
    ) as store:
        series = store.join(server.campaign)
        answering = sending = 0.0
        for _ in range(DAYS):
            begun = time.process_time()
            for owner in range(OWNERS):
                store.owner(str(owner)).answer(series, "linux")
            answered = time.process_time()
            assert store.flush().delivered == OWNERS
            answering, sending = answering + answered - begun, sending + time.process_time() - answered
            server.travel(days=1)
    with sqlite3.connect(path) as connection:
        connection.execute("VACUUM")
    answers = OWNERS * DAYS
    return {
        "ms_an_answer": 1000 * answering / answers,
        "ms_a_report_sent": 1000 * sending / answers,
        "bytes_an_answer": path.stat().st_size / answers,
    }


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    with tempfile.TemporaryDirectory() as folder:
        found = measured(Path(folder))
    if parser.parse_args().json:
        print(json.dumps(found))
        return
    print("| figure | value |\n|---|---|")
    for name, value in found.items():
        print(f"| {name.replace('_', ' ')} | {value:.3g} |")


if __name__ == "__main__":
    main()
