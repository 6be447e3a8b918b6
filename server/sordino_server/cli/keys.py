"""`sordino keys`: operators' keys, directly in the database: the first key cannot be created through the API."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer
from sqlalchemy.orm import Session

from sordino_server.cli.campaign_argument import campaign_in
from sordino_server.cli.output import (
    JsonOption,
    command_group,
    console,
    moment,
    print_json,
    print_listing,
    reports_errors,
    say,
)
from sordino_server.cli.processes import prepare_schema, started
from sordino_server.keys import repository, service
from sordino_server.keys.schemas import KeyDocument
from sordino_server.keys.source_terms import source_terms
from sordino_server.kit.clock import WallClock
from sordino_server.kit.db import Database
from sordino_server.kit.pagination import MAX_PAGE, Page, Position
from sordino_server.models import Key, Role
from sordino_shared.quantities import duration

app = command_group(
    "keys", help="Create, list, rotate and revoke operators' keys in the database SORDINO_DATABASE_URL."
)


@app.command()
@reports_errors
def create(
    role: Annotated[Role, typer.Option(metavar="ROLE", help=f"One of {', '.join(Role)}. admin includes analyst.")],
    name: Annotated[str, typer.Option(metavar="TEXT", help="Who or what uses the key.")],
    campaign: Annotated[
        str | None,
        typer.Option(
            metavar="CAMPAIGN",
            help="Role uploader: the campaign for which the key is the upload token. Role aggregator: its campaign. An "
            "id, the first digits of one, or a name.",
        ),
    ] = None,
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="Role aggregator: the source whose sums are sent with the key.")
    ] = None,
    max_reports: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Role aggregator: the most reports of a round that the source may have."),
    ] = None,
    expires_in_days: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=36500,
            metavar="N",
            help="Days after which the key opens nothing, 0 for no end; default: 365 for admin and analyst, else 0.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Create a key and print it. It is shown only once: the server stores its hash.

    Example:

        export SORDINO_KEY=$(sordino keys create --role admin --name me)
        sordino keys create --role analyst --name "Ada's laptop" --expires-in-days 90

    An analyst runs campaigns. An admin also creates keys and sets the caps of populations. An uploader only sends
    reports. An aggregator only sends the sums of one source of one campaign.
    """
    database = _database()
    terms = source_terms(source, max_reports)
    now = WallClock().now()
    expires_at = service.default_end(role, now) if expires_in_days is None else _end(now, expires_in_days)
    with database.write("create key") as session:
        whole = None if campaign is None else campaign_in(session, campaign)
        new = service.create(session, name, role, now, whole, terms, expires_at=expires_at)
        _record(session, new.key, "create key", now, after=service.terms_of(new.key))
        document = _plain(KeyDocument.of(new.key))
    if as_json:
        print_json(document | {"key": new.text})
        return
    end = "" if expires_at is None else f", until {moment(expires_at)}"
    say(f"key {new.key.id} ({role}{end}); it is shown only once, store it safely:")
    typer.echo(new.text)


@app.command("list")
@reports_errors
def list_keys(as_json: JsonOption = False) -> None:
    """List keys, newest first, without their secrets. The last use is right to five minutes."""
    documents = _all(_database())
    if as_json:
        print_json({"keys": [_plain(document) for document in documents]})
        return
    print_listing(("id", "role", "name", "made at", "last used", "state", "campaign"), map(_row, documents))


@app.command()
@reports_errors
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="KEY_ID", help="Id of the key, from `sordino keys list`.")],
    as_json: JsonOption = False,
) -> None:
    """Revoke a key permanently, or keep a person out.

    The last admin's key too, which the API and the console refuse.
    """
    now = WallClock().now()
    with _database().write("revoke key") as session:
        key, changed = service.revoke(session, key_id, now, on_machine=True)
        if changed:
            _record(session, key, "revoke key", now, before=service.terms_of(key), after={"revoked_at": now})
        document = KeyDocument.of(key)
        lacks_admin = service.lacks_admin(session, now)
    if lacks_admin:
        say("no key of role admin is left: nobody can create keys or set caps until `sordino keys create --role admin`")
    if as_json:
        print_json(_plain(document))
        return
    console.print(f"key {document.id} is revoked", highlight=False)


@app.command()
@reports_errors
def rotate(
    key_id: Annotated[str, typer.Argument(metavar="KEY_ID", help="Id of the key, from `sordino keys list`.")],
    overlap_hours: Annotated[
        float, typer.Option(min=0, max=8760, metavar="HOURS", help="Hours that the old key still opens.")
    ] = 24.0,
    as_json: JsonOption = False,
) -> None:
    """Create a successor of a key, with its role, name and campaign, and end the old one.

    Example:

        sordino keys rotate 5d41402abc4b2a76 --overlap-hours 24

    Both open until the overlap is over. What was answered to an idempotency key of one is answered to the other. A key
    that has a successor is not rotated again: rotate the successor.
    """
    now, overlap_s = WallClock().now(), round(overlap_hours * 3600)
    with _database().write("rotate key") as session:
        new = service.rotate(session, key_id, now, overlap_s)
        _record(session, new.key, "rotate key", now, after=service.terms_of(new.key) | {"replaces": key_id})
        document = _plain(KeyDocument.of(new.key))
    if as_json:
        print_json(document | {"key": new.text, "replaces": key_id})
        return
    say(f"key {new.key.id} takes the place of {key_id}, which ends in {duration(overlap_s)}; it is shown only once:")
    typer.echo(new.text)


def _record(session: Session, key: Key, action: str, now: int, **change: dict[str, Any]) -> None:
    """Into the audit log, as somebody on the server's machine."""
    service.record(session, key, action, f"/v1/keys/{key.id}", now, actor=f"shell:{os.getuid()}", **change)


def _end(now: int, days: int) -> int | None:
    return now + days * 86400 if days else None


def _database() -> Database:
    """The existing database: a key in a new one, made by mistake in the wrong folder, would open nothing."""
    _, database = started()
    database.check_exists()
    prepare_schema(database, migrate=True)
    return database


def _all(database: Database) -> list[KeyDocument]:
    documents: list[KeyDocument] = []
    after: Position | None = None
    while True:
        page = Page(MAX_PAGE, after)
        with database.read("list keys") as session:
            rows, token = repository.listed(session, page)
        documents += [KeyDocument.of(row) for row in rows]
        if token is None:
            return documents
        after = Position.parse(token)


def _row(document: KeyDocument) -> tuple[str, ...]:
    used = "never" if document.last_used_at is None else moment(document.last_used_at)
    opens = document.campaign or ("all" if document.role is Role.UPLOADER else "")
    opens = f"{document.source} of {opens}" if document.source else opens
    return document.id, document.role, document.name, moment(document.created_at), used, _state(document), opens


def _state(document: KeyDocument) -> str:
    if document.revoked_at is not None:
        return "revoked"
    if document.expires_at is None:
        return "in use"
    over = document.expires_at <= WallClock().now()
    return f"{'expired' if over else 'in use until'} {moment(document.expires_at)}"


def _plain(document: KeyDocument) -> dict[str, Any]:
    return document.model_dump(mode="json")
