"""`python -m benchmarks.backends [--only sqlite|postgres] [--json]`: what an answer costs a store, each with a commit.

Processor time is that of this process, and of the one that PostgreSQL has for it; the server is the fake one.
PostgreSQL is a private cluster, durable as it is by default.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from sordino_client import Caps, PureEpsilon
from sordino_client.backend import LedgerStore
from sordino_client.testing import Categorical, Daily, Domain, FakeServer

OWNERS, DAYS = 1500, 4
OS = Domain((Categorical("os", ("linux", "macos"), other=True),))
MOST = PureEpsilon(DAYS * 10**9)
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Database(Protocol):
    """Where a store is, what its database's own process used, and how large it is at the end."""

    target: str

    def seconds(self, store: LedgerStore) -> float:
        """Processor seconds of the process that serves the store's connection; 0 where it is this one."""

    def bytes(self) -> int:
        """Of tables and indices, without free pages."""


class SqliteFile:
    """A file."""

    def __init__(self, folder: Path) -> None:
        self.target = str(folder / "store.sqlite3")

    def seconds(self, store: LedgerStore) -> float:
        return 0.0

    def bytes(self) -> int:
        with sqlite3.connect(self.target) as connection:
            connection.execute("VACUUM")
        connection.close()
        return Path(self.target).stat().st_size


class Postgres:
    """An empty database of PostgreSQL on this machine."""

    def __init__(self, dsn: str) -> None:
        self.target = dsn

    def seconds(self, store: LedgerStore) -> float:
        with store.database.transaction() as database:
            [(process,)] = database.rows("SELECT pg_backend_pid()")
        user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) * _TICK_S

    def bytes(self) -> int:
        import psycopg

        with psycopg.connect(self.target, autocommit=True) as connection:
            connection.execute("VACUUM FULL")
            found: Any = connection.execute(
                "SELECT sum(pg_total_relation_size(oid)) FROM pg_class"
                " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
            ).fetchone()
        return int(found[0])


def measured(database: Database) -> dict[str, float]:
    """Milliseconds and bytes of an answer, and of sending a report."""
    server = FakeServer(OS, series=Daily(slots=1))
    caps = Caps(MOST, DAYS, MOST)
    with LedgerStore(
        database.target, server="https://a.example", caps=caps, key=bytes(32), transport=server, clock=server
    ) as store:
        series = store.join(server.campaign)
        answering = serving = sending = 0.0
        for _ in range(DAYS):
            begun, served = time.process_time(), database.seconds(store)
            for owner in range(OWNERS):
                store.owner(str(owner)).answer(series, "linux")
            answered = time.process_time()
            answering, serving = answering + answered - begun, serving + database.seconds(store) - served
            begun, served = time.process_time(), database.seconds(store)
            assert store.flush().delivered == OWNERS
            sending += time.process_time() - begun + database.seconds(store) - served
            server.travel(days=1)
    answers = OWNERS * DAYS
    return {
        "ms_an_answer": 1000 * answering / answers,
        "ms_of_the_database": 1000 * serving / answers,
        "ms_a_report_sent": 1000 * sending / answers,
        "bytes_an_answer": database.bytes() / answers,
    }


@contextmanager
def opened(name: str) -> Iterator[Database]:
    """An empty database of that kind."""
    if name == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            yield SqliteFile(Path(folder))
        return
    from tests.postgres import private_cluster

    with private_cluster() as cluster:
        yield Postgres(cluster.create().replace("postgresql+psycopg://", "postgresql://"))


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", choices=["sqlite", "postgres"])
    given = parser.parse_args()
    found = {}
    for name in [given.only] if given.only else ["sqlite", "postgres"]:
        with opened(name) as database:
            found[name] = measured(database)
    if given.json:
        print(json.dumps(found))
        return
    print(f"| figure | {' | '.join(found)} |\n|---{'|---' * len(found)}|")
    for figure in next(iter(found.values())):
        cells = " | ".join(f"{each[figure]:.3g}" for each in found.values())
        print(f"| {figure.replace('_', ' ')} | {cells} |")


if __name__ == "__main__":
    main()
