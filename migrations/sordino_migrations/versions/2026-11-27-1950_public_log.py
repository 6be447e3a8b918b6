"""The public log of what is asked, and what this server witnesses, in tables that only grow"""

import sqlalchemy as sa
from alembic import op

revision = "202611271950"
down_revision = "202611271930"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
REFUSAL = "the public log is append-only"
# By table, its primary key.
TABLES = {
    "log_entries": ("id",),
    "log_nodes": ("log_id", "level", "index"),
    "log_checkpoints": ("log_id", "size"),
    "log_cosignatures": ("log_id", "size", "witness"),
    "witnessed_checkpoints": ("origin", "size"),
}
# All that an entry says; its number is null until a worker gives it one.
SAID = ("id", "log_id", "kind", "campaign", "round", "content", "leaf", "at")


def upgrade() -> None:
    op.create_table(
        "logs",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("origin", sa.String(200), nullable=False),
        sa.Column("key", sa.LargeBinary(32), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("ahead", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_logs")),
    )
    op.create_table(
        "log_entries",
        sa.Column("id", NUMBER, nullable=False),
        _log_id("log_entries"),
        sa.Column("number", sa.BigInteger()),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("campaign", sa.String(64)),
        sa.Column("round", sa.SmallInteger()),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("leaf", sa.LargeBinary(32), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_log_entries")),
        sa.UniqueConstraint("log_id", "number", name=op.f("uq_log_entries_log_id_number")),
    )
    op.create_index("ix_log_entries_campaign_kind_round", "log_entries", ["campaign", "kind", "round"])
    op.create_table(
        "log_nodes",
        _log_id("log_nodes"),
        sa.Column("level", sa.SmallInteger(), nullable=False),
        sa.Column("index", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.LargeBinary(32), nullable=False),
        sa.PrimaryKeyConstraint("log_id", "level", "index", name=op.f("pk_log_nodes")),
    )
    op.create_table(
        "log_checkpoints",
        _log_id("log_checkpoints"),
        *_checkpoint(),
        sa.PrimaryKeyConstraint("log_id", "size", name=op.f("pk_log_checkpoints")),
    )
    op.create_table(
        "log_cosignatures",
        _log_id("log_cosignatures"),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("witness", sa.String(200), nullable=False),
        sa.Column("line", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("log_id", "size", "witness", name=op.f("pk_log_cosignatures")),
    )
    op.create_table(
        "witnessed_checkpoints",
        sa.Column("origin", sa.String(200), nullable=False),
        *_checkpoint(),
        sa.PrimaryKeyConstraint("origin", "size", name=op.f("pk_witnessed_checkpoints")),
    )
    if op.get_bind().dialect.name == "sqlite":
        _refuse_changes_on_sqlite()
    else:
        _refuse_changes_on_postgresql()


def _log_id(table: str) -> sa.Column:
    return sa.Column("log_id", NUMBER, sa.ForeignKey("logs.id", name=op.f(f"fk_{table}_log_id")), nullable=False)


def _checkpoint() -> tuple[sa.Column, ...]:
    return (
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("root", sa.LargeBinary(32), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
    )


def _refuse_changes_on_sqlite() -> None:
    refuse = f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
    changed = " OR ".join(f'OLD."{name}" IS NOT NEW."{name}"' for name in SAID)
    for table, key in TABLES.items():
        allowed = f"WHEN OLD.number IS NOT NULL OR {changed} " if table == "log_entries" else ""
        op.execute(f"CREATE TRIGGER {table}_update BEFORE UPDATE ON {table} {allowed}{refuse}")
        op.execute(f"CREATE TRIGGER {table}_delete BEFORE DELETE ON {table} {refuse}")
        # INSERT OR REPLACE deletes without asking the trigger of DELETE.
        same = " AND ".join(f'"{name}" = NEW."{name}"' for name in key)
        op.execute(
            f"CREATE TRIGGER {table}_insert BEFORE INSERT ON {table}"
            f" WHEN EXISTS (SELECT 1 FROM {table} WHERE {same}) {refuse}"
        )


def _refuse_changes_on_postgresql() -> None:
    op.execute(
        "CREATE FUNCTION public_log_unchanged() RETURNS trigger LANGUAGE plpgsql"
        f" AS $$ BEGIN RAISE EXCEPTION '{REFUSAL}'; END $$"
    )
    refuse = "EXECUTE FUNCTION public_log_unchanged()"
    changed = " OR ".join(f'OLD."{name}" IS DISTINCT FROM NEW."{name}"' for name in SAID)
    for table in TABLES:
        events = "DELETE OR TRUNCATE" if table == "log_entries" else "UPDATE OR DELETE OR TRUNCATE"
        op.execute(f"CREATE TRIGGER {table}_unchanged BEFORE {events} ON {table} FOR EACH STATEMENT {refuse}")
    op.execute(
        "CREATE TRIGGER log_entries_numbered BEFORE UPDATE ON log_entries FOR EACH ROW"
        f" WHEN (OLD.number IS NOT NULL OR {changed}) {refuse}"
    )


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_table(table)
    op.drop_table("logs")
    if op.get_bind().dialect.name != "sqlite":
        op.execute("DROP FUNCTION public_log_unchanged()")
