"""PostgreSQL stopped with SIGSTOP under load: said in time, nothing acknowledged meanwhile, all counted afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from sordino_server.kit.db import Database
from sordino_server.kit.patient_connection import ANSWER_WITHIN_S, ASK_AFTER_S
from sordino_server.serving.health import READY_WITHIN_S
from tests.patience import PATIENCE_S, slack

SLACK_S = 5.0


@pytest.mark.slow
def test_a_database_that_hangs_and_comes_back(
    installation: Any,
    migrated_postgres_url: str,
    postgres_cluster: Any,
    buckets: Callable[..., Any],
    load: Callable[..., Any],
    wait_until: Callable[..., None],
) -> None:
    database = Database(migrated_postgres_url)
    url = {"SORDINO_DATABASE_URL": migrated_postgres_url}
    worker, _ = installation.start("worker", **url)
    server, address = installation.serve("--no-worker", **url)
    clients = load(buckets(database), [address])
    with clients.running(), httpx.Client(base_url=address) as probe:
        clients.await_answers()
        with postgres_cluster.frozen():
            time.sleep(0.5)
            begun, acknowledged = time.monotonic(), clients.answers
            assert probe.get("/livez").status_code == 200
            assert probe.get("/readyz", timeout=PATIENCE_S).status_code == 503
            assert time.monotonic() - begun < READY_WITHIN_S + slack(SLACK_S)
            # Every client hears of it: what was being written is given up first, then what could not be begun.
            clients.await_troubles(2 * clients.clients)
            assert time.monotonic() - begun < ASK_AFTER_S + 3 * ANSWER_WITHIN_S + slack(SLACK_S)
            assert clients.answers == acknowledged
        thawed = time.monotonic()
        clients.await_answers(1)
        assert time.monotonic() - thawed < slack(SLACK_S)
        wait_until(lambda: probe.get("/readyz", timeout=PATIENCE_S).status_code == 200, "the server is ready")
        clients.await_answers(2 * clients.clients * clients.batches)
    assert clients.round.counts(database) == dict.fromkeys(clients.all_numbers(), 1)
    for process in (server, worker):
        assert process.poll() is None
        process.terminate()
    assert [process.wait(PATIENCE_S) for process in (server, worker)] == [0, 0]
    database.close()
