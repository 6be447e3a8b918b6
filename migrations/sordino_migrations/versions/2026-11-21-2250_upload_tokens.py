"""Upload tokens: keys that open one campaign, and campaigns that want one with every report"""

import sqlalchemy as sa
from alembic import op

revision = "202611212250"
down_revision = "202611212240"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("campaigns", sa.Column("needs_token", sa.Boolean(), nullable=False, server_default=sa.false()))
    # Said as SQL: the toolkit would rebuild the table for a foreign key on SQLite, which others refer to.
    op.execute(
        "ALTER TABLE keys ADD COLUMN campaign_id VARCHAR(64) CONSTRAINT fk_keys_campaign_id REFERENCES campaigns (id)"
    )


def downgrade() -> None:
    op.drop_column("keys", "campaign_id")
    op.drop_column("campaigns", "needs_token")
