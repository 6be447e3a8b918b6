"""A dataset counts ρ or pure ε, by a CHECK of the database, too"""

import sqlalchemy as sa
from alembic import op
from alembic.util import CommandError

revision = "202611271540"
down_revision = "202611271300"
branch_labels = None
depends_on = None

NAME, ALLOWED = "ck_datasets_account", "account IN ('rho', 'epsilon')"


def upgrade() -> None:
    _refuse_other_accounts()
    if op.get_bind().dialect.name == "sqlite":
        _write_schema(")", f", CONSTRAINT {NAME} CHECK ({ALLOWED}))")
    else:
        op.create_check_constraint(op.f(NAME), "datasets", ALLOWED)


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        _write_schema(f", CONSTRAINT {NAME} CHECK ({ALLOWED}))", ")")
    else:
        op.drop_constraint(op.f(NAME), "datasets", type_="check")


def _refuse_other_accounts() -> None:
    """No version wrote any other: the database was changed by hand, and what its ledger counts is not known."""
    found = op.get_bind().execute(sa.text(f"SELECT name FROM datasets WHERE NOT ({ALLOWED}) ORDER BY name"))
    if names := [name for (name,) in found]:
        raise CommandError(
            f"the datasets {', '.join(names)} have an account that is neither rho nor epsilon: set it to what their "
            "caps count, in the database"
        )


def _write_schema(before: str, after: str) -> None:
    """SQLite adds no CHECK in place, and other tables refer to this one. Its documentation allows this for CHECKs: the
    end of the words of the schema is changed, the rows are not.
    """
    connection = op.get_bind()
    where = "type = 'table' AND name = 'datasets'"
    words = connection.exec_driver_sql(f"SELECT sql FROM sqlite_master WHERE {where}").scalar_one().rstrip()
    if not words.endswith(before):
        raise RuntimeError(f"the table datasets does not end with {before!r}: the schema was changed by hand")
    version = connection.exec_driver_sql("PRAGMA schema_version").scalar_one()
    connection.exec_driver_sql("PRAGMA writable_schema = ON")
    connection.exec_driver_sql(f"UPDATE sqlite_master SET sql = ? WHERE {where}", (words[: -len(before)] + after,))
    connection.exec_driver_sql(f"PRAGMA schema_version = {version + 1}")
    connection.exec_driver_sql("PRAGMA writable_schema = OFF")
