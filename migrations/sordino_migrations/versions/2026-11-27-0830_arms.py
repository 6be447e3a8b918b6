"""Arms of experiments: how many a round has, and whose the sums and payloads are"""

import sqlalchemy as sa
from alembic import op

revision = "202611270830"
down_revision = "202611270100"
branch_labels = None
depends_on = None

COLUMNS = (("rounds", "arms"), ("report_chunks", "arm"), ("accumulators", "arm"))


def upgrade() -> None:
    for table, column in COLUMNS:
        op.add_column(table, sa.Column(column, sa.SmallInteger(), server_default="0", nullable=False))


def downgrade() -> None:
    # An earlier version adds up all arms, whose shards have names of their own.
    for table, column in COLUMNS:
        op.drop_column(table, column)
