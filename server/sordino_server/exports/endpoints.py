"""/v1/estimates"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from sordino_analysis.answers.columns import ColumnType
from sordino_analysis.answers.csv_text import CSV_TYPE, csv_lines
from sordino_server.context import Injected
from sordino_server.estimates.views import CSV_RESPONSES, NOT_STORED, wants_csv
from sordino_server.exports.service import MOST_CAMPAIGNS, Export, export_of
from sordino_server.identifiers import DigestText
from sordino_server.keys.authentication import Analyst
from sordino_server.keys.operator_route import OperatorRoute
from sordino_server.kit.db import Database

# Rows that are written at once: a few hundred kilobytes.
_ROWS = 500

router = APIRouter(prefix="/estimates", tags=["estimates"], route_class=OperatorRoute)

Campaigns = Annotated[
    list[DigestText],
    Query(min_length=1, max_length=MOST_CAMPAIGNS, description="Id of a campaign; repeat it for more."),
]
Form = Annotated[Literal["rows", "csv"] | None, Query(alias="format", description="Overrides the Accept header.")]


class ResultColumn(BaseModel):
    """A column of the table."""

    name: str
    type: ColumnType


class ResultDocument(BaseModel):
    """Estimates of several campaigns: a row for each query or statistic."""

    columns: list[ResultColumn]
    rows: list[dict[str, str | int | float | None]] = Field(
        description="Each has every column; a cell that says nothing is null. docs/results.md has the columns."
    )


@router.get("", response_model=ResultDocument, responses=CSV_RESPONSES)
def export_estimates(
    context: Injected, _: Analyst, request: Request, campaign: Campaigns, form: Form = None
) -> StreamingResponse:
    """The estimates of closed campaigns as one table: a row for each query or statistic, the bounds as numbers."""
    export = export_of(context.database, campaign, context.clock.now())
    if wants_csv(request, form):
        lines = csv_lines(tuple(export.types), export.rows(context.database))
        return StreamingResponse(lines, headers=NOT_STORED, media_type=CSV_TYPE)
    return StreamingResponse(_json(export, context.database), headers=NOT_STORED, media_type="application/json")


def _json(export: Export, database: Database) -> Iterator[str]:
    """A ResultDocument in pieces."""
    yield f'{{"columns": {json.dumps([{"name": name, "type": kind} for name, kind in export.types.items()])}, "rows": ['
    rows = (dict(zip(export.types, row, strict=True)) for row in export.rows(database))
    separator = ""
    while piece := list(islice(rows, _ROWS)):
        yield separator + json.dumps(piece, ensure_ascii=False, allow_nan=False)[1:-1]
        separator = ", "
    yield "]}"
