"""How many cells and queries a workload has, so that nobody builds it again to say so"""

import sqlalchemy as sa
from alembic import op

revision = "202611220945"
down_revision = "202611220150"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # A workload from before has null cells and 0 queries, which says that nobody counted them.
    op.add_column("workloads", sa.Column("cells", sa.BigInteger()))
    op.add_column("workloads", sa.Column("queries", sa.BigInteger(), nullable=False, server_default="0"))


def downgrade() -> None:
    op.drop_column("workloads", "queries")
    op.drop_column("workloads", "cells")
