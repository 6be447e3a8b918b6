"""Series: campaigns whose rounds are periods, numbered to 2^32"""

import sqlalchemy as sa
from alembic import op

revision = "202611221710"
down_revision = "202611221650"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "series",
        sa.Column("campaign_id", sa.String(64), sa.ForeignKey("campaigns.id"), primary_key=True),
        sa.Column("start", sa.BigInteger(), nullable=False),
        sa.Column("period_s", sa.BigInteger(), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("answers_max", sa.Integer(), nullable=False),
        sa.Column("lag", sa.Integer(), nullable=False),
        sa.Column("late_s", sa.BigInteger(), nullable=False),
        sa.Column("nano", sa.BigInteger(), nullable=False),
        sa.Column("closed_periods", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "series_pauses",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True),
        sa.Column("campaign_id", sa.String(64), sa.ForeignKey("campaigns.id"), nullable=False),
        sa.Column("paused_at", sa.BigInteger(), nullable=False),
        sa.Column("resumed_at", sa.BigInteger(), nullable=True),
    )
    op.create_index("ix_series_pauses_campaign_id", "series_pauses", ["campaign_id"])
    # Integers of SQLite have 64 bits whatever the column is called.
    if op.get_bind().dialect.name != "sqlite":
        op.alter_column("rounds", "index", type_=sa.BigInteger())


def downgrade() -> None:
    if op.get_bind().dialect.name != "sqlite":
        op.alter_column("rounds", "index", type_=sa.Integer())
    op.drop_table("series_pauses")
    op.drop_table("series")
