"""Plans are found by what was asked, and their progress says how good they are so far"""

import sqlalchemy as sa
from alembic import op

revision = "202611212150"
down_revision = "202611201140"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for column in (
        sa.Column("content_key", sa.String(64)),
        sa.Column("variance", sa.Double()),
        sa.Column("ratio", sa.Double()),
    ):
        op.add_column("plan_requests", column)
    op.create_index(op.f("ix_plan_requests_content_key"), "plan_requests", ["content_key"])


def downgrade() -> None:
    op.drop_index(op.f("ix_plan_requests_content_key"), "plan_requests")
    for name in ("content_key", "variance", "ratio"):
        op.drop_column("plan_requests", name)
