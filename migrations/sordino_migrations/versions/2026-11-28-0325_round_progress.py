"""How far the search in the reports of a closed round is"""

import sqlalchemy as sa
from alembic import op

revision = "202611280325"
down_revision = "202611280320"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("rounds", sa.Column("progress", sa.Double(), nullable=True))


def downgrade() -> None:
    op.drop_column("rounds", "progress")
