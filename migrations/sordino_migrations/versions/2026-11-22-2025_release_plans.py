"""The plan of each release, for audits"""

import sqlalchemy as sa
from alembic import op

revision = "202611222025"
down_revision = "202611221930"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("releases", sa.Column("plan", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    op.drop_column("releases", "plan")
