"""`sordino export`: results of a running server, and reports of its database, as files for other programs."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

from sordino_server.cli.campaign_argument import CampaignArgument, campaign_in
from sordino_server.cli.output import JsonOption, command_group, print_json, reports_errors, say
from sordino_server.cli.processes import existing_database
from sordino_server.cli.remote import Remote
from sordino_server.cli.remote_command import Csv, Shown, remote_command
from sordino_server.kit.clock import WallClock
from sordino_shared.errors import InvalidValue
from sordino_shared.quantities import quantity

app = command_group("export", help="Write estimates to a file, or the reports of a closed round to an archive.")

_KEPT = "deleting it is up to you from now on"
_MANAGED = "the archive is deleted when the reports are purged"
Form = Literal["csv", "json", "parquet"]
FORMS: tuple[Form, ...] = get_args(Form)


@app.command()
@remote_command
def estimates(
    remote: Remote,
    campaigns: Annotated[
        list[str],
        typer.Argument(metavar="CAMPAIGN...", help="Ids, the first digits of ids (4 or more), or names."),
    ],
    form: Annotated[
        Form | None,
        typer.Option("--format", metavar="csv|json|parquet", help="By default what the name of the file ends with."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write; without it CSV and JSON are printed.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    as_json: JsonOption = False,
) -> Shown:
    """Write the estimates of closed campaigns as one table: a row for each query or statistic.

    Example:

        sordino export estimates delays-may delays-june --output delays.csv

    Bounds of attributes, answers and errors are numbers in columns of their own. Parquet needs pyarrow. Uses
    SORDINO_SERVER and SORDINO_KEY.
    """
    form = _form(form or ("json" if as_json and output is None else None), output)
    if as_json and output is None and form != "json":
        raise InvalidValue("--json prints the table as JSON: leave out --format, or add --output FILE")
    if output is not None and output.exists() and not force:
        raise InvalidValue(f"{output} exists: choose another file, or replace it with --force")
    write = _writer(remote, form, campaigns)
    if output is None:
        return None, Csv(write(None))
    _replace(output, write)
    document = {"file": str(output), "format": form, "campaigns": campaigns}
    return document, partial(say, f"written to {output}")


@app.command()
@reports_errors
def reports(
    campaign: CampaignArgument,
    to: Annotated[str, typer.Option("--to", metavar="URL", help="A folder: a path, s3://, gs:// or abfs://.")],
    index: Annotated[int, typer.Option("--round", min=0, metavar="N", help="The round, from 0 on.")] = 0,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the archive to you: no retention of sordino deletes it.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Write the reports of a closed round as an archive that any machine can add up.

    Example:

        sordino export reports 3f0c9a71 --round 0 --to s3://bucket/lake

    Reads the database SORDINO_DATABASE_URL. An export that was broken off goes on where it stopped. When the reports
    are purged, the worker deletes the archive too, and purges nothing where it cannot reach it; with --keep deleting is
    up to you.
    """
    from sordino_server.archives.archiving import ExportTerms, archive_folder, archived_round, export_round
    from sordino_server.cli.progress_bar import displayed_progress

    _, database = existing_database()
    with database.read("find campaign") as session:
        whole = campaign_in(session, campaign)
    archived = archived_round(database, whole, index)
    folder = archive_folder(to, archived)
    with displayed_progress("writing") as show:
        manifest = export_round(database, archived, folder, ExportTerms(not keep, WallClock().now()), show)
    if as_json:
        print_json({"archive": folder.url, "manifest": manifest.name, **asdict(manifest)})
        return
    say(
        f"{quantity(manifest.reports, 'report')} in {quantity(len(manifest.parts), 'part')}; "
        f"{_KEPT if keep else _MANAGED}"
    )
    typer.echo(folder.url)


@app.command()
@reports_errors
def forget(
    url: Annotated[str, typer.Argument(metavar="URL", help="The folder that `sordino export reports` printed.")],
    as_json: JsonOption = False,
) -> None:
    """Leave an archive to you: deleting it is up to you from now on, and it keeps no reports from being purged.

    Uses the database SORDINO_DATABASE_URL.
    """
    from sordino_analysis.archive.folder import Folder
    from sordino_server import archives

    _, database = existing_database()
    address = url if "://" in url else Folder.open(url).address
    if not database.run("forget archive", lambda session: archives.give_to_operator(session, address)):
        raise InvalidValue(f"{address} is no archive of this database", url)
    if as_json:
        print_json({"archive": address, "managed": False})
    else:
        say(f"{address}: {_KEPT}")


Write = Callable[[Path | None], str]


def _form(given: Form | None, output: Path | None) -> Form:
    """The form that is asked for; raises InvalidValue where none is said, or where it cannot be printed."""
    ending = "" if output is None else output.suffix.lower().removeprefix(".")
    named = next((form for form in FORMS if form == ending), None)
    form = given or named or ("csv" if output is None else None)
    if form is None:
        raise InvalidValue(f"{output}: add --format csv, json or parquet, or end the name with one of them")
    if form == "parquet" and output is None:
        raise InvalidValue("Parquet is not printed: add --output FILE")
    return form


def _writer(remote: Remote, form: Form, campaigns: list[str]) -> Write:
    """What writes the table into a file, or returns it as text; everything is fetched before."""
    if form == "parquet":
        from sordino_analysis.answers.parquet import check_pyarrow

        check_pyarrow()
    identifiers = [remote.campaign_id(campaign) for campaign in campaigns]
    if form == "csv":
        return _text_writer(remote.text("/v1/estimates", campaign=identifiers, format="csv"))
    document = remote.get("/v1/estimates", campaign=identifiers, format="rows")
    if form == "json":
        return _text_writer(json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n")
    return _parquet_writer(document["rows"])


def _text_writer(text: str) -> Write:
    def write(path: Path | None) -> str:
        if path is not None:
            path.write_text(text, encoding="utf-8", newline="")
        return text

    return write


def _parquet_writer(rows: list[dict[str, str | int | float | None]]) -> Write:
    def write(path: Path | None) -> str:
        from sordino_analysis.answers.parquet import write_parquet
        from sordino_analysis.answers.table import AnswerTable

        assert path is not None
        write_parquet(AnswerTable.of_rows(rows), path)
        return ""

    return write


def _replace(output: Path, write: Write) -> None:
    """Write a temporary file in the same folder and rename it, so that a full disk leaves the old file as it is."""
    handle, name = tempfile.mkstemp(prefix=f".{output.name}.", dir=output.parent)
    os.close(handle)
    try:
        write(Path(name))
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, output)
    except BaseException:
        os.unlink(name)
        raise
