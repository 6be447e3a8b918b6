"""`sordino audit-log`: what operators changed, through the REST API."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer

from sordino_server.cli.output import JsonOption, print_json, print_listing, reports_errors
from sordino_server.cli.remote import DEFAULT_SERVER, KeyOption, Remote, ServerOption


@reports_errors
def audit_log(
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Print at most the N newest entries.")] = 50,
    server: ServerOption = DEFAULT_SERVER,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print what operators changed: when, by which key, and what. Newest first.

    Requires an admin's key.
    """
    with Remote(server, key) as remote:
        entries = list(islice(remote.listed("/v1/audit-log", "entries"), limit))
    if as_json:
        print_json({"entries": entries})
        return
    columns = ("created", "key_name", "key_id", "action", "path")
    print_listing(columns, ([entry[name] for name in columns] for entry in entries))
