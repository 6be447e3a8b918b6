"""/console/plans: the requests, and a plan with its progress, candidates, bound and users for an error"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal
from urllib.parse import urlencode

import anyio.to_thread
from fastapi import APIRouter, Path, Query, Request, Response
from sqlalchemy.orm import Session
from starlette.responses import HTMLResponse

from sordino_analysis.charts import is_drawable
from sordino_analysis.documents.plan_summary import AnySummary
from sordino_server.console.console_route import Analyst, ConsoleRoute
from sordino_server.console.form_once import FormOnce, redirect
from sordino_server.console.new_campaign_pages import BegunTerms, Like
from sordino_server.console.pages import ConsolePage, page, table_of
from sordino_server.console.rendering import HEADERS, fragment
from sordino_server.console.users_table import EPSILONS, FoundSummaries, Margin, row_at, statement_of, table_of_plan
from sordino_server.context import Context, Injected
from sordino_server.errors import ServerError
from sordino_server.keys.idempotency import PostAnswer
from sordino_server.kit.page_parameters import PageQuery
from sordino_server.kit.path_parameters import RequestPath
from sordino_server.models import PlanRequestState
from sordino_server.plans import service
from sordino_server.plans.schemas import PlanRequestDocument
from sordino_shared.protocol import Problem

router = APIRouter(prefix="/console", route_class=ConsoleRoute)

_LIST_COLUMNS = ("id", "workload", "state", "progress", "stage", "variance", "ratio", "created", "finished", "error")
_MECHANISM_COLUMNS = (
    "name", "max_variance", "mean_variance", "least_variance", "bias_bound", "manipulation", "applies", "reason",
    "seconds",
)  # fmt: skip
_PROTOCOL_COLUMNS = ("name", "predicted_rmse", "applies", "reason", "seconds")
_RowEpsilon = Annotated[str, Path(max_length=10)]
_Epsilon = Annotated[Literal["0.25", "0.5", "1", "2", "4"] | None, Query()]


@page(router, "/plans", "plans.html", _LIST_COLUMNS)
def list_plans(_: Analyst, context: Injected, requested: PageQuery) -> ConsolePage:
    """Plan requests, newest first."""
    with context.database.read("console plans") as session:
        document = service.listed(session, requested)
    return ConsolePage(title="Plans", document=document, rows=document.plan_requests)


@page(router, "/plans/{request_id}", "plan.html")
async def get_plan(
    _: Analyst,
    request: Request,
    context: Injected,
    request_id: RequestPath,
    begun: BegunTerms,
    margin: Margin = "",
    epsilon: _Epsilon = None,
    like: Like = None,
) -> ConsolePage:
    """A plan request; with `margin`, how many users each answer ± margin needs at 95 %, at several ε.

    With `epsilon`, the row of that ε is searched first, for browsers without JavaScript. The form of a new campaign
    begins with terms of the campaign `like`, or with those that another form gave.
    """
    document, summary, kernel = await anyio.to_thread.run_sync(_read, context, request_id)
    found: FoundSummaries = request.app.state.found_summaries
    table = None
    if margin:
        statement = statement_of(margin)
        if epsilon is not None:
            await row_at(context, found, request_id, statement, epsilon)
        table = await table_of_plan(context, found, request_id, statement)
    values = {
        "plan": document,
        "linear": None if summary is None else summary.linear,
        "pairwise": None if summary is None else summary.pairwise,
        "strings": None if summary is None else summary.strings,
        "running": document.state in (PlanRequestState.QUEUED, PlanRequestState.RUNNING),
        "kernel": kernel,
        "margin": margin,
        "table": table,
        "terms": urlencode(begun if like is None else {"like": like}),
    }
    candidates = partial(_candidates, summary)
    return ConsolePage(title=f"Plan {request_id[:12]}", document=document, rows=candidates, values=values)


def _read(context: Context, request_id: str) -> tuple[PlanRequestDocument, AnySummary | None, bool]:
    """The request, the summary of its plan, and whether there is a kernel that can be drawn."""
    with context.database.read("console plan") as session:
        row = service.get(session, request_id)
        device = None if row.device_digest is None else service.device_part(session, row.device_digest)
    return (
        PlanRequestDocument.of(row),
        service.known_summary(row),
        device is not None and is_drawable(device),
    )


def _candidates(summary: AnySummary | None) -> str:
    """A row for each mechanism or protocol that was compared; a header alone before the plan is ready."""
    if summary is not None and summary.pairwise is not None:
        return table_of(summary.pairwise.protocols, _PROTOCOL_COLUMNS)
    return table_of(() if summary is None or summary.linear is None else summary.linear.candidates, _MECHANISM_COLUMNS)


@router.get("/plans/{request_id}/progress")
def get_progress(_: Analyst, context: Injected, request_id: RequestPath) -> Response:
    """The part of the page that changes; once the plan is finished, the browser loads the whole page again."""
    with context.database.read("console plan progress") as session:
        document = PlanRequestDocument.of(service.get(session, request_id))
    running = document.state in (PlanRequestState.QUEUED, PlanRequestState.RUNNING)
    headers = HEADERS if running else {**HEADERS, "HX-Refresh": "true"}
    return HTMLResponse(fragment("plan_progress.html", plan=document, running=running), headers=headers)


@router.post("/plans/{request_id}/cancel")
def cancel(once: FormOnce, request_id: RequestPath) -> Response:
    """Cancel a plan request that is not finished."""

    def act(session: Session) -> PostAnswer:
        service.cancel(session, request_id, once.context.clock.now())
        page = f"/console/plans/{request_id}"
        return PostAnswer(303, {}, location=page, changed=f"/v1/plan-requests/{request_id}")

    return redirect(once.answer("cancel plan request", act))


@router.get("/plans/{request_id}/users")
async def get_users(
    _: Analyst, request: Request, context: Injected, request_id: RequestPath, margin: Margin = ""
) -> Response:
    """The table of users for an error, which asks for the rows that are not known yet."""
    statement = statement_of(margin)
    table = await table_of_plan(context, request.app.state.found_summaries, request_id, statement)
    return HTMLResponse(fragment("users_table.html", table=table), headers=HEADERS)


@router.get("/plans/{request_id}/users/{epsilon}")
async def get_users_at(
    _: Analyst, request: Request, context: Injected, request_id: RequestPath, epsilon: _RowEpsilon, margin: Margin = ""
) -> Response:
    """A row of the table, for which a plan is searched for a few seconds."""
    if epsilon not in EPSILONS:
        raise ServerError(Problem.NOT_FOUND, f"the table has rows for ε = {', '.join(EPSILONS)}")
    row = await row_at(context, request.app.state.found_summaries, request_id, statement_of(margin), epsilon)
    return HTMLResponse(fragment("users_row.html", row=row), headers=HEADERS)
