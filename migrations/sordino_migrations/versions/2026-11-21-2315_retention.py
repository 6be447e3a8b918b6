"""When the reports of a round were given up and only their aggregate kept"""

import sqlalchemy as sa
from alembic import op

revision = "202611212315"
down_revision = "202611212250"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("rounds", sa.Column("purged_at", sa.BigInteger()))


def downgrade() -> None:
    op.drop_column("rounds", "purged_at")
