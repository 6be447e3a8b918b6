"""/console/campaigns/{id}/estimate: the answers as a table and as a picture"""

from __future__ import annotations

import csv
import io
import json
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from sordino_analysis.charts import EstimateChart, draw_estimate
from sordino_server.campaigns import service as campaigns
from sordino_server.console.console_route import Analyst, ConsoleRoute
from sordino_server.console.pages import ConsolePage, page, show
from sordino_server.context import Context, Injected
from sordino_server.errors import ServerError
from sordino_server.estimates import service
from sordino_server.estimates.schemas import EstimateDocument
from sordino_server.estimates.table import as_csv
from sordino_server.identifiers import DigestPath
from sordino_shared.protocol import Problem

router = APIRouter(prefix="/console", route_class=ConsoleRoute)

# More rows are read by nobody; the CSV has all.
SHOWN_ROWS = 500
# A picture is a document of its own: its styles are inside, and it loads nothing.
_PICTURE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}


@page(router, "/campaigns/{campaign_id}/estimate")
def get_estimate(visitor: Analyst, request: Request, context: Injected, campaign_id: DigestPath) -> Response:
    """The estimate of a campaign: the bytes and the table that the API has."""
    content, name = _stored(context, campaign_id)
    in_html = request.url.path.endswith("/estimate")
    shown = ConsolePage(
        template="estimate.html",
        title=f"Estimate of {name}",
        json=lambda: content,
        csv=partial(as_csv, content),
        values={"campaign": campaign_id} | _values(content) if in_html else {},
    )
    return show(request, visitor, shown)


@router.get("/campaigns/{campaign_id}/estimate.svg")
def draw(_: Analyst, context: Injected, campaign_id: DigestPath) -> Response:
    """The answers with their intervals and band as a picture; 404 for an estimate that is no list of answers."""
    content, name = _stored(context, campaign_id)
    estimate = _answers(content)
    if estimate is None:
        raise ServerError(Problem.NOT_FOUND, "this estimate is no list of answers; its table has all of it")
    chart = EstimateChart(
        title=name,
        subtitle=f"{estimate.workload}, {estimate.users:,} users, ε = {estimate.epsilon:g}",
        level=estimate.level,
        labels=[each.label for each in estimate.queries],
        values=[each.value for each in estimate.queries],
        intervals=[each.interval for each in estimate.queries],
        bands=[each.band for each in estimate.queries],
    )
    return Response(draw_estimate(chart), headers=_PICTURE_HEADERS, media_type="image/svg+xml")


def _stored(context: Context, campaign_id: str) -> tuple[bytes, str]:
    """The estimate's bytes and the campaign's name; raises `not-found` or `estimate-not-ready`."""
    with context.database.read("console estimate") as session:
        name = campaigns.get(session, campaign_id).name
        return service.stored_last(session, campaign_id, context.clock.now()), name


def _answers(content: bytes) -> EstimateDocument | None:
    """The estimate of linear queries; None for any other kind, which has no `queries`, and for one without answers."""
    try:
        estimate = EstimateDocument.model_validate_json(content)
    except ValidationError:
        return None
    return estimate if estimate.queries else None


def _values(content: bytes) -> dict[str, Any]:
    """What the template shows: the first answers, or the first rows of the table of another kind of estimate."""
    estimate = _answers(content)
    if estimate is not None:
        count = len(estimate.queries)
        answers = estimate.queries[:SHOWN_ROWS]
        return {"document": estimate, "drawable": True, "answers": answers, "count": count, "shown": len(answers)}
    header, *rows = csv.reader(io.StringIO(as_csv(content)))
    shown = rows[:SHOWN_ROWS]
    table = {"header": header, "rows": shown, "count": len(rows), "shown": len(shown)}
    return {"document": json.loads(content), "drawable": False} | table
