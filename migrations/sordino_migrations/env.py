"""Runs migrations on the database that the caller hands over, or on SORDINO_DATABASE_URL from the command line."""

from __future__ import annotations

import os

from alembic import context

from sordino_server.kit.db import Database
from sordino_server.models import Base

# Beside the lock spaces of rows: whoever migrates holds it, so that two processes never create one table twice.
_LOCK_SPACE = 0x50D0


def migrate() -> None:
    """All steps in one transaction; SQLite rebuilds a table where it cannot alter it."""
    handed_over = context.config.attributes.get("database")
    database = handed_over or Database(os.environ["SORDINO_DATABASE_URL"])
    with database.write("migrate") as session:
        # Alembic reads the revision afterwards: whoever waited here finds the other's work done.
        database.lock(session, _LOCK_SPACE, 0)
        context.configure(
            connection=session.connection(),
            target_metadata=Base.metadata,
            render_as_batch=database.is_sqlite,
        )
        context.run_migrations()
    if handed_over is None:
        database.close()


migrate()
