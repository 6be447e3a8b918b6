"""Bring a database up to this version's schema, or back to an earlier one."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import resources

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection, func, inspect, select, table, text

from sordino_server.kit.database_errors import SchemaMismatch
from sordino_server.kit.db import Database
from sordino_server.kit.schema_version import check_known, current_revision
from sordino_shared.errors import InvalidValue


def configuration(database: Database) -> Config:
    """Alembic's configuration for the migrations of the distribution `sordino_migrations`."""
    config = Config()
    config.set_main_option("script_location", str(resources.files("sordino_migrations")))
    config.attributes["database"] = database
    return config


def upgrade(database: Database, revision: str = "head") -> None:
    """Bring the schema to `revision`; what is there already is left alone.

    Any number of processes may do this at once: one works, the others wait for it. Raises `SchemaMismatch` for a
    schema of a newer version, and for rows that no version wrote: then everything stays.
    """
    check_known(current_revision(database))
    try:
        command.upgrade(configuration(database), revision)
    except CommandError as error:
        raise SchemaMismatch(f"the schema stays as it is: {error}", "schema") from error


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


# Sign-ins and remembered answers end by themselves within days; kept defaults are those of the versions before. A table
# that a later version adds is protected.
_MAY_GO = frozenset({"alembic_version", "console_sessions", "sign_in_links", "idempotency_keys", "kept_defaults"})


@contextmanager
def refuse_losses(connection: Connection, named: Collection[str]) -> Iterator[None]:
    """Raise `SchemaMismatch`, which undoes the transaction, if the body leaves a table that is not `named` with fewer
    rows than before, or without the table; raises InvalidValue for a name of no table.
    """
    before = _rows(connection)
    if unknown := sorted(set(named) - before.keys()):
        raise InvalidValue(
            f"--lose names {', '.join(unknown)}: no such table; the tables with rows are "
            f"{', '.join(sorted(name for name, rows in before.items() if rows)) or 'none'}",
            unknown,
        )
    yield
    after = _rows(connection)
    lost = {name: rows - after.get(name, 0) for name, rows in before.items() if rows > after.get(name, 0)}
    if lost.keys() - named:
        raise SchemaMismatch(_advice(lost), "schema")


def _rows(connection: Connection) -> dict[str, int]:
    """The number of rows of each protected table."""
    names = sorted(set(inspect(connection).get_table_names()) - _MAY_GO)
    if names and connection.dialect.name == "postgresql":
        # A row that comes between the count and the drop would go unseen. SQLite has one writer at a time.
        quoted = ", ".join(connection.dialect.identifier_preparer.quote(name) for name in names)
        connection.execute(text(f"LOCK TABLE {quoted} IN ACCESS EXCLUSIVE MODE"))
    return {name: connection.execute(select(func.count()).select_from(table(name))).scalar_one() for name in names}


def _advice(lost: dict[str, int]) -> str:
    rows = ", ".join(f"{name} ({number} {'row' if number == 1 else 'rows'})" for name, number in sorted(lost.items()))
    return (
        f"the schema stays as it is: that revision drops rows of {rows}. What devices and datasets have spent, who "
        "changed what, and reports cannot be made again, and a later upgrade begins with empty tables. Restore the "
        "backup from before the upgrade instead; to give these rows up, name every table: "
        f"--lose {','.join(sorted(lost))}"
    )
