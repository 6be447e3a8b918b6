"""Entries of the ledger name the kind of their guarantee; until now all were of pure ε"""

import sqlalchemy as sa
from alembic import op

revision = "202611221115"
down_revision = "202611221005"
branch_labels = None
depends_on = None

LEDGER = "population_ledger"


def upgrade() -> None:
    op.add_column(LEDGER, sa.Column("kind", sa.String(32), nullable=False, server_default="pure_epsilon"))


def downgrade() -> None:
    op.drop_column(LEDGER, "kind")
