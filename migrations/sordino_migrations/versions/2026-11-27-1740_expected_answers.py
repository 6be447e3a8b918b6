"""An experiment may pin what its primary answer is expected to be"""

import sqlalchemy as sa
from alembic import op

revision = "202611271740"
down_revision = "202611271620"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("experiments", sa.Column("expect", sa.Float(), nullable=True))


def downgrade() -> None:
    op.drop_column("experiments", "expect")
