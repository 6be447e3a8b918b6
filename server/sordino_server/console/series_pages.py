"""/console/campaigns/{id}/series: the periods of a series, their windows and its trend"""

from __future__ import annotations

import anyio.to_thread
from fastapi import APIRouter, Request, Response

from sordino_analysis.answers.svg import is_drawable
from sordino_analysis.kinds.registry import kind_of_answers
from sordino_analysis.kinds.series import periods_of
from sordino_server.answers import picture
from sordino_server.answers.endpoints import SeriesQuery
from sordino_server.answers.series import series_document
from sordino_server.answers.stored import read_estimate
from sordino_server.answers.views import table_text
from sordino_server.campaigns import service as campaigns
from sordino_server.console.console_route import Analyst, ConsoleRoute
from sordino_server.console.pages import ConsolePage, page
from sordino_server.console.picture_endpoints import svg
from sordino_server.context import Context, Injected
from sordino_server.kit.path_parameters import DigestPath

router = APIRouter(prefix="/console", route_class=ConsoleRoute)


@page(router, "/campaigns/{campaign_id}/series", "series.html")
async def get_series(
    _: Analyst, request: Request, context: Injected, campaign_id: DigestPath, question: SeriesQuery
) -> ConsolePage:
    """The document of the API as a page; the CSV has a row for each answer."""
    name = await anyio.to_thread.run_sync(_name, context, campaign_id)
    content = await series_document(context, campaign_id, question)
    estimate = read_estimate(content)
    kind = kind_of_answers(estimate.kind)
    values = {
        "campaign": campaign_id,
        "name": name,
        "periods": periods_of(estimate),
        "asked": question,
        "query": request.query_params.multi_items(),
        "statements": kind.statements(estimate),
        "tables": kind.tables(estimate, None),
        "newest_first": kind.oldest_first,
        "drawable": is_drawable(estimate.table),
    }
    return ConsolePage(title=f"Series {name}", document=content, rows=lambda: table_text(content), values=values)


@router.get("/campaigns/{campaign_id}/series.svg")
async def draw_series(_: Analyst, context: Injected, campaign_id: DigestPath, question: SeriesQuery) -> Response:
    """Each answer over the periods, with windows and their band."""
    name = await anyio.to_thread.run_sync(_name, context, campaign_id)
    return svg(picture.draw(await series_document(context, campaign_id, question), name))


def _name(context: Context, campaign_id: str) -> str:
    with context.database.read("console series") as session:
        return campaigns.get(session, campaign_id).name
