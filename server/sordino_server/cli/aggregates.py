"""`sordino aggregates`: sums that other machines made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sordino_server.cli.output import JsonOption, command_group, print_json, reports_errors, say
from sordino_server.cli.remote import Remote
from sordino_server.cli.remote_command import Shown, remote_command
from sordino_shared.errors import InvalidValue, ProtocolError
from sordino_shared.protocol import CBOR_MEDIA_TYPE
from sordino_shared.quantities import quantity

if TYPE_CHECKING:
    from sordino_analysis.archive.aggregate_document import AggregateDocument

app = command_group(
    "aggregates",
    help="Put sums together that several machines made of one archive, and add those of a source to a campaign.",
)


SourceOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The source of the campaign that the sums are of.", show_default=False),
]
NumberOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="N",
        help="Of two documents of a source the one with the higher number stands.",
        show_default=False,
    ),
]


@app.command()
@reports_errors
def add(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files of `sordino aggregate --output`.")],
    output: Annotated[Path, typer.Option(metavar="FILE", help="Write the sums to this file.")],
    source: SourceOption = None,
    number: NumberOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add sums of different parts of one archive; each part counts once.

    Example:

        sordino aggregates add first.cbor second.cbor --output sums.cbor
    """
    from sordino_analysis.archive.aggregate_document import added

    if output.exists():
        raise InvalidValue(f"{output} exists: choose another file", output)
    total = renamed(added([_document(file) for file in files]), source, number)
    output.write_bytes(total.content)
    if as_json:
        print_json({"reports": total.count, "missing_parts": total.missing, "digest": str(total.digest)})
        return
    missing = f"; still missing: {total.missing} of {quantity(total.parts_in_all, 'part')}" if total.missing else ""
    say(f"{quantity(total.count, 'report')}{missing}")
    typer.echo(str(total.digest))


@app.command("import")
@remote_command
def import_sums(
    remote: Remote,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Sums of a whole round that name their source.")],
) -> Shown:
    """Add the sums of a source to a round of a running server.

    Example:

        sordino aggregates import eu.cbor

    The same file twice changes nothing. Needs a key of role aggregator for this campaign and source, or an admin's.
    Uses SORDINO_SERVER and SORDINO_KEY.
    """
    document = _document(file)
    path = f"/v1/campaigns/{document.campaign}/rounds/{document.round}/aggregates"
    taken = remote.send(path, document.content, CBOR_MEDIA_TYPE)

    def show() -> None:
        counted = f"{quantity(taken['reports'], 'report')} of {taken['source']} count in round {document.round}"
        say(f"{counted}, number {taken['number']}")
        typer.echo(taken["digest"])

    return taken, show


def renamed(sums: AggregateDocument, source: str | None, number: int | None) -> AggregateDocument:
    """The sums under another source and number, where these are given; raises InvalidValue for no name of a source."""
    changed = replace(sums, source=sums.source if source is None else source)
    return changed if number is None else replace(changed, number=number)


def _document(file: Path) -> AggregateDocument:
    from sordino_analysis.archive.aggregate_document import AggregateDocument

    try:
        return AggregateDocument.read(file.read_bytes())
    except ProtocolError as error:
        raise InvalidValue(f"{file} holds no sums of `sordino aggregate`: {error}", file) from error
