"""Where the reports of a round were exported to, so that retention holds there too"""

import sqlalchemy as sa
from alembic import op

revision = "202611222310"
down_revision = "202611222245"
branch_labels = None
depends_on = None


def upgrade() -> None:
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "archives",
        sa.Column("round_id", number, sa.ForeignKey("rounds.id"), primary_key=True, autoincrement=False),
        sa.Column("url", sa.Text(), primary_key=True),
        sa.Column("manifest", sa.String(64)),
        sa.Column("managed", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("deleting_at", sa.BigInteger()),
    )


def downgrade() -> None:
    op.drop_table("archives")
