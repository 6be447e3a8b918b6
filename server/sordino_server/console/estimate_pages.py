"""/console/campaigns/{id}/estimate: the answers as a table and as a picture"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import anyio.to_thread
from fastapi import APIRouter, Request, Response

from sordino_analysis.answers.svg import is_drawable
from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.kinds.registry import kind_named
from sordino_analysis.kinds.strings import StringExtras
from sordino_server.answers.export import parquet_bytes, table_of
from sordino_server.answers.stored import read_estimate, stored_last
from sordino_server.answers.views import table_text
from sordino_server.campaigns import service as campaigns
from sordino_server.console.console_route import Analyst, ConsoleRoute
from sordino_server.console.pages import ConsolePage, page
from sordino_server.context import Context, Injected
from sordino_server.errors import ServerError
from sordino_server.kit.path_parameters import DigestPath
from sordino_shared.protocol import Problem

router = APIRouter(prefix="/console", route_class=ConsoleRoute)

# More rows are read by nobody; the CSV has all.
SHOWN_ROWS = 500


@page(router, "/campaigns/{campaign_id}/estimate", "estimate.html")
def get_estimate(_: Analyst, request: Request, context: Injected, campaign_id: DigestPath) -> ConsolePage:
    """The estimate of a campaign: the bytes and the table that the API has."""
    content, name = _stored(context, campaign_id)
    in_html = request.url.path.endswith("/estimate")
    return ConsolePage(
        title=f"Estimate of {name}",
        document=content,
        rows=lambda: table_text(content),
        values=_of_page(request, campaign_id) | _values(content) if in_html else {},
    )


@router.get("/campaigns/{campaign_id}/estimate.parquet")
async def get_parquet(_: Analyst, context: Injected, campaign_id: DigestPath) -> Response:
    """The rows of `sordino export estimates` as Parquet; 404 where the server has no pyarrow."""
    if not _has_pyarrow():
        detail = "this server writes no Parquet: install the extra `lake` of sordino-server, or take the CSV"
        raise ServerError(Problem.NOT_FOUND, detail)
    table = await anyio.to_thread.run_sync(_table, context, campaign_id)
    content = await context.answers.run(parquet_bytes, table)
    named = f'attachment; filename="estimate-{campaign_id[:12]}.parquet"'
    headers = {"Content-Disposition": named, "Cache-Control": "no-store"}
    return Response(content, headers=headers, media_type="application/vnd.apache.parquet")


def _has_pyarrow() -> bool:
    return find_spec("pyarrow") is not None


def _table(context: Context, campaign_id: str) -> AnswerTable:
    return table_of(context.database, campaign_id, context.clock.now())


def _of_page(request: Request, campaign_id: str) -> dict[str, Any]:
    address = str(request.base_url)
    return {"campaign": campaign_id, "parquet": _has_pyarrow(), "copies": _copies(address, campaign_id)}


def _stored(context: Context, campaign_id: str) -> tuple[bytes, str]:
    """The estimate's bytes and the campaign's name; raises `not-found` or `estimate-not-ready`."""
    with context.database.read("console estimate") as session:
        name = campaigns.get(session, campaign_id).name
        return stored_last(session, campaign_id, context.clock.now()), name


def _values(content: bytes) -> dict[str, Any]:
    """What the template shows of an estimate of any kind: statements, the first rows of its table, and its notes."""
    estimate = read_estimate(content)
    kind = kind_named(estimate.kind)
    return {
        "estimate": estimate,
        "statements": kind.statements(estimate),
        "tables": kind.tables(estimate, SHOWN_ROWS),
        "count": len(estimate.table),
        "drawable": is_drawable(estimate.table),
        "can_ask_more": kind.takes_questions,
        "of_strings": isinstance(estimate.extras, StringExtras),
    }


def _copies(address: str, campaign: str) -> list[tuple[str, str]]:
    """How to get it without the console, by name; keys stay in the environment.

    `address` is the server's, with a slash at the end.
    """
    curl = (
        f"curl '{address}v1/campaigns/{campaign}/estimates?format=csv' \\\n  -H \"Authorization: Bearer $SORDINO_KEY\""
    )
    python = f"""import os

import sordino_analysis as sa

frame = sa.read_estimates(
    "{address}v1/estimates?campaign={campaign}",
    key=os.environ["SORDINO_KEY"],
)"""
    command = f"sordino export estimates {campaign} \\\n  --server {address.rstrip('/')} --output estimates.csv"
    return [("As curl", curl), ("As Python", python), ("As a command", command)]
