"""Whether anybody may read the status of a campaign"""

import sqlalchemy as sa
from alembic import op

revision = "202611222036"
down_revision = "202611222030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("campaigns", sa.Column("public", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    op.drop_column("campaigns", "public")
