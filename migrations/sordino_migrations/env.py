"""Run the migrations on the database that `sordino db upgrade` and the tests hand over.

It comes as `config.attributes["database"]`, with its `write`, `lock` and `is_sqlite`, so that this distribution imports
Alembic alone. `config.attributes["around"]`, where given, makes of the connection a context around all steps. No
metadata: nothing here compares the schema with the models, a test of the server does.
"""

from __future__ import annotations

from contextlib import nullcontext

from alembic import context
from alembic.util import CommandError

# A lock space of its own next to those of rows: one process migrates, the others wait and find the work done.
_LOCK_SPACE = 0x50D0


def migrate() -> None:
    """All steps in one transaction; SQLite rebuilds a table where it cannot alter it."""
    database = context.config.attributes.get("database")
    if database is None:
        raise CommandError("no database was handed over: run `sordino db upgrade` instead of `alembic upgrade`")
    with database.write("migrate") as session:
        # Alembic reads the revision after the lock, so a process that waited finds the other's work done.
        database.lock(session, _LOCK_SPACE, 0)
        context.configure(
            connection=session.connection(),
            target_metadata=None,
            render_as_batch=database.is_sqlite,
        )
        around = context.config.attributes.get("around", nullcontext)
        with around(session.connection()):
            context.run_migrations()


migrate()
