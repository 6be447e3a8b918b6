"""How many cells and queries a workload has, so that nobody builds it again to say so"""

import json

import sqlalchemy as sa
from alembic import op

revision = "202611220945"
down_revision = "202611220150"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("workloads", sa.Column("cells", sa.BigInteger()))
    op.add_column("workloads", sa.Column("queries", sa.BigInteger(), nullable=False, server_default="0"))
    _fill(op.get_bind())


def downgrade() -> None:
    op.drop_column("workloads", "queries")
    op.drop_column("workloads", "cells")


def _fill(connection: sa.Connection) -> None:
    known = connection.execute(sa.text("SELECT id, specification FROM workloads")).all()
    if not known:
        return
    # What a specification means is the planner's to say; it is asked once, here.
    from sordino_analysis.questions.specifications import parse_either
    from sordino_server.workloads.checking import sizes
    from sordino_shared.errors import InvalidValue

    statement = sa.text("UPDATE workloads SET cells = :cells, queries = :queries WHERE id = :id")
    for identifier, specification in known:
        try:
            cells, queries = sizes(parse_either(json.loads(specification)))
        except InvalidValue:
            # Its names hide something, which was not refused before: it is kept to be read, and cannot be planned.
            cells, queries = None, 0
        connection.execute(statement, {"cells": cells, "queries": queries, "id": identifier})
