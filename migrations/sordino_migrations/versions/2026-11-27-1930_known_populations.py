"""Populations that campaigns made are declared, without caps, and the server lists them until caps are chosen"""

import sqlalchemy as sa
from alembic import op

revision = "202611271930"
down_revision = "202611271920"
branch_labels = None
depends_on = None

_NAME = "populations_without_caps"


def upgrade() -> None:
    connection = op.get_bind()
    newest = connection.execute(sa.text("SELECT MAX(created_at) FROM populations WHERE NOT declared")).scalar_one()
    if newest is None:
        return
    op.execute("UPDATE populations SET declared = TRUE WHERE NOT declared")
    kept = sa.table("kept_defaults", sa.column("name"), sa.column("value"))
    connection.execute(kept.insert().values(name=_NAME, value=str(newest)))


def downgrade() -> None:
    # They stay declared: an operator whose devices they are has seen them.
    op.execute(f"DELETE FROM kept_defaults WHERE name = '{_NAME}'")
