"""The column `consistent` of stored estimates and releases is `best`, which it is the first form of"""

import hashlib
import json

import sqlalchemy as sa
from alembic import op

revision = "202611271620"
down_revision = "202611271540"
branch_labels = None
depends_on = None

_ESTIMATES = sa.table("estimates", sa.column("round_id", sa.Integer), sa.column("content", sa.LargeBinary))
_RELEASES = sa.table("releases", sa.column("id"), sa.column("content", sa.LargeBinary), sa.column("digest"))


def upgrade() -> None:
    _rewrite(_with_best)


def downgrade() -> None:
    _rewrite(_with_consistent)


def _rewrite(change):
    connection = op.get_bind()
    for table, key in ((_ESTIMATES, _ESTIMATES.c.round_id), (_RELEASES, _RELEASES.c.id)):
        for number in connection.scalars(sa.select(key).where(table.c.content.is_not(None))).all():
            stored = connection.scalar(sa.select(table.c.content).where(key == number))
            document = json.loads(stored)
            if not isinstance(document.get("table"), dict):
                continue
            # The order of columns is theirs in every table of answers.
            text = json.dumps(change(document), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
            if text.encode() != stored:
                found = {"content": text.encode()}
                digest = {"digest": hashlib.sha256(text.encode()).hexdigest()} if "digest" in table.c else {}
                connection.execute(table.update().where(key == number).values(found | digest))


def _with_best(document):
    """The answers of the nearest histogram, which estimates had before, are a best guess that is a projection."""
    return document | {"table": _renamed(document["table"], "consistent", "best")}


def _with_consistent(document):
    """Without what a former version would refuse: which intervals are cut, and the estimated error of the guesses."""
    table = {name: cells for name, cells in document["table"].items() if name != "cut"}
    extras = {name: value for name, value in document["extras"].items() if name != "best_error"}
    return document | {"table": _renamed(table, "best", "consistent"), "extras": extras}


def _renamed(table, old, new):
    return {new if name == old else name: cells for name, cells in table.items()}
