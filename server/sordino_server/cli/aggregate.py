"""`sordino aggregate`: the sums of an archive."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sordino_server.cli.aggregates import NumberOption, renamed
from sordino_server.cli.output import JsonOption, print_json, reports_errors, say
from sordino_server.cli.unused_options import refuse_given
from sordino_server.kit.cores import usable_cores
from sordino_shared.errors import InvalidValue
from sordino_shared.quantities import quantity

if TYPE_CHECKING:
    from sordino_analysis.archive.engines import Engine

_PARTS = re.compile(r"([0-9]+)(?:-([0-9]+))?")


@reports_errors
def aggregate(
    context: typer.Context,
    source: Annotated[
        str, typer.Option("--from", metavar="URL", help="The folder that `sordino export reports` printed.")
    ],
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the sums to this file.")] = None,
    parts: Annotated[
        str | None, typer.Option(metavar="A-B", help="Only these parts, counted from 0; default: all.")
    ] = None,
    processes: Annotated[
        int, typer.Option(min=0, max=1024, metavar="N", help="Processes; 0: as many as there are cores.")
    ] = 0,
    engine: Annotated[
        Literal["processes", "spark"],
        typer.Option(help="Who adds up: processes of this machine, or a Spark cluster."),
    ] = "processes",
    master: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Spark's cluster, as spark://host:7077; default: this machine."),
    ] = None,
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
    `sordino aggregates add` puts their sums together, to the same bytes. A Spark cluster makes them too.
    """
    from sordino_analysis.archive.archive import Archive
    from sordino_server.cli.progress_bar import displayed_progress

    if engine == "processes":
        refuse_given(context, ["master"], "only --engine spark has one")
    if master is not None:
        refuse_given(context, ["processes"], "the cluster has its own")
    if output is not None and output.exists():
        raise InvalidValue(f"{output} exists: choose another file", output)
    archive = Archive.open(source)
    numbers = archive.chosen(*_range(parts))
    with _engine(engine, master, processes or usable_cores()) as chosen, displayed_progress("adding up") as show:
        sums = renamed(archive.sums(numbers, chosen, show), name, number)
    if output is not None:
        output.write_bytes(sums.content)
    if as_json:
        summed = {"campaign": str(sums.campaign), "round": sums.round, "device": str(sums.device_digest)}
        counted = {"reports": sums.count, "parts": list(sums.parts), "parts_in_all": sums.parts_in_all}
        print_json(summed | counted | {"manifest": str(sums.manifest), "digest": str(sums.digest)})
        return
    say(
        f"{quantity(sums.count, 'report')} of {quantity(len(numbers), 'part')}"
        + ("" if output is None else f" are added up in {output}")
    )
    typer.echo(str(sums.digest))


@contextmanager
def _engine(name: str, master: str | None, processes: int) -> Iterator[Engine]:
    from sordino_analysis.archive.engines import ProcessEngine
    from sordino_analysis.archive.spark import SparkEngine, spark_session

    if name == "processes":
        yield ProcessEngine(processes)
        return
    # Spark on one machine tries a task once unless told otherwise.
    with spark_session(master or f"local[{processes},4]") as session:
        yield SparkEngine(session)


def _range(text: str | None) -> tuple[int | None, int | None]:
    """First and last part; raises InvalidValue for anything but a number or two with a hyphen."""
    if text is None:
        return None, None
    found = _PARTS.fullmatch(text)
    if not found:
        raise InvalidValue(f"--parts {text}: give a range such as 0-99, or one number", text)
    return int(found[1]), int(found[2] or found[1])
