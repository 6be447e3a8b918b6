"""What operators changed, in a table that only grows"""

import sqlalchemy as sa
from alembic import op

revision = "202611221440"
down_revision = "202611221115"
branch_labels = None
depends_on = None

LOG = "audit_log"
REFUSAL = "the audit log is append-only"


def upgrade() -> None:
    op.create_table(
        LOG,
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True),
        sa.Column("key_id", sa.String(64), sa.ForeignKey("keys.id"), nullable=False),
        sa.Column("action", sa.String(64), nullable=False),
        sa.Column("path", sa.String(2048), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
    )
    if op.get_bind().dialect.name == "sqlite":
        _refuse_changes_on_sqlite()
    else:
        _refuse_changes_on_postgresql()


def _refuse_changes_on_sqlite() -> None:
    refuse = f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
    for event in ("UPDATE", "DELETE"):
        op.execute(f"CREATE TRIGGER {LOG}_{event.lower()} BEFORE {event} ON {LOG} {refuse}")
    # INSERT OR REPLACE deletes without asking the trigger of DELETE.
    op.execute(
        f"CREATE TRIGGER {LOG}_insert BEFORE INSERT ON {LOG}"
        f" WHEN EXISTS (SELECT 1 FROM {LOG} WHERE id = NEW.id) {refuse}"
    )


def _refuse_changes_on_postgresql() -> None:
    op.execute(
        f"CREATE FUNCTION {LOG}_unchanged() RETURNS trigger LANGUAGE plpgsql"
        f" AS $$ BEGIN RAISE EXCEPTION '{REFUSAL}'; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {LOG}_unchanged BEFORE UPDATE OR DELETE OR TRUNCATE ON {LOG}"
        f" FOR EACH STATEMENT EXECUTE FUNCTION {LOG}_unchanged()"
    )


def downgrade() -> None:
    op.drop_table(LOG)
    if op.get_bind().dialect.name != "sqlite":
        op.execute(f"DROP FUNCTION {LOG}_unchanged()")
