"""`sordino plan-requests`: the plans that a server computes, through the REST API."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

import typer

from sordino_analysis.percentages import percent
from sordino_server.cli.output import command_group
from sordino_server.cli.remote import Remote
from sordino_server.cli.remote_command import Listing, Shown, remote_command

app = command_group(
    "plan-requests", help="List, show and cancel the plans that a server computes. Uses SORDINO_SERVER and SORDINO_KEY."
)
RequestArgument = Annotated[str, typer.Argument(metavar="ID", help="Id of the plan request.")]


@app.command("list")
@remote_command
def list_plan_requests(
    remote: Remote, limit: Annotated[int, typer.Option(min=1, metavar="N", help="Print at most the N newest.")] = 50
) -> Shown:
    """List plan requests, newest first."""
    requests = list(islice(remote.listed("/v1/plan-requests", "plan_requests"), limit))
    return {"plan_requests": requests}, Listing.of(requests, "id", "state", "stage", "created")


@app.command()
@remote_command
def show(remote: Remote, request: RequestArgument) -> Shown:
    """Show a plan request: its progress, or what came of it."""
    document = remote.get(f"/v1/plan-requests/{request}")
    return document, _lines(document)


@app.command()
@remote_command
def cancel(remote: Remote, request: RequestArgument) -> Shown:
    """Cancel a plan request that is not finished; a worker that computes it stops within seconds."""
    document = remote.post(f"/v1/plan-requests/{request}/cancel")
    return document, _lines(document)


def _lines(document: dict[str, Any]) -> Iterator[str]:
    done = "" if document["state"] != "running" else f", {percent(document['progress'], 0)} ({document['stage']})"
    yield f"plan request {document['id']}: {document['state']}{done}"
    yield f"workload {document['workload']}"
    for part in ("device", "analyst"):
        if document[f"{part}_digest"]:
            yield f"{part} part {document[f'{part}_digest']}"
    if document["error"]:
        yield document["error"]
