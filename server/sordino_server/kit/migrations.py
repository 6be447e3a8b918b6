"""Schema versions: bring a database up to this version, and refuse to work with any other."""

from __future__ import annotations

from functools import cache
from importlib import resources

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from sordino_server.kit.database_errors import SchemaMismatch
from sordino_server.kit.db import Database


def configuration(database: Database) -> Config:
    """Alembic's configuration for the migrations of the distribution `sordino_migrations`."""
    config = Config()
    config.set_main_option("script_location", str(resources.files("sordino_migrations")))
    config.attributes["database"] = database
    return config


def upgrade(database: Database, revision: str = "head") -> None:
    """Bring the schema to `revision`; what is there already is left alone.

    Any number of processes may do this at once: one works, the others wait for it. Raises `SchemaMismatch` for a
    schema of a newer version.
    """
    _check_known(current_revision(database))
    command.upgrade(configuration(database), revision)


def downgrade(database: Database, revision: str) -> None:
    """Take the schema back to `revision` ("base": no tables); data of the tables that go is lost."""
    _check_known(current_revision(database))
    command.downgrade(configuration(database), revision)


def head_revision() -> str:
    """The revision that this version of the software works with."""
    head = _shipped().get_current_head()
    assert head is not None, "the package ships at least one migration"
    return head


def current_revision(database: Database) -> str | None:
    """The revision of the database; None when it was never migrated."""
    with database.read("schema revision") as session:
        return MigrationContext.configure(session.connection()).get_current_revision()


def check_schema(database: Database) -> None:
    """Raise `SchemaMismatch`, which says what to do, unless the database is at the revision of this software."""
    current, head = current_revision(database), head_revision()
    _check_known(current)
    if current != head:
        found = "has no tables yet" if current is None else f"is at revision {current}"
        raise SchemaMismatch(f"the database {found}, this version needs {head}; run `sordino db upgrade`", "schema")


@cache
def _shipped() -> ScriptDirectory:
    # What is installed does not change while a process runs, and every probe of readiness asks.
    return ScriptDirectory(str(resources.files("sordino_migrations")))


def _check_known(current: str | None) -> None:
    """Upgrading cannot help where the schema is from the future."""
    if current is not None and current not in {script.revision for script in _shipped().walk_revisions()}:
        raise SchemaMismatch(
            f"the database is at revision {current}, which this version does not know: a newer one migrated it; "
            f"run that version, or restore a backup from before (this version works with {head_revision()})",
            "schema",
        )
