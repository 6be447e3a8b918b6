"""/console/plans/{id}: how far a plan is while it is computed, its cancellation, and users for an error at several ε"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from sqlalchemy.orm import Session
from starlette.responses import HTMLResponse

from sordino_server.console.console_route import Analyst, ConsoleRoute
from sordino_server.console.form_once import FormOnce, redirect
from sordino_server.console.rendering import HEADERS, fragment
from sordino_server.console.users_table import EPSILONS, Margin, row_at, statement_of, table_of_plan
from sordino_server.context import Injected
from sordino_server.errors import ServerError
from sordino_server.keys.idempotency import PostAnswer
from sordino_server.kit.path_parameters import RequestPath
from sordino_server.models import PlanRequestState
from sordino_server.plans import service
from sordino_server.plans.schemas import PlanRequestDocument
from sordino_shared.protocol import Problem

router = APIRouter(prefix="/console/plans/{request_id}", route_class=ConsoleRoute)

_Epsilon = Annotated[str, Path(max_length=10)]


@router.get("/progress")
def get_progress(_: Analyst, context: Injected, request_id: RequestPath) -> Response:
    """The part of the page that changes; once the plan is finished, the browser loads the whole page again."""
    with context.database.read("console plan progress") as session:
        document = PlanRequestDocument.of(service.get(session, request_id))
    running = document.state in (PlanRequestState.QUEUED, PlanRequestState.RUNNING)
    headers = HEADERS if running else {**HEADERS, "HX-Refresh": "true"}
    return HTMLResponse(fragment("plan_progress.html", plan=document, running=running), headers=headers)


@router.post("/cancel")
def cancel(once: FormOnce, request_id: RequestPath) -> Response:
    """Cancel a plan request that is not finished."""

    def act(session: Session) -> PostAnswer:
        service.cancel(session, request_id, once.context.clock.now())
        page = f"/console/plans/{request_id}"
        return PostAnswer(303, {}, location=page, changed=f"/v1/plan-requests/{request_id}")

    return redirect(once.answer("cancel plan request", act))


@router.get("/users")
async def get_users(
    _: Analyst, request: Request, context: Injected, request_id: RequestPath, margin: Margin = ""
) -> Response:
    """The table of users for an error, which asks for the rows that are not known yet."""
    statement = statement_of(margin)
    table = await table_of_plan(context, request.app.state.found_summaries, request_id, statement)
    return HTMLResponse(fragment("users_table.html", table=table), headers=HEADERS)


@router.get("/users/{epsilon}")
async def get_users_at(
    _: Analyst, request: Request, context: Injected, request_id: RequestPath, epsilon: _Epsilon, margin: Margin = ""
) -> Response:
    """A row of the table, for which a plan is searched for a few seconds."""
    if epsilon not in EPSILONS:
        raise ServerError(Problem.NOT_FOUND, f"the table has rows for ε = {', '.join(EPSILONS)}")
    row = await row_at(context, request.app.state.found_summaries, request_id, statement_of(margin), epsilon)
    return HTMLResponse(fragment("users_row.html", row=row), headers=HEADERS)
