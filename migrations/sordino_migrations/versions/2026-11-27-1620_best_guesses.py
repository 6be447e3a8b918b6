"""The column `consistent` of stored estimates is `best`, which it is the first form of"""

import json

import sqlalchemy as sa
from alembic import op

revision = "202611271620"
down_revision = "202611271540"
branch_labels = None
depends_on = None

_ESTIMATES = sa.table("estimates", sa.column("round_id", sa.Integer), sa.column("content", sa.LargeBinary))


def upgrade() -> None:
    _rename("consistent", "best")


def downgrade() -> None:
    _rename("best", "consistent")


def _rename(old, new):
    """The answers of the nearest histogram, which estimates had before, are a best guess that is a projection."""
    connection = op.get_bind()
    for number in connection.scalars(sa.select(_ESTIMATES.c.round_id)).all():
        chosen = _ESTIMATES.c.round_id == number
        document = json.loads(connection.scalar(sa.select(_ESTIMATES.c.content).where(chosen)))
        table = document.get("table")
        if not isinstance(table, dict) or old not in table:
            continue
        document["table"] = {new if name == old else name: cells for name, cells in table.items()}
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        connection.execute(_ESTIMATES.update().where(chosen).values(content=text.encode()))
