"""SQLite refuses to replace an entry of the ledger: INSERT OR REPLACE deletes without asking the trigger of DELETE"""

from alembic import op

revision = "202611220150"
down_revision = "202611212315"
branch_labels = None
depends_on = None

LEDGER = "population_ledger"


def upgrade() -> None:
    # On PostgreSQL, ON CONFLICT DO UPDATE asks the trigger of UPDATE.
    if op.get_bind().dialect.name == "sqlite":
        # A row can also be replaced by its number, under the name of another campaign.
        op.execute(
            f"CREATE TRIGGER {LEDGER}_insert BEFORE INSERT ON {LEDGER}"
            f" WHEN EXISTS (SELECT 1 FROM {LEDGER} WHERE campaign_id = NEW.campaign_id OR rowid = NEW.rowid)"
            " BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
        )


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.execute(f"DROP TRIGGER {LEDGER}_insert")
