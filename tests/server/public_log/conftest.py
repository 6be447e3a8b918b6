"""Databases with a public log, and servers on them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sordino_server.config import Settings
from sordino_server.kit.db import Database
from sordino_server.models import Log
from sordino_server.public_log import repository, setup
from sordino_server.public_log.signing import LogSigner, make_key_file
from sordino_shared.protocol.log_keys import LogPins
from tests.server.conftest import RunningServer, served

NOW = 1_800_000_000
ORIGIN = "telemetry.example/log"


def begin(url: str, key: Path) -> None:
    """A log in a migrated database."""
    make_key_file(key)
    database = Database(url)
    setup.begin(settings_of(key), database, key, NOW)
    database.close()


def settings_of(key: Path) -> Settings:
    return Settings(log_key=key, log_origin=ORIGIN)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """The file of the log's key."""
    return tmp_path / "log.key"


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, key: Path) -> Iterator[Database]:
    """A database with a log on either engine."""
    url = request.getfixturevalue(f"migrated_{request.param}_url")
    begin(url, key)
    database = Database(url)
    yield database
    database.close()


@pytest.fixture
def log(database: Database) -> Log:
    with database.read() as session:
        found = repository.current(session)
    assert found is not None
    return found


@pytest.fixture
def signer(database: Database, log: Log, key: Path) -> LogSigner:
    return setup.signer_of(settings_of(key), database, log)


@pytest.fixture
def pins(signer: LogSigner) -> LogPins:
    return LogPins(log=signer.keys[-1])


@pytest.fixture
def logging_server(migrated_sqlite_url: str, key: Path) -> Iterator[RunningServer]:
    """A server on SQLite that keeps a log; nothing signs it but what a test steps."""
    begin(migrated_sqlite_url, key)
    with served(migrated_sqlite_url, log_key=key) as server:
        yield server
