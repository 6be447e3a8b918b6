"""Start of a command that uses the database: settings, logs, the right schema."""

from __future__ import annotations

from sordino_server.config import Settings, load_settings
from sordino_server.kit.db import Database
from sordino_server.kit.logs import configure_logs
from sordino_server.kit.schema_version import check_schema, current_revision, head_revision


def started() -> tuple[Settings, Database]:
    """The settings of this process and its database; logs are configured."""
    settings = load_settings()
    configure_logs(settings.log_level, settings.log_format)
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
