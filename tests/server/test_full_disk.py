"""A disk without room over HTTP: 507 with a time to come back, nothing counted, answers go on, and room mends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event, text

from sordino_shared.protocol import Problem, ReportOutcomes

REPORTS = 2000


@contextmanager
def without_room(running: Any) -> Iterator[None]:
    """Let the database of a running server fail as it does when it cannot grow, until the block ends."""
    limit = _limited_sqlite if running.database.is_sqlite else _failing_postgres
    with limit(running.database):
        yield


@contextmanager
def _limited_sqlite(database: Any) -> Iterator[None]:
    with database.read() as session:
        pages = session.scalar(text("PRAGMA page_count"))

    def set_limit(connection: Any, *_: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages}")

    def lift_limit(connection: Any, *_: object) -> None:
        connection.execute("PRAGMA max_page_count = 1000000")

    event.listen(database.engine, "checkout", set_limit)
    yield
    event.remove(database.engine, "checkout", set_limit)
    event.listen(database.engine, "checkout", lift_limit)


@contextmanager
def _failing_postgres(database: Any) -> Iterator[None]:
    """What PostgreSQL says when a table cannot be extended, said by a trigger."""
    with database.write("fill") as session:
        session.execute(
            text(
                "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS"
                " $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$"
            )
        )
        session.execute(
            text("CREATE TRIGGER no_room BEFORE INSERT ON report_chunks EXECUTE FUNCTION no_room()"),
        )
    yield
    with database.write("room") as session:
        session.execute(text("DROP FUNCTION no_room CASCADE"))


@pytest.mark.parametrize("engine", ["running", "running_on_postgres"])
def test_uploads_are_told_and_work_again(
    engine: str, request: pytest.FixtureRequest, check_problem: Callable[..., Any]
) -> None:
    running = request.getfixturevalue(engine)
    campaign = running.campaign("open")
    cells = [0, 1, 2, 3] * (REPORTS // 4)
    with without_room(running):
        for _ in range(2):
            response = running.report(campaign, cells)
            check_problem(response, Problem.STORAGE_FULL)
            assert int(response.headers["retry-after"]) > 0
        (status,) = running.api.get(f"/v1/campaigns/{campaign['id']}/status").raise_for_status().json()["rounds"]
        assert status["reports"] == 0
    outcomes = ReportOutcomes.read(running.report(campaign, cells).raise_for_status().content)
    assert (outcomes.accepted, outcomes.replayed, outcomes.refused) == (REPORTS, 0, ())
    closed = running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status().json()
    assert closed["rounds"][0]["reports"] == REPORTS
