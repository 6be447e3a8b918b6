"""`sordino db backup` and `sordino db restore`: the whole database as one file, for either engine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sordino_server.cli.output import JsonOption, console, print_json, reports_errors, say
from sordino_server.cli.processes import existing_database, started
from sordino_shared.quantities import quantity

# Who was signed in before stays out: a restored database is often another server.
_NOT_RESTORED = frozenset({"console_sessions", "sign_in_links"})
_FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The backup, an SQLite file.")]


@reports_errors
def backup(file: _FileArgument, as_json: JsonOption = False) -> None:
    """Write the whole database, as it is now, into a new file. Servers and workers may run.

    Example:

        sordino db backup sordino-2026-11-27.sqlite3

    The file is an SQLite database of this version, for PostgreSQL too: `sordino db check` reads it, and `sordino db
    restore` puts it into an empty database of either engine. It has what the database has, and so reports that a later
    purge deletes: keep it as safe as the database, and no longer than the reports.
    """
    # Imported here: the other commands need no tables.
    from sordino_server.kit.backup import back_up
    from sordino_server.models import Base

    _, database = existing_database()
    size = back_up(database, Base.metadata.sorted_tables, file, _tell)
    if as_json:
        print_json({"file": str(file), "bytes": size})
        return
    console.print(f"wrote {file}, {quantity(size, 'byte')}", highlight=False, markup=False, soft_wrap=True)


@reports_errors
def restore(file: _FileArgument, as_json: JsonOption = False) -> None:
    """Put a backup into the database SORDINO_DATABASE_URL, which has no rows yet. Stop servers and workers first.

    Example:

        SORDINO_DATABASE_URL=sqlite:///new.sqlite3 sordino db restore sordino-2026-11-27.sqlite3

    The tables are made if they are not there. It is one transaction: if the command is killed, the database is still
    empty, and it can be run again. Everybody signs in to the console again.
    """
    from sordino_server.kit.backup import restore as put_back
    from sordino_server.models import Base

    _, database = started()
    restored: dict[str, int] = {}

    def told(name: str, rows: int) -> None:
        restored[name] = rows
        _tell(name, rows)

    tables = [table for table in Base.metadata.sorted_tables if table.name not in _NOT_RESTORED]
    put_back(database, tables, file, told)
    total = sum(restored.values())
    if as_json:
        print_json({"file": str(file), "rows": total, "tables": restored})
        return
    console.print(f"restored {quantity(total, 'row')} from {file}", highlight=False, markup=False, soft_wrap=True)


def _tell(name: str, rows: int) -> None:
    if rows:
        say(f"{name}: {quantity(rows, 'row')}")
