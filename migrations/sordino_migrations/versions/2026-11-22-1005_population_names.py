"""Populations whose names are alike become one, with the strictest of their caps; whether an admin made each"""

import hashlib
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "202611221005"
down_revision = "202611220945"
branch_labels = None
depends_on = None

LEDGER = "population_ledger"
_ALIKE = str.maketrans({"ı": "i", "’": "'", "‘": "'", "ʼ": "'", "−": "-"})


def upgrade() -> None:
    op.add_column("populations", sa.Column("declared", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.execute(
        "UPDATE populations SET declared = TRUE WHERE version > 1 OR period_nano IS NOT NULL"
        " OR lifetime_nano IS NOT NULL"
    )
    _rename(lambda name: _digest(_folded(name)))


def downgrade() -> None:
    # What was one stays one, under the name of the oldest.
    _rename(_digest)
    op.drop_column("populations", "declared")


def _folded(name: str) -> str:
    """As `populations.names.folded` when this was written; what is invisible is left out, which names then had."""
    while True:
        once = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold().translate(_ALIKE))
        once = "".join("-" if unicodedata.category(c) == "Pd" else c for c in once if unicodedata.category(c) != "Cf")
        once = " ".join(once.split())
        if once == name:
            return name
        name = once


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def _rename(identifier_of: Callable[[str], str]) -> None:
    connection = op.get_bind()
    alike: dict[str, list[sa.Row[Any]]] = {}
    for row in connection.execute(sa.text("SELECT * FROM populations ORDER BY created_at, id")).all():
        alike.setdefault(identifier_of(row.name), []).append(row)
    moved = {name: rows for name, rows in alike.items() if [row.id for row in rows] != [name]}
    if not moved:
        return
    _allow_changes(connection, True)
    for identifier, rows in moved.items():
        _merge(connection, identifier, rows)
    _allow_changes(connection, False)


def _merge(connection: sa.Connection, identifier: str, rows: Sequence[sa.Row[Any]]) -> None:
    """The rows as one: a cap over the longest of their periods that is the least of theirs implies each."""
    values = {
        "lifetime_nano": min((row.lifetime_nano for row in rows if row.lifetime_nano is not None), default=None),
        "period_nano": min((row.period_nano for row in rows if row.period_nano is not None), default=None),
        "period_days": max((row.period_days for row in rows if row.period_days is not None), default=None),
        "version": max(row.version for row in rows),
        "declared": any(row.declared for row in rows),
    }
    if values["period_nano"] is not None and values["lifetime_nano"] is not None:
        values["period_nano"] = min(values["period_nano"], values["lifetime_nano"])
    kept = next((row for row in rows if row.id == identifier), None)
    populations = sa.table("populations", *(sa.column(name) for name in rows[0]._fields))
    if kept is None:
        whole = {**rows[0]._asdict(), **values, "id": identifier}
        connection.execute(populations.insert().values(whole))
    else:
        whole = {**values, "name": rows[0].name, "created_at": rows[0].created_at}
        connection.execute(populations.update().where(populations.c.id == identifier).values(whole))
    for row in rows:
        if row.id == identifier:
            continue
        names = {"new": identifier, "old": row.id}
        connection.execute(sa.text(f"UPDATE {LEDGER} SET population_id = :new WHERE population_id = :old"), names)
        connection.execute(populations.delete().where(populations.c.id == row.id))


def _allow_changes(connection: sa.Connection, allowed: bool) -> None:
    """The trigger that refuses changes of the ledger stands aside while entries get another population's id."""
    if connection.dialect.name != "sqlite":
        connection.execute(sa.text(f"ALTER TABLE {LEDGER} {'DISABLE' if allowed else 'ENABLE'} TRIGGER USER"))
    elif allowed:
        connection.execute(sa.text(f"DROP TRIGGER {LEDGER}_update"))
    else:
        connection.execute(
            sa.text(
                f"CREATE TRIGGER {LEDGER}_update BEFORE UPDATE ON {LEDGER}"
                " BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
            )
        )
