"""`sordino plan-requests`: the plans that a server computes, through the REST API."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any

import typer

from sordino_analysis.percentages import percent
from sordino_server.cli.output import JsonOption, console, print_json, print_listing, reports_errors
from sordino_server.cli.remote import DEFAULT_SERVER, KeyOption, Remote, ServerOption

app = typer.Typer(
    name="plan-requests",
    add_completion=False,
    pretty_exceptions_enable=False,
    help="List, show and cancel the plans that a server computes. Uses SORDINO_SERVER and SORDINO_KEY.",
    no_args_is_help=True,
)
RequestArgument = Annotated[str, typer.Argument(metavar="ID", help="Id of the plan request.")]


@app.command("list")
@reports_errors
def list_plan_requests(
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Print at most the N newest.")] = 50,
    server: ServerOption = DEFAULT_SERVER,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """List plan requests, newest first."""
    with Remote(server, key) as remote:
        requests = list(islice(remote.listed("/v1/plan-requests", "plan_requests"), limit))
    if as_json:
        print_json({"plan_requests": requests})
        return
    columns = ("id", "state", "stage", "created")
    print_listing(columns, ([request[name] for name in columns] for request in requests))


@app.command()
@reports_errors
def show(
    request: RequestArgument,
    server: ServerOption = DEFAULT_SERVER,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a plan request: its progress, or what came of it."""
    with Remote(server, key) as remote:
        _print(remote.get(f"/v1/plan-requests/{request}"), as_json)


@app.command()
@reports_errors
def cancel(
    request: RequestArgument,
    server: ServerOption = DEFAULT_SERVER,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Cancel a plan request that is not finished; a worker that computes it stops within seconds."""
    with Remote(server, key) as remote:
        _print(remote.post(f"/v1/plan-requests/{request}/cancel"), as_json)


def _print(document: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(document)
        return
    done = "" if document["state"] != "running" else f", {percent(document['progress'], 0)} ({document['stage']})"
    lines = [f"plan request {document['id']}: {document['state']}{done}", f"workload {document['workload']}"]
    lines += [
        f"{part} part {document[f'{part}_digest']}" for part in ("device", "analyst") if document[f"{part}_digest"]
    ]
    lines += [document["error"]] if document["error"] else []
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
