"""Campaigns keep their question and may be archived; plan requests may be cancelled"""

import sqlalchemy as sa
from alembic import op

revision = "202611221620"
down_revision = "202611221440"
branch_labels = None
depends_on = None

TABLE = "plan_requests"
STATES = ("queued", "running", "ready", "failed")
MORE = (*STATES, "cancelled")


def upgrade() -> None:
    _change_states(STATES, MORE)
    op.add_column("campaigns", sa.Column("archived_at", sa.BigInteger()))
    op.add_column("campaigns", sa.Column("question", sa.Text()))


def downgrade() -> None:
    op.drop_column("campaigns", "question")
    op.drop_column("campaigns", "archived_at")
    op.execute(f"UPDATE {TABLE} SET state = 'failed', error = 'it was cancelled' WHERE state = 'cancelled'")
    _change_states(MORE, STATES)


def _change_states(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    if op.get_bind().dialect.name == "sqlite":
        _write_again(_allowed(before), _allowed(after))
        return
    name = op.f(f"ck_{TABLE}_state")
    op.drop_constraint(name, TABLE, type_="check")
    op.create_check_constraint(name, TABLE, _allowed(after))


def _allowed(states: tuple[str, ...]) -> str:
    return f"state IN ({', '.join(repr(state) for state in states)})"


def _write_again(before: str, after: str) -> None:
    """SQLite changes no CHECK in place. The table is written again in its own words, since the toolkit would move its
    foreign keys to where older steps cannot drop their columns; no table refers to this one.
    """
    words = "SELECT sql FROM sqlite_master WHERE tbl_name = :table AND type = :type AND sql IS NOT NULL"
    connection = op.get_bind()
    table = connection.execute(sa.text(words), {"table": TABLE, "type": "table"}).scalar_one()
    indexes = connection.execute(sa.text(words), {"table": TABLE, "type": "index"}).scalars().all()
    if table.count(before) != 1:
        raise RuntimeError(f"the table {TABLE} has no constraint {before!r}: the schema was changed by hand")
    columns = table[table.index("(") :].replace(before, after)
    connection.exec_driver_sql(f"CREATE TABLE {TABLE}_again {columns}")
    connection.exec_driver_sql(f"INSERT INTO {TABLE}_again SELECT * FROM {TABLE}")
    connection.exec_driver_sql(f"DROP TABLE {TABLE}")
    connection.exec_driver_sql(f"ALTER TABLE {TABLE}_again RENAME TO {TABLE}")
    for index in indexes:
        connection.exec_driver_sql(index)
