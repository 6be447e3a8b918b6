"""Who changed what from what to what, by which request, and a chain of hashes over the audit log"""

import sqlalchemy as sa
from alembic import op

revision = "202611272015"
down_revision = "202611271950"
branch_labels = None
depends_on = None

LOG, CHAIN = "audit_log", "audit_chain"
REFUSAL = "the chain of the audit log is append-only"


def upgrade() -> None:
    op.add_column(LOG, sa.Column("actor", sa.String(240), nullable=True))
    op.add_column(LOG, sa.Column("request_id", sa.String(64), nullable=True))
    op.add_column(LOG, sa.Column("before", sa.Text(), nullable=True))
    op.add_column(LOG, sa.Column("after", sa.Text(), nullable=True))
    op.create_table(
        CHAIN,
        sa.Column("entry_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("entry_id", name=op.f("pk_audit_chain")),
    )
    if op.get_bind().dialect.name == "sqlite":
        refuse = f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
        for event in ("UPDATE", "DELETE"):
            op.execute(f"CREATE TRIGGER {CHAIN}_{event.lower()} BEFORE {event} ON {CHAIN} {refuse}")
        op.execute(
            f"CREATE TRIGGER {CHAIN}_insert BEFORE INSERT ON {CHAIN}"
            f" WHEN EXISTS (SELECT 1 FROM {CHAIN} WHERE entry_id = NEW.entry_id) {refuse}"
        )
        return
    op.execute(
        f"CREATE FUNCTION {CHAIN}_unchanged() RETURNS trigger LANGUAGE plpgsql"
        f" AS $$ BEGIN RAISE EXCEPTION '{REFUSAL}'; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {CHAIN}_unchanged BEFORE UPDATE OR DELETE OR TRUNCATE ON {CHAIN}"
        f" FOR EACH STATEMENT EXECUTE FUNCTION {CHAIN}_unchanged()"
    )


def downgrade() -> None:
    op.drop_table(CHAIN)
    if op.get_bind().dialect.name != "sqlite":
        op.execute(f"DROP FUNCTION {CHAIN}_unchanged()")
    for column in ("after", "before", "request_id", "actor"):
        op.drop_column(LOG, column)
