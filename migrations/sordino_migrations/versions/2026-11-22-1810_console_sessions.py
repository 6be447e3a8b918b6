"""Sessions of the console"""

import sqlalchemy as sa
from alembic import op

revision = "202611221810"
down_revision = "202611221710"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "console_sessions",
        sa.Column("id_sha256", sa.String(64), primary_key=True),
        sa.Column("key_id", sa.String(64), sa.ForeignKey("keys.id"), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_console_sessions_expires_at", "console_sessions", ["expires_at"])


def downgrade() -> None:
    op.drop_table("console_sessions")
