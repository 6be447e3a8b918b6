"""`sordino pool`: one answer from campaigns that asked the people of several regions the same."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.estimation.pooling import RegionEstimate, pooled
from sordino_analysis.figures import amount, span
from sordino_analysis.kinds.linear import LinearExtras
from sordino_analysis.kinds.reading import UnreadableEstimate, read_estimate
from sordino_analysis.percentages import percent
from sordino_server.cli.output import JsonOption, console, print_json, print_listing, reports_errors
from sordino_shared.errors import InvalidValue
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
    found = pooled([_region_of(str(file), file.read_bytes()) for file in files])
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


def _region_of(name: str, content: bytes) -> RegionEstimate:
    """The estimate in a file called `name`.

    Raises InvalidValue for anything but an estimate of linear queries, and for one that does not list all queries.
    """
    advice = "give what `sordino campaigns estimates --json` printed"
    try:
        estimate = read_estimate(content)
    except UnreadableEstimate as error:
        raise InvalidValue(f"{name} holds no estimate of linear queries ({error.reason}): {advice}", name) from error
    if not isinstance(estimate.extras, LinearExtras):
        raise InvalidValue(f"{name} holds no estimate of linear queries but of kind {estimate.kind}: {advice}", name)
    return _region(name, estimate)


def _region(name: str, estimate: EstimateDocument) -> RegionEstimate:
    terms, table = estimate.terms, estimate.table
    unlisted, compared, bias = terms["unlisted"], terms["compared"], terms["bias_bound"]
    assert isinstance(unlisted, int)
    assert isinstance(compared, int)
    assert isinstance(bias, float | int)
    if unlisted:
        raise InvalidValue(
            f"{name} leaves out {quantity(unlisted, 'query')}, and each campaign may leave out others: "
            "they cannot be pooled",
            name,
        )
    return RegionEstimate(
        campaign=str(terms["campaign_id"]),
        users=estimate.users,
        level=estimate.table.level,
        compared=compared,
        bias_bound=bias,
        labels=tuple(map(str, table.cells("label"))),
        units=tuple(str(unit or "") for unit in table.cells("unit")),
        values=np.array(estimate.table.numbers("uncut")),
        standard_errors=np.array(estimate.table.numbers("standard_error")),
        population_standard_errors=np.array(estimate.table.numbers("population_standard_error")),
    )
