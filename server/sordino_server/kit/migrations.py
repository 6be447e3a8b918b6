"""Schema versions: bring a database up to this version, and refuse to work with any other."""

from __future__ import annotations

from importlib import resources

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from sordino_server.kit.database_errors import SchemaMismatch
from sordino_server.kit.db import Database


def configuration(database: Database) -> Config:
    """Alembic's configuration for the migrations that ship inside this package."""
    config = Config()
    config.set_main_option("script_location", str(resources.files("sordino_server").joinpath("migrations")))
    config.attributes["database"] = database
    return config


def upgrade(database: Database, revision: str = "head") -> None:
    """Bring the schema to `revision`; what is there already is left alone."""
    command.upgrade(configuration(database), revision)


def downgrade(database: Database, revision: str) -> None:
    """Take the schema back to `revision` ("base": no tables); data of the tables that go is lost."""
    command.downgrade(configuration(database), revision)


def head_revision() -> str:
    """The revision that this version of the software works with."""
    location = str(resources.files("sordino_server").joinpath("migrations"))
    head = ScriptDirectory(location).get_current_head()
    assert head is not None, "the package ships at least one migration"
    return head


def current_revision(database: Database) -> str | None:
    """The revision of the database; None when it was never migrated."""
    with database.read("schema revision") as session:
        return MigrationContext.configure(session.connection()).get_current_revision()


def check_schema(database: Database) -> None:
    """Raise `SchemaMismatch` unless the database is at the revision of this software."""
    current, head = current_revision(database), head_revision()
    if current != head:
        found = "has no tables yet" if current is None else f"is at revision {current}"
        raise SchemaMismatch(f"the database {found}, this version needs {head}; run `sordino db upgrade`", "schema")
