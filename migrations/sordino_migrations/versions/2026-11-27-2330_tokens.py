"""Tokens of reports: seeds of issuers, accounts that have one, tokens that were counted, and keys of role issuer"""

import sqlalchemy as sa
from alembic import op
from alembic.util import CommandError

revision = "202611272330"
down_revision = "202611272310"
branch_labels = None
depends_on = None

ROLES = ("admin", "analyst", "uploader", "aggregator", "shuffler")
MORE = (*ROLES, "issuer")
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    _change_roles(ROLES, MORE)
    op.add_column("rounds", sa.Column("with_tokens", sa.Boolean(), server_default=sa.false(), nullable=False))
    _of_a_round("issuer_seeds", ("campaign_id", "index"), sa.Column("seed", sa.LargeBinary(32), nullable=False))
    _of_a_round(
        "token_accounts",
        ("campaign_id", "index", "account"),
        sa.Column("account", sa.LargeBinary(32), nullable=False),
        sa.Column("asked", sa.LargeBinary(16), nullable=False),
    )
    op.create_table(
        "spent",
        sa.Column("round_id", NUMBER, nullable=False),
        sa.Column("token", sa.LargeBinary(16), nullable=False),
        sa.PrimaryKeyConstraint("round_id", "token", name=op.f("pk_spent")),
        sqlite_with_rowid=False,
    )


def _of_a_round(table: str, key: tuple[str, ...], *columns: sa.Column) -> None:
    op.create_table(
        table,
        sa.Column("campaign_id", sa.String(64), nullable=False),
        sa.Column("index", NUMBER, nullable=False),
        *columns,
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f(f"fk_{table}_campaign_id")),
        sa.PrimaryKeyConstraint(*key, name=op.f(f"pk_{table}")),
    )


def downgrade() -> None:
    _refuse_tokens()
    for table in ("spent", "token_accounts", "issuer_seeds"):
        op.drop_table(table)
    op.drop_column("rounds", "with_tokens")
    # An earlier version knows no such role; the key opens nothing there.
    op.execute("UPDATE keys SET role = 'uploader', revoked_at = coalesce(revoked_at, 0) WHERE role = 'issuer'")
    _change_roles(MORE, ROLES)


def _refuse_tokens() -> None:
    """The version before cannot read their manifests, and would count reports without a token."""
    found = op.get_bind().exec_driver_sql(
        "SELECT DISTINCT campaign_id FROM rounds WHERE with_tokens ORDER BY campaign_id"
    )
    if campaigns := [campaign for (campaign,) in found]:
        raise CommandError(
            f"the campaigns {', '.join(campaigns)} have tokens, which the version before does not know: restore a "
            "backup from before they were created"
        )


def _change_roles(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    if op.get_bind().dialect.name == "sqlite":
        _write_schema(_allowed(before), _allowed(after))
        return
    name = op.f("ck_keys_role")
    op.drop_constraint(name, "keys", type_="check")
    op.create_check_constraint(name, "keys", _allowed(after))


def _allowed(roles: tuple[str, ...]) -> str:
    return f"role IN ({', '.join(repr(role) for role in roles)})"


def _write_schema(before: str, after: str) -> None:
    """SQLite changes no CHECK in place, and other tables refer to this one. Its documentation allows this for CHECKs:
    the words of the schema are changed, the rows are not.
    """
    connection = op.get_bind()
    where = "type = 'table' AND name = 'keys'"
    words = connection.exec_driver_sql(f"SELECT sql FROM sqlite_master WHERE {where}").scalar_one()
    if words.count(before) != 1:
        raise RuntimeError(f"the table keys has no constraint {before!r}: the schema was changed by hand")
    version = connection.exec_driver_sql("PRAGMA schema_version").scalar_one()
    connection.exec_driver_sql("PRAGMA writable_schema = ON")
    connection.exec_driver_sql(f"UPDATE sqlite_master SET sql = ? WHERE {where}", (words.replace(before, after),))
    connection.exec_driver_sql(f"PRAGMA schema_version = {version + 1}")
    connection.exec_driver_sql("PRAGMA writable_schema = OFF")
