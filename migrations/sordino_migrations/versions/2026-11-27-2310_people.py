"""People beside keys, the line of a key's rotations, sessions that are renewed, and audit entries without a key"""

import sqlalchemy as sa
from alembic import op
from alembic.util import CommandError

revision = "202611272310"
down_revision = "202611272015"
branch_labels = None
depends_on = None

LOG = "audit_log"
REFUSAL = "the audit log is append-only"


def upgrade() -> None:
    op.add_column("keys", sa.Column("line", sa.String(64), nullable=True))
    op.add_column("keys", sa.Column("replaced_by", sa.String(64), nullable=True))
    op.add_column("keys", sa.Column("person", sa.String(64), nullable=True))
    op.create_index("ix_keys_person", "keys", ["person"], unique=True)
    op.add_column("console_sessions", sa.Column("renew_at", sa.BigInteger(), nullable=True))
    op.add_column("console_sessions", sa.Column("shown_name", sa.String(200), nullable=True))
    _let_entries_have_no_key(True)


def _let_entries_have_no_key(nullable: bool) -> None:
    if op.get_bind().dialect.name != "sqlite":
        op.alter_column(LOG, "key_id", existing_type=sa.String(64), nullable=nullable)
        return
    # SQLite copies the table, and its triggers go with the old one.
    with op.batch_alter_table(LOG) as table:
        table.alter_column("key_id", existing_type=sa.String(64), nullable=nullable)
    refuse = f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
    for event in ("UPDATE", "DELETE"):
        op.execute(f"CREATE TRIGGER {LOG}_{event.lower()} BEFORE {event} ON {LOG} {refuse}")
    op.execute(
        f"CREATE TRIGGER {LOG}_insert BEFORE INSERT ON {LOG}"
        f" WHEN EXISTS (SELECT 1 FROM {LOG} WHERE id = NEW.id) {refuse}"
    )


def downgrade() -> None:
    # A version of before knows no entry without a key, and would take a person for a key.
    if op.get_bind().execute(sa.text(f"SELECT 1 FROM {LOG} WHERE key_id IS NULL LIMIT 1")).first():
        raise CommandError("the audit log has entries of workers, which the version before cannot read")
    if op.get_bind().execute(sa.text("SELECT 1 FROM keys WHERE person IS NOT NULL LIMIT 1")).first():
        raise CommandError("people signed in to this database, whom the version before would take for keys")
    _let_entries_have_no_key(False)
    for column in ("shown_name", "renew_at"):
        op.drop_column("console_sessions", column)
    op.drop_index("ix_keys_person", table_name="keys")
    for column in ("person", "replaced_by", "line"):
        op.drop_column("keys", column)
