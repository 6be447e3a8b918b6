"""/console/campaigns/{id}/estimate: the answers as a table and as a picture"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any
from urllib.parse import urlencode

import anyio.to_thread
from fastapi import APIRouter, Request, Response

from sordino_analysis.answers.banded import banded_answers
from sordino_analysis.answers.findings import Findings
from sordino_analysis.answers.svg import is_drawable
from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.figures import SHARE
from sordino_analysis.kinds.registry import kind_named
from sordino_analysis.kinds.strings import StringExtras
from sordino_server.answers.export import parquet_bytes, table_of
from sordino_server.answers.stored import read_estimate, stored_last
from sordino_server.answers.views import table_text
from sordino_server.campaigns import service as campaigns
from sordino_server.campaigns.schemas import CampaignStatus
from sordino_server.campaigns.status import status_of
from sordino_server.console.activity_entries import ActivityEntry, newest_of
from sordino_server.console.console_route import Analyst, ConsoleRoute
from sordino_server.console.inline_pictures import MOST_BARS, MOST_STEPS, PAGE, PHONE, bars, curve, steps_of
from sordino_server.console.pages import ConsolePage, page
from sordino_server.context import Context, Injected
from sordino_server.errors import ServerError
from sordino_server.kit.path_parameters import DigestPath
from sordino_server.share_links import service as share_links
from sordino_server.share_links.schemas import ShareLinkDocument
from sordino_shared.protocol import Problem

router = APIRouter(prefix="/console", route_class=ConsoleRoute)

# More rows are read by nobody; the CSV has all.
SHOWN_ROWS = 500
# Links that no longer open are never deleted: a page with all of them would grow without end.
_SHOWN_ENTRIES = 6
_SHOWN_ENDED = 10


@page(router, "/campaigns/{campaign_id}/estimate", "estimate.html")
def get_estimate(_: Analyst, request: Request, context: Injected, campaign_id: DigestPath) -> ConsolePage:
    """The estimate of a campaign: the bytes and the table that the API has."""
    content, status = _stored(context, campaign_id)
    in_html = request.url.path.endswith("/estimate")
    return ConsolePage(
        title=status.name,
        document=content,
        rows=lambda: table_text(content),
        values=_of_page(request, context, status) | result_values(content) if in_html else {},
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


def _of_page(request: Request, context: Context, status: CampaignStatus) -> dict[str, Any]:
    address = str(request.base_url)
    now = context.clock.now()
    links, compared, happened = _around(context, status.id)
    shown = _shown_links(links, now)
    return {
        "campaign": status,
        "parquet": _has_pyarrow(),
        "copies": _copies(address, status.id),
        "links": shown,
        "hidden_links": len(links) - len(shown),
        "compared": compared,
        "happened": happened,
        "now": now,
    }


def _stored(context: Context, campaign_id: str) -> tuple[bytes, CampaignStatus]:
    """The estimate's bytes and the campaign; raises `not-found` or `estimate-not-ready`."""
    with context.database.read("console estimate") as session:
        row, now = campaigns.get(session, campaign_id), context.clock.now()
        return stored_last(session, campaign_id, now), status_of(session, row, now)


def _around(context: Context, campaign_id: str) -> tuple[list[ShareLinkDocument], str, list[ActivityEntry]]:
    """The links to the result that open, or did; the address that compares it, with the campaign before if any; and
    what was done to the question last.
    """
    with context.database.read("console links of a result") as session:
        row = campaigns.get(session, campaign_id)
        before = None if row.closed_at is None else campaigns.comparable_before(session, row)
        sides = {"left": campaign_id} if before is None else {"left": before, "right": campaign_id}
        links = share_links.listed(session, campaign_id).share_links
        return links, f"/console/compare?{urlencode(sides)}", newest_of(session, campaign_id, _SHOWN_ENTRIES)


def _shown_links(links: list[ShareLinkDocument], now: int) -> list[ShareLinkDocument]:
    """Those that open, which somebody may want to revoke, and the newest of the others; in the order given."""
    opens = [each.revoked_at is None and (each.until is None or each.until > now) for each in links]
    ended = [each.id for each, is_open in zip(links, opens, strict=True) if not is_open][:_SHOWN_ENDED]
    return [each for each, is_open in zip(links, opens, strict=True) if is_open or each.id in ended]


def result_values(content: bytes, rows: int = SHOWN_ROWS) -> dict[str, Any]:
    """What the template shows of an estimate of any kind: what is found, a picture, the first rows of its table."""
    estimate = read_estimate(content)
    kind = kind_named(estimate.kind)
    finding = kind.finding(estimate)
    return inline_picture(estimate.table, finding) | {
        "estimate": estimate,
        "finding": finding,
        "tables": kind.tables(estimate, rows),
        "count": len(estimate.table),
        "drawable": is_drawable(estimate.table),
        "can_ask_more": kind.takes_questions,
        "of_strings": isinstance(estimate.extras, StringExtras),
    }


def inline_picture(table: AnswerTable, finding: Findings | None) -> dict[str, Any]:
    """At most 12 shares as bars, at most 24 steps of a distribution as a curve; neither of other tables."""
    answers = banded_answers(table) if len(table) <= MOST_STEPS else []
    of_shares = len(answers) == len(table) and {each.unit for each in answers} == {SHARE}
    steps, unit = steps_of(table, answers) if of_shares else ([], "")
    told = None if finding is None or finding.answer is None or not steps else answers.index(finding.answer)
    is_histogram = of_shares and set(table.cells("kind")) == {"histogram"} and len(answers) <= MOST_BARS
    return {
        "bars": bars(answers) if is_histogram else None,
        "curves": [curve(steps, frame, unit, told) for frame in (PAGE, PHONE)] if steps else [],
        "caption": "Share of devices up to each step" if steps else "Share of devices" if of_shares else "Answers",
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
