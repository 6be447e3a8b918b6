"""`/livez` says that the process lives, whatever else; `/readyz` says whether to send it traffic."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import text

from sordino_server.kit.single_flight import THREAD
from sordino_server.serving import health
from sordino_shared.protocol import Problem
from tests.patience import PATIENCE_S, slack

Check = Callable[..., dict[str, Any]]


@pytest.fixture(params=["running", "running_on_postgres"])
def server(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def not_ready(server: Any) -> Any:
    """The answer of /readyz, while /livez is as ever."""
    assert server.anonymous.get("/livez").json() == {"status": "ok"}
    return server.anonymous.get("/readyz")


def test_ready(server: Any) -> None:
    assert not_ready(server).json() == {"status": "ok"}


def test_load_balancers_ask_for_the_head_alone(running: Any) -> None:
    for state, draining in ((200, False), (503, True)):
        running.app.state.draining = draining
        alive, ready = running.anonymous.head("/livez"), running.anonymous.head("/readyz")
        assert (alive.status_code, ready.status_code) == (200, state)
        assert alive.content == ready.content == b""


def test_another_schema(server: Any) -> None:
    with server.database.write("pretend") as session:
        session.execute(text("UPDATE alembic_version SET version_num = 'older'"))
    assert not_ready(server).status_code == 503


def test_a_process_that_is_ending(running: Any, check_problem: Check) -> None:
    running.app.state.draining = True
    check_problem(not_ready(running), Problem.UNAVAILABLE, "shutting down")


def test_a_disk_without_room(running: Any, check_problem: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "MIN_FREE_BYTES", 1 << 60)
    check_problem(not_ready(running), Problem.STORAGE_FULL, "MiB")


def test_a_database_that_is_gone(
    running_on_postgres: Any, postgres_cluster: Any, check_problem: Check, migrated_postgres_url: str
) -> None:
    running_on_postgres.database.engine.dispose()
    postgres_cluster.drop(migrated_postgres_url)
    assert not_ready(running_on_postgres).status_code == 503
    postgres_cluster.execute(f"CREATE DATABASE {migrated_postgres_url.rpartition('/')[2]}")


def test_a_database_that_hangs_is_noticed_soon_and_by_one_thread(
    running_on_postgres: Any, postgres_cluster: Any, check_problem: Check
) -> None:
    """Also while more requests wait for it than the server has threads for them."""
    api, anonymous = running_on_postgres.api, running_on_postgres.anonymous
    with ThreadPoolExecutor(80) as clients, postgres_cluster.frozen():
        for _ in range(50):
            clients.submit(api.get, "/v1/campaigns", timeout=PATIENCE_S)
        time.sleep(0.3)
        begun = time.monotonic()
        asked = [clients.submit(anonymous.get, "/readyz", timeout=PATIENCE_S) for _ in range(20)]
        wait_until(lambda: threads_that_read() > 0)
        time.sleep(health.READY_WITHIN_S / 2)
        assert threads_that_read() == 1
        assert anonymous.get("/livez").json() == {"status": "ok"}
        assert time.monotonic() - begun < slack(health.READY_WITHIN_S)
        for answer in asked:
            check_problem(answer.result(), Problem.UNAVAILABLE, "does not answer within 2 seconds")
        assert time.monotonic() - begun < slack(2 * health.READY_WITHIN_S)
    wait_until(lambda: not_ready(running_on_postgres).status_code == 200)


def threads_that_read() -> int:
    return [thread.name for thread in threading.enumerate()].count(THREAD)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)
