"""`sordino log`: the public log of what this server asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sordino_server.cli import log_keys
from sordino_server.cli.log_verify import verify
from sordino_server.cli.output import JsonOption, command_group, console, moment, print_json, reports_errors, say
from sordino_server.cli.processes import existing_database
from sordino_server.config import Settings
from sordino_server.errors import ServerError
from sordino_server.kit.clock import WallClock
from sordino_server.kit.db import Database
from sordino_server.kit.log_settings import check_origin
from sordino_server.models import Log
from sordino_server.public_log import repository, rotation, service, setup
from sordino_server.public_log.entries import policy_published
from sordino_server.public_log.signing import LogSigner, make_key_file, read_seeds
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Problem
from sordino_shared.protocol.log_keys import LOG_KIND, NoteKey

app = command_group(
    "log",
    help="The public log of what a server asks: begin, show, copy and restore it in SORDINO_DATABASE_URL; verify any.",
)


app.command()(log_keys.rotate)
app.add_typer(log_keys.signer)


@app.command()
@reports_errors
def init(
    origin: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the log; default: SORDINO_LOG_ORIGIN, or one made of its key."),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File of the key, made where it is not there; default: SORDINO_LOG_KEY."),
    ] = None,
    new: Annotated[
        bool, typer.Option("--new", help="Begin another log in place of the one there is, as in a copied database.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Begin the public log of a database, and print the verifier key that apps pin.

    Example:

        sordino log init --origin telemetry.example/log

    `sordino serve` begins one by itself in a new SQLite database. Campaigns that are ready or open become its first
    entries. Nothing is ever removed from the log: a purpose that must not be public must not be asked.
    """
    settings, database = existing_database()
    file = key or setup.key_file(settings, database)
    if file is None:
        raise InvalidValue("where is the key to be kept? Give --key FILE, and set SORDINO_LOG_KEY to it for the server")
    chosen = settings if origin is None else _named(settings, origin)
    with database.read("look for log") as session:
        found = repository.current(session)
    if found is not None and not new:
        raise InvalidValue(
            f"the database keeps the log {found.origin} already: see `sordino log show`; --new begins another"
        )
    make_key_file(file)
    log = setup.begin(chosen, database, file, WallClock().now(), again=new)
    _print(
        _document(log, (NoteKey(log.origin, LOG_KIND, log.key),)),
        as_json,
        f"the key is in {file}: keep a copy of it apart from the database",
    )


def _named(settings: Settings, origin: str) -> Settings:
    check_origin(origin)
    return settings.model_copy(update={"log_origin": origin})


@app.command()
@reports_errors
def show(as_json: JsonOption = False) -> None:
    """Print the verifier key of the log, its size, and this server's key as a witness.

    Example:

        sordino log show
    """
    settings, database = existing_database()
    with database.read("show log") as session:
        found = service.state(session)
        waiting = len(repository.waiting(session, found.log, 10**6))
        keys = rotation.signing_keys(session, found.log, WallClock().now())
    document = _document(found.log, keys) | {
        "size": 0 if found.checkpoint is None else found.checkpoint.size,
        "root": None if found.checkpoint is None else found.checkpoint.root.hex(),
        "at": None if found.checkpoint is None else found.checkpoint.at,
        "waiting": waiting,
        "witnesses": list(found.witnesses),
        "ahead": found.log.ahead,
        "witness_key": _witness_key(settings, database, found.log),
    }
    _print(document, as_json)


def _witness_key(settings: Settings, database: Database, log: Log) -> str | None:
    try:
        return str(setup.witness_signer(log, setup.signer_of(settings, database, log)).key)
    except InvalidValue:
        # Shown without the key's file too, as on a machine of an analyst.
        return None


@app.command()
@reports_errors
def policy(
    file: Annotated[Path, typer.Option(metavar="FILE", help="Text in UTF-8 of 1 to 2,000 characters.")],
    as_json: JsonOption = False,
) -> None:
    """Publish a text in the log: retention, purpose of the service, contact.

    Example:

        sordino log policy --file policy.txt

    It can never be removed. A later text stands beside the earlier ones.
    """
    _, database = existing_database()
    try:
        text = file.read_text("utf-8").strip()
    except UnicodeDecodeError:
        raise InvalidValue(f"{file} is no text in UTF-8", file) from None
    with database.write("publish policy") as session:
        entry = policy_published(session, _log_of(database), text, WallClock().now())
    document = {"subject": entry.subject.hex(), "at": entry.at}
    _print(document, as_json, "a worker adds it to the log within seconds")


def _log_of(database: Database) -> Log:
    with database.read("look for log") as session:
        found = repository.current(session)
    if found is None:
        raise ServerError(Problem.NOT_FOUND, "this database keeps no public log: run `sordino log init`")
    return found


def _signer_of(settings: Settings, database: Database) -> Callable[[Log], LogSigner] | None:
    """The keys of the log's file, with those that a restored backup does not know; None without the file."""
    file = setup.key_file(settings, database)
    return None if file is None or not file.exists() else lambda log: LogSigner(log.origin, read_seeds(file))


def _document(log: Log, keys: Sequence[NoteKey]) -> dict[str, Any]:
    return {"origin": log.origin, "key": str(keys[-1]), "keys": list(map(str, keys)), "created_at": log.created_at}


def _print(document: dict[str, Any], as_json: bool, *further: str) -> None:
    if as_json:
        print_json(document)
    else:
        for name, value in document.items():
            shown = moment(value) if name in ("at", "created_at") and value is not None else value
            console.print(f"{name:12} {_shown(shown)}", highlight=False, markup=False, soft_wrap=True)
    for line in further:
        say(line)


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return "none" if value is None else str(value)


@app.command()
@reports_errors
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder that gets the files; those there stay.")],
    as_json: JsonOption = False,
) -> None:
    """Write the log as files that any web server, CDN or bucket can serve (C2SP tlog-tiles).

    Example:

        sordino log export /var/www/log

    Run it again for what is new. Keep a copy elsewhere: `sordino log restore` reads it back into a restored database.
    A folder with more entries than the database, or with others, stays as it is.
    """
    from sordino_server.public_log import exported

    settings, database = existing_database()
    # A restored database would put its shorter checkpoint in place of the one that it is read back from.
    exported.compare(database, folder, _signer_of(settings, database))
    size = exported.export(database, folder)
    _print({"folder": str(folder), "size": size}, as_json)


@app.command()
@reports_errors
def restore(
    source: Annotated[str, typer.Argument(metavar="DIR|URL", help="A folder of `export`, or a server with the log.")],
    as_json: JsonOption = False,
) -> None:
    """Read entries back into a database that was restored from a backup, so that the log can be signed again.

    Example:

        sordino log restore /var/www/log

    The entries must continue those of the database and be signed by the log's key. Run it before the workers start.
    """
    from sordino_server.public_log import files, restoring

    settings, database = existing_database()
    log, signer = _log_of(database), _signer_of(settings, database)
    # Without the key's file too, where the database knows the key that signed the copy.
    keys = () if signer is None else signer(log).keys
    before, size = restoring.restore(database, files.files_at(source), WallClock().now(), keys)
    _print({"before": before, "size": size, "restored": size - before}, as_json)


app.command()(verify)
