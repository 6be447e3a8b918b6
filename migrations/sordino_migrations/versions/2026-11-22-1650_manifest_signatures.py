"""Operators' signatures of manifests"""

import sqlalchemy as sa
from alembic import op

revision = "202611221650"
down_revision = "202611221620"
branch_labels = None
depends_on = None

TABLE = "manifest_signatures"


def upgrade() -> None:
    op.create_table(
        TABLE,
        sa.Column("campaign_id", sa.String(64), nullable=False),
        sa.Column("key", sa.LargeBinary(32), nullable=False),
        sa.Column("signature", sa.LargeBinary(64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("campaign_id", "key", name=op.f(f"pk_{TABLE}")),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f(f"fk_{TABLE}_campaign_id")),
    )


def downgrade() -> None:
    op.drop_table(TABLE)
