"""Stored estimates say of which kind they are, and those of a statistic how many users they count"""

import json

import sqlalchemy as sa
from alembic import op

revision = "202611232320"
down_revision = "202611222330"
branch_labels = None
depends_on = None

_ESTIMATES = sa.table("estimates", sa.column("round_id", sa.Integer), sa.column("content", sa.LargeBinary))


def upgrade() -> None:
    _rewrite(_with_kind)


def downgrade() -> None:
    _rewrite(_without_kind)


def _rewrite(change):
    connection = op.get_bind()
    for number in connection.scalars(sa.select(_ESTIMATES.c.round_id)).all():
        chosen = _ESTIMATES.c.round_id == number
        document = json.loads(connection.scalar(sa.select(_ESTIMATES.c.content).where(chosen)))
        text = json.dumps(change(document), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        connection.execute(_ESTIMATES.update().where(chosen).values(content=text.encode()))


def _with_kind(document):
    if "kind" in document:
        return document
    if "protocol" not in document:
        return {**document, "kind": "linear"}
    # Where a device answers every round, its total ε is more than that of a round.
    rounds = document["rounds"]
    drawn = all(each["epsilon"] == document["epsilon"] for each in rounds)
    users = sum(each["users"] for each in rounds) if drawn else rounds[-1]["users"]
    return {**document, "kind": "pairwise", "users": users}


def _without_kind(document):
    if document.get("kind") == "concepts":
        return document
    dropped = {"kind", "users"} if document.get("kind") == "pairwise" else {"kind"}
    return {name: value for name, value in document.items() if name not in dropped}
