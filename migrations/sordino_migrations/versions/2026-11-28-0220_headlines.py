"""What lists show of a campaign's estimate; `sordino db upgrade` fills it for estimates of before"""

import sqlalchemy as sa
from alembic import op

revision = "202611280220"
down_revision = "202611272345"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("campaigns", sa.Column("headline", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("campaigns", "headline")
