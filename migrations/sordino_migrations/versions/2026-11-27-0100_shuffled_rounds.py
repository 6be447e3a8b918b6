"""Batches of shuffled rounds, their sealed pages, signed tasks, and keys of role shuffler"""

import sqlalchemy as sa
from alembic import op

revision = "202611270100"
down_revision = "202611270010"
branch_labels = None
depends_on = None

ROLES = ("admin", "analyst", "uploader", "aggregator")
MORE = (*ROLES, "shuffler")
STATES = ("receiving", "stated", "counted", "withheld", "unreadable")


def upgrade() -> None:
    _change_roles(ROLES, MORE)
    op.add_column("rounds", sa.Column("shuffled", sa.Boolean(), server_default=sa.false(), nullable=False))
    listed = ", ".join(repr(state) for state in STATES)
    op.create_table(
        "batches",
        sa.Column("round_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("pages", sa.BigInteger(), nullable=False),
        sa.Column("reports", sa.BigInteger(), nullable=False),
        sa.Column("last_id", sa.LargeBinary(16), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.Column("blanket", sa.BigInteger(), nullable=False),
        sa.Column("refused", sa.BigInteger(), nullable=False),
        sa.Column("statement", sa.LargeBinary()),
        sa.CheckConstraint(f"state IN ({listed})", name=op.f("ck_batches_state")),
        sa.ForeignKeyConstraint(["round_id"], ["rounds.id"], name=op.f("fk_batches_round_id")),
        sa.PrimaryKeyConstraint("round_id", name=op.f("pk_batches")),
    )
    op.create_table(
        "sealed_pages",
        sa.Column("round_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("page", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.LargeBinary(32), nullable=False),
        sa.Column("ids", sa.LargeBinary(), nullable=False),
        sa.Column("sealed", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("round_id", "page", name=op.f("pk_sealed_pages")),
    )
    op.create_table(
        "signed_tasks",
        sa.Column("campaign_id", sa.String(64), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f("fk_signed_tasks_campaign_id")),
        sa.PrimaryKeyConstraint("campaign_id", name=op.f("pk_signed_tasks")),
    )


def downgrade() -> None:
    op.drop_table("signed_tasks")
    op.drop_table("sealed_pages")
    op.drop_table("batches")
    op.drop_column("rounds", "shuffled")
    # An earlier version knows no such role; the key opens nothing there.
    op.execute("UPDATE keys SET role = 'uploader', revoked_at = coalesce(revoked_at, 0) WHERE role = 'shuffler'")
    _change_roles(MORE, ROLES)


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
