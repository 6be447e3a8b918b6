"""Searches for strings with a wider beam than that of the estimate"""

import sqlalchemy as sa
from alembic import op

revision = "202611272345"
down_revision = "202611272330"
branch_labels = None
depends_on = None

TABLE = "string_searches"
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        TABLE,
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("round_id", NUMBER, nullable=False),
        sa.Column("beam", sa.Integer(), nullable=False),
        sa.Column("progress", sa.Double(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("lease_owner", sa.String(64), nullable=True),
        sa.Column("lease_until", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["round_id"], ["rounds.id"], name=op.f("fk_string_searches_round_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_string_searches")),
        sa.UniqueConstraint("round_id", "beam", name=op.f("uq_string_searches_round_id_beam")),
    )


def downgrade() -> None:
    op.drop_table(TABLE)
