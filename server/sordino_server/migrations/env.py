"""Runs migrations on the database that the caller hands over, or on SORDINO_DATABASE_URL from the command line."""

from __future__ import annotations

import os

from alembic import context

from sordino_server.kit.db import Database
from sordino_server.models import Base


def migrate() -> None:
    """All steps in one transaction; SQLite rebuilds a table where it cannot alter it."""
    handed_over = context.config.attributes.get("database")
    database = handed_over or Database(os.environ["SORDINO_DATABASE_URL"])
    with database.write("migrate") as session:
        context.configure(
            connection=session.connection(),
            target_metadata=Base.metadata,
            render_as_batch=database.is_sqlite,
        )
        context.run_migrations()
    if handed_over is None:
        database.close()


migrate()
