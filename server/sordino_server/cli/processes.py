"""Start of a command that uses the database: settings, logs, the right schema."""

from __future__ import annotations

import os
from time import monotonic, sleep

from sordino_server.config import Settings, load_settings
from sordino_server.kit.clock import WallClock
from sordino_server.kit.cluster_variables import injected_variables
from sordino_server.kit.database_errors import AccessRefused, DatabaseUnavailable
from sordino_server.kit.db import Database
from sordino_server.kit.logs import configure_logs, log_what_python_prints, logger
from sordino_server.kit.schema_version import check_schema, current_revision, head_revision
from sordino_server.public_log import setup

log = logger(__name__)

_RETRY_S = 0.5


def started() -> tuple[Settings, Database]:
    """The settings of this process and its database; logs are configured."""
    settings = load_settings()
    configure_logs(settings.log_level, settings.log_format)
    if settings.log_format == "json":
        log_what_python_prints()
    if injected := injected_variables(os.environ):
        log.info("ignored what Kubernetes sets for a Service of this name", variables=", ".join(sorted(injected)))
    return settings, Database(settings.database_url.get_secret_value())


def existing_database() -> tuple[Settings, Database]:
    """As `started`, with a database that is there and has the schema of this version."""
    settings, database = started()
    prepare_schema(database, migrate=False)
    return settings, database


def prepare_schema(database: Database, migrate: bool) -> None:
    """Migrate SQLite if `migrate`; any other database is migrated only by `sordino db upgrade`. Checks the schema.

    Without `migrate` SQLite's file must be there: a command in the wrong folder would make an empty one.
    """
    if not migrate:
        database.check_exists()
    if migrate and database.is_sqlite and current_revision(database) != head_revision():
        # Imported here since a process that serves for months has no other use for Alembic.
        from sordino_server.kit.migrations import upgrade

        upgrade(database)
    check_schema(database)


def prepare_log(settings: Settings, database: Database) -> None:
    """Begin the public log of a new database; raises InvalidValue where its key is not there."""
    if settings.log == "off" or settings.collecting is not None:
        return
    if not setup.prepare(settings, database, WallClock().now()):
        log.info("this database keeps no public log of what is asked; `sordino log init` begins one")


def wait_for(database: Database, seconds: float) -> None:
    """Return when the database answers; raises `DatabaseUnavailable` where it does not within so many seconds.

    A refusal that waiting does not change is raised at once. SQLite's file is never waited for.
    """
    if database.is_sqlite:
        return None
    until = monotonic() + seconds
    while True:
        try:
            return database.check()
        except AccessRefused:
            raise
        except DatabaseUnavailable:
            if monotonic() >= until:
                raise
        sleep(min(_RETRY_S, max(until - monotonic(), 0)))
