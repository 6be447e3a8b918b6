"""Campaigns of several rounds: the plan of a protocol, and when a round closes by itself"""

import sqlalchemy as sa
from alembic import op

revision = "202611212200"
down_revision = "202611212150"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "protocol_plans",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_protocol_plans")),
    )
    op.create_table(
        "closing_rules",
        sa.Column("campaign_id", sa.String(64), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("after_reports", sa.BigInteger()),
        sa.Column("after_s", sa.BigInteger()),
        sa.PrimaryKeyConstraint("campaign_id", "index", name=op.f("pk_closing_rules")),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f("fk_closing_rules_campaign_id")),
    )
    # Said as SQL: the toolkit would rebuild the table for a foreign key on SQLite, which others refer to.
    op.execute(
        "ALTER TABLE plan_requests ADD COLUMN protocol_digest VARCHAR(64)"
        " CONSTRAINT fk_plan_requests_protocol_digest REFERENCES protocol_plans (digest)"
    )


def downgrade() -> None:
    op.drop_column("plan_requests", "protocol_digest")
    op.drop_table("closing_rules")
    op.drop_table("protocol_plans")
