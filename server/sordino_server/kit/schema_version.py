"""Which schema a database has and which one this version needs, read without Alembic.

Every readiness probe reads it, and Alembic would add a tenth to the memory of a process that never migrates.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

from sqlalchemy import column, inspect, select, table

from sordino_server.kit.database_errors import SchemaMismatch
from sordino_server.kit.db import Database

# Alembic's own table; these migrations have no branches, so that it has at most one row.
_VERSIONS = table("alembic_version", column("version_num"))
_REVISIONS = re.compile(r"""^(revision|down_revision) = ["'](\w+)["']$""", re.MULTILINE)


def head_revision() -> str:
    """The revision that this version of the software works with."""
    return _shipped()[1]


def known_revisions() -> frozenset[str]:
    """Every revision that this version of the software can start from or end at."""
    return _shipped()[0]


def current_revision(database: Database) -> str | None:
    """The revision of the database; None when it was never migrated, or when SQLite's file is not there."""
    if not database.exists:
        return None
    with database.read("schema revision") as session:
        if not inspect(session.connection()).has_table(_VERSIONS.name):
            return None
        revision: str | None = session.scalar(select(_VERSIONS.c.version_num))
        return revision


def check_schema(database: Database) -> None:
    """Raise `SchemaMismatch`, which says what to do, unless the database is at the revision of this software."""
    current, head = current_revision(database), head_revision()
    check_known(current)
    if current != head:
        found = "has no tables yet" if current is None else f"is at revision {current}"
        raise SchemaMismatch(f"the database {found}, this version needs {head}; run `sordino db upgrade`", "schema")


def check_known(current: str | None) -> None:
    """Raise `SchemaMismatch` for a schema of no step of this version, for which upgrading does not help."""
    if current is not None and current not in known_revisions():
        raise SchemaMismatch(
            f"the database is at revision {current}, which this version does not know (it works with "
            f"{head_revision()}): a newer version migrated it, or a development version of before the first release "
            "made it. Run the version that wrote it, or restore a backup of this one; a database of a development "
            "version cannot be upgraded: export what you need with it, and start with an empty database",
            "schema",
        )


@cache
def _shipped() -> tuple[frozenset[str], str]:
    """All revisions, and the last one; installed files do not change while a process runs."""
    files = [
        dict(_REVISIONS.findall(path.read_text(encoding="utf-8")))
        for path in resources.files("sordino_migrations").joinpath("versions").iterdir()
        if path.name.endswith(".py")
    ]
    known = frozenset(found["revision"] for found in files)
    (head,) = known - {found.get("down_revision") for found in files}
    return known, head
