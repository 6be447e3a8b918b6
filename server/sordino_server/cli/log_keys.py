"""`sordino log rotate` and `sordino log signer`: the keys of the public log, and those that sign manifests."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Annotated, Any

import typer

from sordino_server.cli.output import JsonOption, command_group, console, moment, print_json, reports_errors, say
from sordino_server.cli.processes import existing_database
from sordino_server.errors import ServerError
from sordino_server.kit.clock import WallClock
from sordino_server.kit.db import Database
from sordino_server.models import Log
from sordino_server.public_log import repository, rotation, setup, signers
from sordino_server.public_log.integration import locked
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Problem
from sordino_shared.protocol.log_keys import KEY_OVERLAP_S

_KEY = re.compile("[0-9a-f]{64}")
KeyArgument = Annotated[str, typer.Argument(metavar="KEY", help="Ed25519 key, 64 hexadecimal digits.")]
signer = command_group("signer", help="The keys of people who sign manifests: the public log names each with its end.")


@reports_errors
def rotate(
    prepare: Annotated[
        bool, typer.Option("--prepare", help="Make the next key and print it; the log keeps the one that it has.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Give the log its next key. Both keys sign for 30 days; apps pin both, the new one last.

    Example:

        sordino log rotate --prepare
        sordino log rotate

    The new key is a further line of the file of SORDINO_LOG_KEY: copy the file to where workers run before the second
    command. Witnesses add the new key to SORDINO_WITNESSED_LOGS within the 30 days.
    """
    settings, database = existing_database()
    log, now = _log_of(database), WallClock().now()
    file = setup.key_file(settings, database)
    if file is None:
        raise InvalidValue("set SORDINO_LOG_KEY to the file with the key of the public log, as for the server")
    with database.read("keys of log") as session:
        before = rotation.known_keys(session, log)
    following = setup.next_key(settings, database, log, file)
    document: dict[str, Any] = {"key": str(before[-1]), "next": str(following), "until": None}
    if not prepare:
        # Of two rotations at once one waits, and then finds the other's entry.
        database.run(
            "rotate log",
            lambda session: rotation.key_rotated(session, locked(database, session), following.key, now),
        )
        document["until"] = now + KEY_OVERLAP_S
    _print(document, as_json)
    if prepare:
        say(f"the next key is in {file}: copy the file to where workers run, then run `sordino log rotate`")
    else:
        say("both keys sign until then: ship apps that pin both, and give the new one to witnesses and monitors")


@signer.command()
@reports_errors
def add(
    key: KeyArgument,
    expires: Annotated[
        str | None, typer.Option(metavar="DATE", help="First day (UTC) on which it signs no more, as 2027-11-28.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Name a key that signs manifests, with the day of its end.

    Example:

        sordino log signer add d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a --expires 2027-11-28

    Several keys may sign at the same time. Naming a key that the log names already gives it another end. A key that was
    never added is added to the log by its first signature, without an end.
    """
    _, database = existing_database()
    log, until = _log_of(database), None if expires is None else _seconds(expires)
    with database.write("add signer") as session:
        entry = signers.added(session, log, _bytes(key), until, WallClock().now())
    _print({"key": key, "change": "added", "expires": until, "at": entry.at}, as_json)


@signer.command()
@reports_errors
def withdraw(key: KeyArgument, as_json: JsonOption = False) -> None:
    """End a key that signs manifests: the server takes no further signature of it.

    Example:

        sordino log signer withdraw d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a
    """
    _, database = existing_database()
    log = _log_of(database)
    with database.write("withdraw signer") as session:
        entry = signers.withdrawn(session, log, _bytes(key), WallClock().now())
    _print({"key": key, "change": "withdrawn", "expires": None, "at": entry.at}, as_json)


@signer.command(name="list")
@reports_errors
def list_signers(as_json: JsonOption = False) -> None:
    """List the keys that sign manifests.

    Example:

        sordino log signer list
    """
    _, database = existing_database()
    log, now = _log_of(database), WallClock().now()
    with database.read("list signers") as session:
        found = signers.named(session, log)
    rows: list[dict[str, Any]] = [
        {"key": key.hex(), "state": each.state(now), "expires": each.expires} for key, each in found.items()
    ]
    if as_json:
        print_json({"signers": rows})
    for row in [] if as_json else rows:
        end = "" if row["expires"] is None else f", until {moment(row['expires'])}"
        console.print(f"{row['key']}  {row['state']}{end}", highlight=False, markup=False, soft_wrap=True)
    if not rows:
        say("the log names no key that signs manifests")


def _log_of(database: Database) -> Log:
    with database.read("look for log") as session:
        found = repository.current(session)
    if found is None:
        raise ServerError(Problem.NOT_FOUND, "this database keeps no public log: run `sordino log init`")
    return found


def _bytes(key: str) -> bytes:
    if not _KEY.fullmatch(key):
        raise InvalidValue(f"a key that signs manifests is 64 lower-case hexadecimal digits, got {key!r}", key)
    return bytes.fromhex(key)


def _seconds(day: str) -> int:
    try:
        return int(datetime.combine(date.fromisoformat(day), datetime.min.time(), UTC).timestamp())
    except ValueError as error:
        raise InvalidValue(f"write the day as 2027-11-28, got {day!r}", day) from error


def _print(document: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(document)
        return
    for name, value in document.items():
        if value is not None:
            shown = moment(value) if name in ("at", "until", "expires") else value
            console.print(f"{name:8} {shown}", highlight=False, markup=False, soft_wrap=True)
