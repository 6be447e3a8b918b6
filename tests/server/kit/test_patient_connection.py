"""A slow statement is waited for and a frozen server is not; on a PostgreSQL of the test's own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from sordino_server.kit import patient_connection
from sordino_server.kit.database_errors import DatabaseUnavailable
from sordino_server.kit.db import Database
from tests.patience import slack

ASK_AFTER_S = 0.2
# The least that libpq allows.
ANSWER_WITHIN_S = 2
GIVEN_UP_S = ASK_AFTER_S + ANSWER_WITHIN_S
SLACK_S = 3.0


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patient_connection, "ASK_AFTER_S", ASK_AFTER_S)
    monkeypatch.setattr(patient_connection, "ANSWER_WITHIN_S", ANSWER_WITHIN_S)


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    database = Database(postgres_url)
    with database.write("create") as session:
        session.execute(text("CREATE TABLE numbers (value INTEGER PRIMARY KEY)"))
    yield database
    database.close()


def numbers(database: Database) -> list[int]:
    with database.read() as session:
        return list(session.scalars(text("SELECT value FROM numbers ORDER BY value")))


def insert(session: Session, value: int) -> None:
    session.execute(text("INSERT INTO numbers VALUES (:value)"), {"value": value})


def asked_by(session: Session, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """When the connection of this session asks whether its server lives."""
    connection: Any = session.connection().connection.dbapi_connection
    ask, times = connection.ask, []

    def noted() -> Any:
        times.append(time.monotonic())
        return ask()

    monkeypatch.setattr(connection, "ask", noted)
    return times


def test_a_slow_statement_is_waited_for(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with database.write("slow") as session:
        asked = asked_by(session, monkeypatch)
        insert(session, 1)
        assert asked == []
        session.execute(text("SELECT pg_sleep(1.5)"))
        assert 2 <= len(asked) <= 7
    assert numbers(database) == [1]


def test_a_server_that_refuses_new_connections_lives(
    database: Database, postgres_cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = database.url.database
    with database.write("slow") as session:
        asked = asked_by(session, monkeypatch)
        postgres_cluster.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        try:
            session.execute(text("SELECT pg_sleep(1)"))
            insert(session, 2)
        finally:
            postgres_cluster.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        assert asked
    assert numbers(database) == [2]


def statement(session: Session, freeze: Callable[[], None]) -> None:
    freeze()
    insert(session, 4)


def commit(session: Session, freeze: Callable[[], None]) -> None:
    insert(session, 4)
    freeze()


@pytest.mark.parametrize("frozen_at", [statement, commit])
def test_a_frozen_server_is_given_up_and_found_again(database: Database, postgres_cluster: Any, frozen_at: Any) -> None:
    """What was to be committed is or is not: the server reads it when it thaws, and nobody was told."""
    freezing = postgres_cluster.frozen()
    begun = []

    def freeze() -> None:
        begun.append(time.monotonic())
        freezing.__enter__()

    try:
        with pytest.raises(DatabaseUnavailable):
            database.run("frozen", lambda session: frozen_at(session, freeze))
        assert GIVEN_UP_S - 0.1 < time.monotonic() - begun[0] < GIVEN_UP_S + slack(SLACK_S)
        with pytest.raises(DatabaseUnavailable):
            database.check()
        # A pooled connection is tried, then a new one.
        assert time.monotonic() - begun[0] < 3 * GIVEN_UP_S + slack(SLACK_S)
    finally:
        freezing.__exit__(None, None, None)
    database.check()
    with database.write("again") as session:
        session.execute(text("INSERT INTO numbers VALUES (4) ON CONFLICT DO NOTHING"))
    assert numbers(database) == [4]


def test_the_server_notices_that_a_client_vanished(database: Database) -> None:
    with database.read() as session:
        shown = [session.scalar(text(f"SHOW tcp_{name}")) for name in ("keepalives_idle", "user_timeout")]
    assert shown == ["15", "30000"]
