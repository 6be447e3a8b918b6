"""Campaigns of several servers: epochs of ids at each, and when a collector last heard of its home"""

import sqlalchemy as sa
from alembic import op

revision = "202611222330"
down_revision = "202611222310"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("rounds", sa.Column("epochs", sa.Integer(), nullable=False, server_default="65536"))
    op.add_column("campaigns", sa.Column("mirrored_at", sa.BigInteger()))


def downgrade() -> None:
    op.drop_column("campaigns", "mirrored_at")
    op.drop_column("rounds", "epochs")
