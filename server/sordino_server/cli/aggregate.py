"""`sordino aggregate`: the sums of an archive."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from sordino_server.cli.aggregates import NumberOption, renamed
from sordino_server.cli.output import JsonOption, print_json, reports_errors, say
from sordino_server.kit.cores import usable_cores
from sordino_shared.errors import InvalidValue

_PARTS = re.compile(r"([0-9]+)(?:-([0-9]+))?")


@reports_errors
def aggregate(
    source: Annotated[
        str, typer.Option("--from", metavar="URL", help="The folder that `sordino export reports` printed.")
    ],
    output: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the sums to this file.")] = None,
    parts: Annotated[
        str | None, typer.Option(metavar="A-B", help="Only these parts, counted from 0; default: all.")
    ] = None,
    processes: Annotated[
        int, typer.Option(min=0, max=1024, metavar="N", help="Processes; 0: as many as there are cores.")
    ] = 0,
    name: Annotated[
        str | None, typer.Option("--source", metavar="NAME", help="The source of the campaign that the sums are of.")
    ] = None,
    number: NumberOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add up the reports of an archive, without a database.

    Example:

        sordino aggregate --from lake/campaign=3f0c9a71/round=0

    Each part is checked against the manifest first. Several machines may take ranges of parts each:
    `sordino aggregates add` puts their sums together, to the same bytes.
    """
    from sordino_analysis.archive.archive import Archive
    from sordino_server.cli.progress_bar import displayed_progress

    if output is not None and output.exists():
        raise InvalidValue(f"{output} exists: choose another file", output)
    archive = Archive.open(source)
    numbers = archive.chosen(*_range(parts))
    with displayed_progress("adding up") as show:
        sums = renamed(archive.sums(numbers, processes or usable_cores(), show), name, number)
    if output is not None:
        output.write_bytes(sums.content)
    if as_json:
        summed = {"campaign": str(sums.campaign), "round": sums.round, "device": str(sums.device_digest)}
        counted = {"reports": sums.count, "parts": list(sums.parts), "parts_in_all": sums.parts_in_all}
        print_json(summed | counted | {"manifest": str(sums.manifest), "digest": str(sums.digest)})
        return
    say(f"{sums.count:,} reports of {len(numbers)} parts" + ("" if output is None else f" are added up in {output}"))
    typer.echo(str(sums.digest))


def _range(text: str | None) -> tuple[int | None, int | None]:
    """First and last part; raises InvalidValue for anything but a number or two with a hyphen."""
    if text is None:
        return None, None
    found = _PARTS.fullmatch(text)
    if not found:
        raise InvalidValue(f"--parts {text}: give a range such as 0-99, or one number", text)
    return int(found[1]), int(found[2] or found[1])
