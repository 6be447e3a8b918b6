"""Rows that a downgrade would drop: counted before and after it, in its own transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, func, inspect, select, table, text

from sordino_server.kit.database_errors import SchemaMismatch
from sordino_shared.errors import InvalidValue

# Sign-ins and remembered answers end by themselves within days. A table that a later version adds is protected.
_MAY_GO = frozenset({"alembic_version", "console_sessions", "sign_in_links", "idempotency_keys"})


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
