"""Datasets of a trusted curator, their releases, and a ledger of ρ that only grows"""

import sqlalchemy as sa
from alembic import op

revision = "202611221930"
down_revision = "202611221810"
branch_labels = None
depends_on = None

LEDGER = "dataset_ledger"
REFUSAL = "the ledger is append-only"


def upgrade() -> None:
    op.create_table(
        "datasets",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("terms", sa.Text(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=True),
        sa.Column("cells", sa.LargeBinary(), nullable=True),
        sa.Column("cap_nano", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("deleted_at", sa.BigInteger(), nullable=True),
    )
    _create_releases()
    op.create_table(
        LEDGER,
        sa.Column("release_id", sa.String(64), sa.ForeignKey("releases.id"), primary_key=True),
        sa.Column("dataset_id", sa.String(64), sa.ForeignKey("datasets.id"), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("nano", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_dataset_ledger_dataset_id", LEDGER, ["dataset_id"])
    if op.get_bind().dialect.name == "sqlite":
        _refuse_changes_on_sqlite()
    else:
        _refuse_changes_on_postgresql()


def _create_releases() -> None:
    op.create_table(
        "releases",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("dataset_id", sa.String(64), sa.ForeignKey("datasets.id"), nullable=False),
        sa.Column("workload_id", sa.String(64), sa.ForeignKey("workloads.id"), nullable=False),
        sa.Column("key", sa.String(255), nullable=False),
        sa.Column("objective", sa.String(16), nullable=False),
        sa.Column("nano_rho", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        sa.Column("digest", sa.String(64), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("lease_owner", sa.String(64), nullable=True),
        sa.Column("lease_until", sa.BigInteger(), nullable=True),
        sa.UniqueConstraint("dataset_id", "key", name="uq_releases_dataset_id_key"),
        sa.CheckConstraint("state IN ('queued', 'spent', 'released', 'failed', 'lost')", name="ck_releases_state"),
    )
    op.create_index("ix_releases_state_created_at", "releases", ["state", "created_at"])


def _refuse_changes_on_sqlite() -> None:
    refuse = f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
    for event in ("UPDATE", "DELETE"):
        op.execute(f"CREATE TRIGGER {LEDGER}_{event.lower()} BEFORE {event} ON {LEDGER} {refuse}")
    # INSERT OR REPLACE deletes without asking the trigger of DELETE; it can also name the row by its number.
    op.execute(
        f"CREATE TRIGGER {LEDGER}_insert BEFORE INSERT ON {LEDGER}"
        f" WHEN EXISTS (SELECT 1 FROM {LEDGER} WHERE release_id = NEW.release_id OR rowid = NEW.rowid) {refuse}"
    )


def _refuse_changes_on_postgresql() -> None:
    op.execute(
        f"CREATE FUNCTION {LEDGER}_unchanged() RETURNS trigger LANGUAGE plpgsql"
        f" AS $$ BEGIN RAISE EXCEPTION '{REFUSAL}'; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {LEDGER}_unchanged BEFORE UPDATE OR DELETE OR TRUNCATE ON {LEDGER}"
        f" FOR EACH STATEMENT EXECUTE FUNCTION {LEDGER}_unchanged()"
    )


def downgrade() -> None:
    op.drop_table(LEDGER)
    if op.get_bind().dialect.name != "sqlite":
        op.execute(f"DROP FUNCTION {LEDGER}_unchanged()")
    op.drop_table("releases")
    op.drop_table("datasets")
