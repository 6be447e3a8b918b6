"""Bring a database up to this version's schema, or back to an earlier one."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from importlib import resources

from alembic import command
from alembic.config import Config
from alembic.util import CommandError

from sordino_server.kit.database_errors import SchemaMismatch
from sordino_server.kit.db import Database
from sordino_server.kit.lost_rows import refuse_losses
from sordino_server.kit.schema_version import check_known, current_revision


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
    check_known(current_revision(database))
    command.upgrade(configuration(database), revision)


def downgrade(database: Database, revision: str, lose: Collection[str] = ()) -> None:
    """Take the schema back to `revision` ("base": no tables); `lose` names each table whose rows may go with it.

    Raises `SchemaMismatch` for an unknown revision, where rows of another table would go, and where rows are there that
    the version before misreads: then everything stays. Raises InvalidValue for a name in `lose` that is no table.
    """
    check_known(current_revision(database))
    config = configuration(database)
    config.attributes["around"] = partial(refuse_losses, named=lose)
    try:
        command.downgrade(config, revision)
    except CommandError as error:
        raise SchemaMismatch(f"the schema stays as it is: {error}", "schema") from error
