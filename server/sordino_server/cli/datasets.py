"""`sordino datasets`: rows that a server holds, their cap on ρ and their releases, through the REST API."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from sordino_server.cli.dataset_file import read_dataset
from sordino_server.cli.output import JsonOption, console, moment, print_json, print_listing, reports_errors
from sordino_server.cli.release_results import print_answers, print_release, write_plan
from sordino_server.cli.remote import DEFAULT_SERVER, KeyOption, Remote, ServerOption
from sordino_server.populations.names import identifier_of
from sordino_shared.quantities import quantity

app = typer.Typer(
    name="datasets",
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Add rows that the server holds sealed, cap the ρ of all releases from them, and read what was released.",
    no_args_is_help=True,
)
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of the dataset.")]
ReleaseArgument = Annotated[str, typer.Argument(metavar="RELEASE", help="Id of the release.")]
SpecOption = Annotated[
    Path,
    typer.Option(metavar="PATH", help="YAML file: name, domain, unit, neighbours, cap.", show_default=False),
]
ColumnOption = Annotated[
    list[str],
    typer.Option(metavar="ATTRIBUTE=COLUMN", help="Column of an attribute that has another name; may be repeated."),
]


@app.command()
@reports_errors
def add(
    csv: Annotated[Path, typer.Argument(metavar="CSV", help="CSV file with a header; each line is one row.")],
    spec: SpecOption,
    column: ColumnOption = [],  # noqa: B006
    server: ServerOption = DEFAULT_SERVER,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a dataset. The server counts the rows and seals the counts; the file is not kept.

    Example:

        sordino datasets add flights.csv --spec dataset.yaml

    Requires an admin's key, and SORDINO_DATASET_KEY on the server.
    """
    order = read_dataset(csv, spec, column)
    with Remote(server, key) as remote:
        _print(remote.post("/v1/datasets", order), as_json)


@app.command("list")
@reports_errors
def list_datasets(server: ServerOption = DEFAULT_SERVER, key: KeyOption = None, as_json: JsonOption = False) -> None:
    """List datasets, newest first."""
    with Remote(server, key) as remote:
        datasets = list(remote.listed("/v1/datasets", "datasets"))
    if as_json:
        print_json({"datasets": datasets})
        return
    rows = ((each["name"], moment(each["created_at"]), "deleted" if each["deleted_at"] else "") for each in datasets)
    print_listing(("name", "added", "rows"), rows)


@app.command()
@reports_errors
def show(
    name: NameArgument, server: ServerOption = DEFAULT_SERVER, key: KeyOption = None, as_json: JsonOption = False
) -> None:
    """Show a dataset: its terms, its cap and the ρ that is spent."""
    with Remote(server, key) as remote:
        _print(remote.get(path_of(name)), as_json)


@app.command()
@reports_errors
def update(
    name: NameArgument,
    cap: Annotated[str, typer.Option(metavar="R", help="Largest total ρ, at least what is spent.")],
    server: ServerOption = DEFAULT_SERVER,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change the cap of a dataset.

    Requires an admin's key.
    """
    with Remote(server, key) as remote:
        before = remote.get(path_of(name))
        _print(remote.patch(path_of(name), {"rho": cap}, f'"{before["version"]}"'), as_json)


@app.command()
@reports_errors
def delete(
    name: NameArgument, server: ServerOption = DEFAULT_SERVER, key: KeyOption = None, as_json: JsonOption = False
) -> None:
    """Delete the rows of a dataset. The ρ that is spent stays spent, also if rows are added again.

    Requires an admin's key.
    """
    with Remote(server, key) as remote:
        remote.delete(path_of(name))
        _print(remote.get(path_of(name)), as_json)


@app.command()
@reports_errors
def ledger(
    name: NameArgument, server: ServerOption = DEFAULT_SERVER, key: KeyOption = None, as_json: JsonOption = False
) -> None:
    """List what releases from a dataset spent, newest first."""
    with Remote(server, key) as remote:
        entries = list(remote.listed(f"{path_of(name)}/ledger", "entries"))
    if as_json:
        print_json({"entries": entries})
        return
    rows = ((entry["release"], f"{entry['rho']:g}", moment(entry["spent_at"])) for entry in entries)
    print_listing(("release", "ρ", "spent at"), rows)


@app.command()
@reports_errors
def releases(
    name: NameArgument, server: ServerOption = DEFAULT_SERVER, key: KeyOption = None, as_json: JsonOption = False
) -> None:
    """List the releases from a dataset, newest first."""
    with Remote(server, key) as remote:
        found = list(remote.listed(f"{path_of(name)}/releases", "releases"))
    if as_json:
        print_json({"releases": found})
        return
    rows = ((each["id"], each["state"], f"{each['rho']:g}", moment(each["created_at"])) for each in found)
    print_listing(("release", "state", "ρ", "asked for at"), rows)


@app.command()
@reports_errors
def release(
    release: ReleaseArgument,
    server: ServerOption = DEFAULT_SERVER,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how far a release is."""
    with Remote(server, key) as remote:
        print_release(remote.get(f"/v1/releases/{quote(release, safe='')}"), as_json)


@app.command()
@reports_errors
def answers(
    release: ReleaseArgument,
    csv: Annotated[bool, typer.Option("--csv", help="Print a table as CSV instead.")] = False,
    server: ServerOption = DEFAULT_SERVER,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the answers of a release again."""
    path = f"/v1/releases/{quote(release, safe='')}/answers"
    with Remote(server, key) as remote:
        if csv:
            typer.echo(remote.text(path, format="csv"), nl=False)
            return
        print_answers(remote.get(path), as_json)


@app.command()
@reports_errors
def plan(
    release: ReleaseArgument,
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder to write the plan to.", show_default=False)],
    server: ServerOption = DEFAULT_SERVER,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the plan of a release to a folder, where `sordino audit FOLDER` proves it."""
    # Imported here: it comes with the mathematics of plans, which the other commands do not need.
    from sordino_analysis.documents.curator_part import CuratorPart

    with Remote(server, key) as remote:
        content = remote.content(f"/v1/releases/{quote(release, safe='')}/plan", CuratorPart.limit)
    digest = write_plan(content, output)
    if as_json:
        print_json({"folder": str(output), "digest": digest})
        return
    console.print(f"plan {digest}, written to {output}/", highlight=False, markup=False, soft_wrap=True)


def path_of(name: str) -> str:
    """Where the dataset of this name is."""
    # A name from a terminal with another encoding raises here, with advice, instead of naming no dataset.
    name.encode()
    return f"/v1/datasets/{identifier_of(name)}"


def _print(dataset: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(dataset)
        return
    cap, unit = dataset["cap"], dataset["unit"]
    if dataset["deleted_at"]:
        rows = "rows were deleted"
    else:
        rows = "a secret number of rows" if dataset["rows"] is None else quantity(dataset["rows"], "row")
    kept = "the content of one" if dataset["neighbours"] == "replace" else "one, and whether it is there"
    lines = [
        dataset["name"],
        f"{rows}; each is one {unit}",
        f"protected: {kept} ({dataset['neighbours']} neighbours)",
        f"cap: ρ = {cap['rho']:g}; ρ = {cap['spent']:g} spent",
        *(f"warning: {warning}" for warning in dataset["warnings"]),
    ]
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
