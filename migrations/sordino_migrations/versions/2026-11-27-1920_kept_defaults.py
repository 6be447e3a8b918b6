"""Raw reports go after 30 days by default; a database with campaigns keeps them as before until its setting is set"""

import sqlalchemy as sa
from alembic import op

revision = "202611271920"
down_revision = "202611271740"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "kept_defaults",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("value", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_kept_defaults")),
    )
    op.execute(
        "INSERT INTO kept_defaults (name, value) SELECT 'raw_report_retention_days', 'forever'"
        " WHERE EXISTS (SELECT 1 FROM campaigns)"
    )


def downgrade() -> None:
    # The versions before keep reports in any case.
    op.drop_table("kept_defaults")
