"""Experiments: the rule of each, and its looks"""

import sqlalchemy as sa
from alembic import op

revision = "202611270915"
down_revision = "202611270830"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "experiments",
        sa.Column("campaign_id", sa.String(64), nullable=False),
        sa.Column("primary_query", sa.String(200), nullable=False),
        sa.Column("looks", sa.String(16), nullable=False),
        sa.Column("days", sa.Integer(), nullable=False),
        sa.Column("users", sa.BigInteger(), nullable=False),
        sa.Column("spread", sa.Float(), nullable=False),
        sa.Column("level", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f("fk_experiments_campaign_id")),
        sa.PrimaryKeyConstraint("campaign_id", name=op.f("pk_experiments")),
    )
    op.create_table(
        "looks",
        sa.Column("campaign_id", sa.String(64), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("over", sa.Boolean(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["experiments.campaign_id"], name=op.f("fk_looks_campaign_id")),
        sa.PrimaryKeyConstraint("campaign_id", "day", name=op.f("pk_looks")),
    )


def downgrade() -> None:
    op.drop_table("looks")
    op.drop_table("experiments")
