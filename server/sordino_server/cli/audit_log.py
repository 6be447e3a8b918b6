"""`sordino audit-log`: what operators changed, through the REST API."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer

from sordino_server.cli.remote import Remote
from sordino_server.cli.remote_command import Listing, Shown, remote_command


@remote_command
def audit_log(
    remote: Remote,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Print at most the N newest entries.")] = 50,
) -> Shown:
    """Print what operators changed: when, by which key, and what. Newest first.

    Requires an admin's key.
    """
    entries = list(islice(remote.listed("/v1/audit-log", "entries"), limit))
    return {"entries": entries}, Listing.of(entries, "created", "key_name", "key_id", "action", "path")
