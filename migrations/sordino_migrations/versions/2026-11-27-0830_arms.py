"""Arms of experiments: how many a round has, and whose the sums and payloads are"""

import sqlalchemy as sa
from alembic import op
from alembic.util import CommandError

revision = "202611270830"
down_revision = "202611270100"
branch_labels = None
depends_on = None

COLUMNS = (("rounds", "arms"), ("report_chunks", "arm"), ("accumulators", "arm"))


def upgrade() -> None:
    for table, column in COLUMNS:
        op.add_column(table, sa.Column(column, sa.SmallInteger(), server_default="0", nullable=False))


def downgrade() -> None:
    _refuse_arms()
    for table, column in COLUMNS:
        op.drop_column(table, column)


def _refuse_arms() -> None:
    """The version before refuses reports of the second arm, and which sums belong to which arm would be lost."""
    found = op.get_bind().exec_driver_sql("SELECT DISTINCT campaign_id FROM rounds WHERE arms > 0 ORDER BY campaign_id")
    if campaigns := [campaign for (campaign,) in found]:
        raise CommandError(
            f"the campaigns {', '.join(campaigns)} have arms, which the version before cannot tell apart: restore a "
            "backup from before they were created. To give up which report is of which arm, cancel or close those that "
            "are open and run in the database: UPDATE rounds SET arms = 0"
        )
