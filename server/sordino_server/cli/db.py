"""`sordino db`: migrate, check, back up and restore the database, delete old reports, change the key of datasets."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sordino_server.cli import json_lines
from sordino_server.cli.output import JsonOption, command_group, console, print_json, print_listing, reports_errors, say
from sordino_server.cli.processes import existing_database, started, wait_for
from sordino_server.kit import migrations, schema_version
from sordino_server.kit.clock import WallClock
from sordino_server.kit.sealing import check_key
from sordino_server.kit.secret_files import read_secret
from sordino_shared.errors import InvalidValue, SordinoError
from sordino_shared.quantities import quantity

if TYPE_CHECKING:
    from sordino_server.campaigns.retention import OldReports
    from sordino_server.kit.db import Database

# Who was signed in before stays out: a restored database is often another server.
_NOT_RESTORED = frozenset({"console_sessions", "sign_in_links"})
_FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The backup, an SQLite file.")]
app = command_group(
    "db",
    help="Migrate and check the database SORDINO_DATABASE_URL, back it up and restore it, delete old "
    "reports, or change the key of datasets.",
)


@app.command()
@reports_errors
def upgrade(
    wait: Annotated[
        float,
        typer.Option(min=0, max=86400, metavar="SECONDS", help="Longest wait for a database that does not answer yet."),
    ] = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Migrate the schema to the revision of this version.

    Run it once before processes of a new version start. --wait 60 waits for a database that is starting up; a wrong
    password or name is reported at once.
    """
    _, database = started()
    wait_for(database, wait)
    before = schema_version.current_revision(database)
    migrations.upgrade(database)
    _fill_headlines(database)
    _print(as_json, {"before": before, "current": schema_version.current_revision(database)})


def _fill_headlines(database: Database) -> None:
    # The other commands need no kinds of answers.
    from sordino_server.answers.finding import fill_headlines

    fill_headlines(database)


@app.command()
@reports_errors
def downgrade(
    revision: Annotated[str, typer.Argument(metavar="REVISION", help="As `sordino db current` of that version says.")],
    lose: Annotated[
        str,
        typer.Option(metavar="NAMES", help="Tables whose rows may be dropped, separated by commas."),
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Take the schema back to the revision of an earlier version.

    Back up first, and stop all processes. A revision without a table drops its rows: ledgers, caps, the audit log,
    reports. The command refuses this, and changes nothing, unless --lose names each table that loses rows.

    Example:

        sordino db downgrade 202611222036 --lose archives,sources
    """
    _, database = started()
    database.check_exists()
    before = schema_version.current_revision(database)
    migrations.downgrade(database, revision, {name.strip() for name in lose.split(",") if name.strip()})
    _print(as_json, {"before": before, "current": schema_version.current_revision(database)})


@app.command()
@reports_errors
def current(as_json: JsonOption = False) -> None:
    """Print the revision of the database and the one that this version needs."""
    _, database = started()
    _print(as_json, {"current": schema_version.current_revision(database), "needed": schema_version.head_revision()})


@app.command()
@reports_errors
def check(as_json: JsonOption = False) -> None:
    """Check that the database answers, has the right schema and, on SQLite, is not damaged."""
    _, database = existing_database()
    database.check()
    database.check_pages()
    _print(as_json, {"current": schema_version.current_revision(database)})


@app.command()
@reports_errors
def purge(
    older_than_days: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Days since the campaign ended; default: the setting."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would be deleted, delete nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Delete the reports of campaigns that ended long ago; keep counts, aggregates and estimates.

    Example:

        sordino db purge --older-than-days 90 --dry-run

    Without --older-than-days the setting SORDINO_RAW_REPORT_RETENTION_DAYS applies, 30 days by default.
    """
    # Imported here: the other commands need no numerical libraries.
    from sordino_server.archives import ArchiveKept
    from sordino_server.campaigns import retention

    settings, database = existing_database()
    with database.read("retention") as session:
        days = retention.days_kept(session, settings.raw_report_retention_days)
    if older_than_days is not None:
        days = older_than_days
    if days is None:
        raise InvalidValue(
            "reports are kept permanently: give --older-than-days or set SORDINO_RAW_REPORT_RETENTION_DAYS"
        )
    now = WallClock().now()
    found = retention.old_reports(database, days, now)
    refused: dict[int, str] = {}
    for old in () if dry_run else found:
        try:
            retention.purge(database, old, now)
        except (ArchiveKept, retention.ReportsKept) as error:
            refused[old.round_id] = str(error)
    _print_purged([old for old in found if old.round_id not in refused], dry_run, as_json)
    if refused:
        raise SordinoError("; ".join(refused.values()))


@app.command("rotate-dataset-key")
@reports_errors
def rotate_dataset_key(
    new_key_file: Annotated[
        Path,
        typer.Option(metavar="PATH", help="File with the new key, 64 hexadecimal digits alone.", show_default=False),
    ],
    as_json: JsonOption = False,
) -> None:
    """Seal the rows of all datasets with another key than SORDINO_DATASET_KEY.

    Example:

        openssl rand -hex 32 > new.key
        sordino db rotate-dataset-key --new-key-file new.key

    It is one transaction: if the command is killed, all rows have the old key, and it can be run again. Then set
    SORDINO_DATASET_KEY to the new key and start the server and its workers again; until then releases fail, and spend
    nothing. Caps, ledgers and releases stay as they are.
    """
    # Imported here: the other commands need no numerical libraries.
    from sordino_server.datasets.key_rotation import rotate
    from sordino_server.datasets.sealing import sealer_of
    from sordino_server.kit.sealing import Sealer

    new_key = _new_key(new_key_file)
    settings, database = existing_database()
    old, new = sealer_of(settings.dataset_key), Sealer(new_key)
    if settings.dataset_key is not None and new_key.lower() == settings.dataset_key.get_secret_value().lower():
        raise InvalidValue(
            f"{new_key_file} has the key that SORDINO_DATASET_KEY is: set that to the old key, or make another"
        )
    done = database.run("rotate dataset key", lambda session: rotate(session, old, new))
    if as_json:
        print_json({"resealed": done.resealed, "already": done.already})
        return
    already = f", {done.already} had it already" if done.already else ""
    for line in (
        f"{quantity(done.resealed, 'dataset')} sealed with the new key{already}",
        "set SORDINO_DATASET_KEY to it, and start the server and its workers again",
        "backups from before need the old key: keep it apart as long as you keep them",
    ):
        console.print(line, highlight=False, soft_wrap=True)


def _new_key(file: Path) -> str:
    key = read_secret(file, "--new-key-file")
    check_key(key)
    return key


def _print_purged(purged: list[OldReports], dry_run: bool, as_json: bool) -> None:
    if as_json:
        rounds = [
            {"campaign": old.campaign, "round": old.index, "reports": old.reports, "bytes": old.bytes} for old in purged
        ]
        print_json({"purged": not dry_run, "rounds": rounds})
        return
    rows = ((old.campaign, str(old.index), str(old.reports), str(old.bytes)) for old in purged)
    print_listing(("campaign", "round", "reports", "bytes"), rows)
    console.print("nothing was deleted (--dry-run)" if dry_run else "these reports were deleted", highlight=False)


def _print(as_json: bool, values: dict[str, str | None]) -> None:
    if as_json:
        print_json(values)
        return
    if json_lines.wanted(sys.stdout):
        json_lines.write(sys.stdout, "info", "revision of the database", **values)
        return
    for name, value in values.items():
        console.print(f"{name}: {value or 'no tables yet'}", highlight=False)


@app.command()
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


@app.command()
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
    _fill_headlines(database)
    total = sum(restored.values())
    if as_json:
        print_json({"file": str(file), "rows": total, "tables": restored})
        return
    console.print(f"restored {quantity(total, 'row')} from {file}", highlight=False, markup=False, soft_wrap=True)


def _tell(name: str, rows: int) -> None:
    if rows:
        say(f"{name}: {quantity(rows, 'row')}")
