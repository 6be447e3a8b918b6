"""`sordino datasets`: rows that a server holds, their cap and their releases, through the REST API."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from pydantic import ValidationError

from sordino_analysis.figures import chosen
from sordino_server.cli.estimate_text import print_estimate
from sordino_server.cli.output import command_group, fail, moment
from sordino_server.cli.remote import Remote
from sordino_server.cli.remote_command import Csv, Listing, Shown, remote_command
from sordino_server.populations.names import identifier_of
from sordino_shared.errors import InvalidValue
from sordino_shared.quantities import quantity

app = command_group(
    "datasets",
    help="Add rows that the server holds sealed, cap the ρ or ε of all releases from them, and read what was released.",
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
@remote_command
def add(
    remote: Remote,
    csv: Annotated[Path, typer.Argument(metavar="CSV", help="CSV file with a header; each line is one row.")],
    spec: SpecOption,
    column: ColumnOption = [],  # noqa: B006
) -> Shown:
    """Add a dataset. The server counts the rows and seals the counts; the file is not kept.

    Example:

        sordino datasets add flights.csv --spec dataset.yaml

    Requires an admin's key, and SORDINO_DATASET_KEY on the server.
    """
    return _shown(remote.post("/v1/datasets", read_dataset(csv, spec, column)))


@app.command("list")
@remote_command
def list_datasets(remote: Remote) -> Shown:
    """List datasets, newest first."""
    datasets = list(remote.listed("/v1/datasets", "datasets"))
    rows = ((each["name"], moment(each["created_at"]), "deleted" if each["deleted_at"] else "") for each in datasets)
    return {"datasets": datasets}, Listing(("name", "added", "rows"), rows)


@app.command()
@remote_command
def show(remote: Remote, name: NameArgument) -> Shown:
    """Show a dataset: its terms, its cap and what is spent of it."""
    return _shown(remote.get(path_of(name)))


@app.command()
@remote_command
def update(
    remote: Remote,
    name: NameArgument,
    cap: Annotated[
        str | None,
        typer.Option(metavar="R", help="Largest total ρ, at least what is spent, of a dataset that counts ρ."),
    ] = None,
    cap_epsilon: Annotated[
        str | None, typer.Option(metavar="E", help="Largest total ε of a dataset that counts pure ε.")
    ] = None,
) -> Shown:
    """Change the cap of a dataset.

    Requires an admin's key.
    """
    if (cap is None) == (cap_epsilon is None):
        fail("give --cap, the largest total ρ, or --cap-epsilon, as the dataset counts", code=2)
    before = remote.get(path_of(name))
    change = {"rho": cap} if cap_epsilon is None else {"epsilon": cap_epsilon}
    return _shown(remote.patch(path_of(name), change, f'"{before["version"]}"'))


@app.command()
@remote_command
def delete(remote: Remote, name: NameArgument) -> Shown:
    """Delete the rows of a dataset. What is spent stays spent, also if rows are added again.

    Requires an admin's key.
    """
    remote.delete(path_of(name))
    return _shown(remote.get(path_of(name)))


@app.command()
@remote_command
def ledger(remote: Remote, name: NameArgument) -> Shown:
    """List what releases from a dataset spent, newest first."""
    entries = list(remote.listed(f"{path_of(name)}/ledger", "entries"))
    rows = ((entry["release"], amount_of(entry), moment(entry["spent_at"])) for entry in entries)
    return {"entries": entries}, Listing(("release", "spent", "at"), rows)


@app.command()
@remote_command
def releases(remote: Remote, name: NameArgument) -> Shown:
    """List the releases from a dataset, newest first."""
    found = list(remote.listed(f"{path_of(name)}/releases", "releases"))
    rows = ((each["id"], each["state"], amount_of(each), moment(each["created_at"])) for each in found)
    return {"releases": found}, Listing(("release", "state", "keeps", "asked for at"), rows)


@app.command()
@remote_command
def release(remote: Remote, release: ReleaseArgument) -> Shown:
    """Show how far a release is."""
    status = remote.get(f"/v1/releases/{quote(release, safe='')}")
    return status, _release_lines(status)


@app.command()
@remote_command
def answers(
    remote: Remote,
    release: ReleaseArgument,
    csv: Annotated[bool, typer.Option("--csv", help="Print a table as CSV instead.")] = False,
) -> Shown:
    """Print the answers of a release again."""
    path = f"/v1/releases/{quote(release, safe='')}/answers"
    if csv:
        return None, Csv(remote.text(path, format="csv"))
    document = remote.get(path)
    return document, partial(print_estimate, document)


@app.command()
@remote_command
def plan(
    remote: Remote,
    release: ReleaseArgument,
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder to write the plan to.", show_default=False)],
) -> Shown:
    """Write the plan of a release to a folder, where `sordino audit FOLDER` proves it."""
    # Imported here: it comes with the mathematics of plans, which the other commands do not need.
    from sordino_analysis.documents.curator_part import CuratorPart

    content = remote.content(f"/v1/releases/{quote(release, safe='')}/plan", CuratorPart.limit)
    digest = _write_plan(content, output)
    return {"folder": str(output), "digest": digest}, [f"plan {digest}, written to {output}/"]


def path_of(name: str) -> str:
    """Where the dataset of this name is."""
    # A name from a terminal with another encoding raises here, with advice, instead of naming no dataset.
    name.encode()
    return f"/v1/datasets/{identifier_of(name)}"


def _shown(dataset: dict[str, Any]) -> Shown:
    cap, unit = dataset["cap"], dataset["unit"]
    if dataset["deleted_at"]:
        rows = "rows were deleted"
    else:
        rows = "a secret number of rows" if dataset["rows"] is None else quantity(dataset["rows"], "row")
    kept = "the content of one" if dataset["neighbours"] == "replace" else "one, and whether it is there"
    return dataset, (
        dataset["name"],
        f"{rows}; each is one {unit}",
        f"protected: {kept} ({dataset['neighbours']} neighbours)",
        f"cap: {amount_of(cap)}; {symbol_of(cap)} = {chosen(cap['spent'])} spent",
        *(f"warning: {warning}" for warning in dataset["warnings"]),
    )


def read_dataset(csv: Path, spec: Path, columns: Sequence[str]) -> dict[str, Any]:
    """The order of the API; `columns` are ATTRIBUTE=COLUMN for attributes whose column has another name.

    Raises InvalidValue for terms that do not fit, and ColumnError, with the line, for rows that do not.
    """
    # Other commands need no numbers and should not wait for their libraries.
    from sordino_analysis.analyst.tables import device_values, read_table
    from sordino_analysis.questions.linear.attributes import readable
    from sordino_analysis.questions.linear.files import read_document
    from sordino_server.datasets.schemas import DatasetTerms

    document = read_document(spec)
    try:
        terms = DatasetTerms.model_validate(document)
    except ValidationError as error:
        raise InvalidValue(f"{spec}: {readable(error).replace('the workload', 'the dataset')}", str(spec)) from error
    domain = terms.built()
    terms.cap.nano()
    places = _columns_of([attribute.name for attribute in domain.attributes], columns)
    table = read_table(csv, list(places.values()))
    rows = device_values(table, domain, places)
    held = {name: [row[name] for row in rows] for name in places}
    return terms.model_dump(mode="json", exclude_none=True) | {"columns": held}


def symbol_of(priced: Mapping[str, Any]) -> str:
    """ρ or ε, whichever a cap, an entry or a release has."""
    return "ε" if priced["rho"] is None else "ρ"


def amount_of(priced: Mapping[str, Any]) -> str:
    """`ρ = 0.02` or `ε = 1`."""
    return f"{symbol_of(priced)} = {chosen(priced['epsilon'] if priced['rho'] is None else priced['rho'])}"


def _columns_of(names: Sequence[str], columns: Sequence[str]) -> Mapping[str, str]:
    places = {name: name for name in names}
    for text in columns:
        name, sign, column = text.partition("=")
        if not sign or name not in places:
            raise InvalidValue(f"--column is ATTRIBUTE=COLUMN with one of {', '.join(names)}, got {text!r}", text)
        places[name] = column
    return places


def _release_lines(status: dict[str, Any]) -> list[str]:
    """How far a release is."""
    lines = [
        f"release {status['id']}: {status['state']}, {amount_of(status)}",
        f"workload {status['workload']}",
    ]
    return [*lines, status["error"]] if status["error"] else lines


def _write_plan(content: bytes, folder: Path) -> str:
    """Write the files that `sordino audit` reads; gives the plan's digest."""
    digest = hashlib.sha256(content).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "curator.cbor").write_bytes(content)
    (folder / "plan.json").write_text(json.dumps({"digests": {"curator": digest}}) + "\n", encoding="utf-8")
    return digest
