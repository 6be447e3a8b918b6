"""`sordino aggregates`: sums that other machines made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sordino_server.cli.output import JsonOption, print_json, reports_errors, say
from sordino_shared.errors import InvalidValue, ProtocolError

app = typer.Typer(
    name="aggregates",
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Put sums together that several machines made of one archive.",
    no_args_is_help=True,
)


@app.callback()
def _sums() -> None:
    """A group, though it has one command so far."""


@app.command()
@reports_errors
def add(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files of `sordino aggregate --out`.")],
    output: Annotated[Path, typer.Option("--out", metavar="FILE", help="Write the sums to this file.")],
    as_json: JsonOption = False,
) -> None:
    """Add sums of different parts of one archive; each part counts once.

    Example:

        sordino aggregates add first.cbor second.cbor --out sums.cbor
    """
    from sordino_analysis.archive.aggregate_document import AggregateDocument, added

    if output.exists():
        raise InvalidValue(f"{output} exists: choose another file", output)
    documents = []
    for file in files:
        try:
            documents.append(AggregateDocument.read(file.read_bytes()))
        except ProtocolError as error:
            raise InvalidValue(f"{file} holds no sums of `sordino aggregate`: {error}", file) from error
    total = added(documents)
    output.write_bytes(total.content)
    if as_json:
        print_json({"reports": total.count, "missing_parts": total.missing, "digest": str(total.digest)})
        return
    missing = f"; {total.missing} of {total.parts_in_all} parts are still missing" if total.missing else ""
    say(f"{total.count:,} reports{missing}")
    typer.echo(str(total.digest))
