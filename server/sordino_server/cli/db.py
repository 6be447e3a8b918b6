"""`sordino db`: the schema of the database."""

from __future__ import annotations

import typer

from sordino_server.cli.output import JsonOption, console, print_json, reports_errors
from sordino_server.cli.processes import started
from sordino_server.kit import migrations

app = typer.Typer(
    name="db",
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Bring the database of SORDINO_DATABASE_URL up to date, or say where it stands.",
    no_args_is_help=True,
)


@app.command()
@reports_errors
def upgrade(as_json: JsonOption = False) -> None:
    """Bring the schema to the revision of this version; run it once before new processes start."""
    _, database = started()
    before = migrations.current_revision(database)
    migrations.upgrade(database)
    _print(as_json, {"before": before, "current": migrations.current_revision(database)})


@app.command()
@reports_errors
def current(as_json: JsonOption = False) -> None:
    """Say which revision the database has, and which this version needs."""
    _, database = started()
    _print(as_json, {"current": migrations.current_revision(database), "needed": migrations.head_revision()})


@app.command()
@reports_errors
def check(as_json: JsonOption = False) -> None:
    """Exit with an error unless the database answers and has the schema of this version."""
    _, database = started()
    database.check()
    migrations.check_schema(database)
    _print(as_json, {"current": migrations.current_revision(database)})


def _print(as_json: bool, values: dict[str, str | None]) -> None:
    if as_json:
        print_json(values)
        return
    for name, value in values.items():
        console.print(f"{name}: {value or 'no tables yet'}", highlight=False)
