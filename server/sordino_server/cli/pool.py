"""`sordino pool`: one answer from campaigns that asked the people of several regions the same."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from sordino_analysis.figures import amount, span
from sordino_analysis.percentages import percent
from sordino_server.cli.output import JsonOption, console, print_json, print_listing, reports_errors
from sordino_shared.quantities import quantity


@reports_errors
def pool(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Outputs of `sordino campaigns estimates --json`.")
    ],
    as_json: JsonOption = False,
) -> None:
    """Pool the estimates of several campaigns, each weighted by its users.

    Example:

        sordino pool europe.json america.json

    The campaigns ask the same queries of different people, each by a plan of its own, on one server or on several. For
    linear queries this is the estimate of all reports together.
    """
    from sordino_analysis.estimation.pooling import pooled
    from sordino_server.estimates.regions import region_of

    found = pooled([region_of(str(file), file.read_bytes()) for file in files])
    columns: dict[str, Any] = {field.name: getattr(found, field.name) for field in fields(found)}
    if as_json:
        print_json({name: value.tolist() if hasattr(value, "tolist") else value for name, value in columns.items()})
        return
    figures = (found.values, found.standard_errors, found.intervals.tolist(), found.band.tolist())
    rows = zip(found.labels, found.units, *figures, strict=True)
    print_listing(
        ("query", "value", "standard error", f"{percent(found.level)} interval", f"{percent(found.level)} band"),
        (
            (label, amount(value, unit), amount(error, unit), span(interval, unit), span(band, unit))
            for label, unit, value, error, interval, band in rows
        ),
    )
    console.print(f"{quantity(found.users, 'user')} of {quantity(len(files), 'campaign')}", highlight=False)
