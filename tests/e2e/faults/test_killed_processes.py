"""SIGKILL of server and PostgreSQL under load: what was acknowledged counts once, and the rest can be sent."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from sordino_server.kit import migrations
from sordino_server.kit.db import Database
from tests.patience import PATIENCE_S, slack

OUTAGE_S = 1.0


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    database = Database(request.getfixturevalue(f"migrated_{request.param}_url"))
    yield database
    database.close()


def url(database: Database) -> dict[str, str]:
    return {"SORDINO_DATABASE_URL": database.url.render_as_string(hide_password=False)}


def kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def check(database: Database, clients: Any) -> None:
    """Nothing twice, nothing acknowledged lost."""
    counts = clients.round.counts(database)
    assert set(counts.values()) == {1}
    assert clients.acknowledged <= set(counts)


def test_servers_that_are_killed_lose_nothing(
    installation: Any, database: Database, buckets: Callable[..., Any], load: Callable[..., Any]
) -> None:
    """Of two servers on one database one is killed; the other goes on, is killed too, and a third one takes over."""
    (first, address), (second, other), (_, third) = installation.serve_several(3, **url(database))
    clients = load(buckets(database), [address, other])
    with clients.running():
        clients.await_answers()
        kill(first)
        clients.await_answers()
        kill(second)
        clients.await_troubles()
        clients.addresses[:] = [third]
        clients.await_answers(2 * clients.clients * clients.batches)
    check(database, clients)
    assert clients.round.counts(database) == dict.fromkeys(clients.all_numbers(), 1)


@pytest.fixture
def mortal_database(mortal_postgres: Any) -> Iterator[Database]:
    """A database whose server a test may kill."""
    database = Database(mortal_postgres.create())
    migrations.upgrade(database)
    yield database
    database.close()


def test_postgresql_is_killed_under_load(
    installation: Any,
    mortal_postgres: Any,
    mortal_database: Database,
    buckets: Callable[..., Any],
    load: Callable[..., Any],
    written: Callable[..., str],
) -> None:
    """First one of its processes, which makes it recover by itself, then the server for a while, then for good."""
    worker, log = installation.start("worker", **url(mortal_database))
    process, address = installation.serve("--no-worker", **url(mortal_database))
    written(worker, log, re.compile("worker started"))
    clients = load(buckets(mortal_database), [address])
    with clients.running():
        clients.await_answers()
        os.kill(backend(mortal_postgres), signal.SIGKILL)
        clients.await_troubles()
        clients.await_answers()

        mortal_postgres.kill()
        begun = time.monotonic()
        clients.await_troubles(10)
        time.sleep(max(0.0, OUTAGE_S - (time.monotonic() - begun)))
        mortal_postgres.start()
        outage = time.monotonic() - begun
        assert clients.await_answers(1) <= outage + slack(5)
        clients.await_answers()
    check(mortal_database, clients)
    mortal_postgres.kill()
    for survivor in (process, worker):
        assert survivor.poll() is None
        survivor.terminate()
    assert [survivor.wait(PATIENCE_S) for survivor in (process, worker)] == [0, 0]


def backend(cluster: Any) -> int:
    """Process of PostgreSQL that serves somebody else's connection."""
    query = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    with psycopg.connect(cluster.url("postgres"), autocommit=True) as connection:
        return int(connection.execute(query).fetchall()[0][0])
