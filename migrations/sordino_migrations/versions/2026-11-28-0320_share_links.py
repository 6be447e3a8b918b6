"""Links to results for people without a key"""

import sqlalchemy as sa
from alembic import op

revision = "202611280320"
down_revision = "202611280220"
branch_labels = None
depends_on = None

TABLE = "share_links"
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        TABLE,
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("token_sha256", sa.String(64), nullable=False),
        sa.Column("campaign_id", sa.String(64), nullable=False),
        sa.Column("round_id", NUMBER, nullable=False),
        sa.Column("created_by", sa.String(200), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=True),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.Column("openings", sa.BigInteger(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f("fk_share_links_campaign_id")),
        sa.ForeignKeyConstraint(["round_id"], ["rounds.id"], name=op.f("fk_share_links_round_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_share_links")),
        sa.UniqueConstraint("token_sha256", name=op.f("uq_share_links_token_sha256")),
    )
    op.create_index(op.f("ix_share_links_campaign_id"), TABLE, ["campaign_id"])


def downgrade() -> None:
    op.drop_table(TABLE)
