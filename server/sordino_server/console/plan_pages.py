"""/console/plans: the requests, and a plan with its candidates, bound and sizes"""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from sordino_analysis.documents.plan_summary import AnySummary, LinearSummary, PairwiseSummary, read_summary
from sordino_server.console.console_route import Analyst, ConsoleRoute
from sordino_server.console.pages import ConsolePage, json_of, next_page, page, show, table_of
from sordino_server.context import Injected
from sordino_server.estimates.table import written
from sordino_server.identifiers import RequestPath
from sordino_server.kit.pagination import AskedPage
from sordino_server.models import PlanRequestRow
from sordino_server.plans import service
from sordino_server.plans.schemas import PlanRequestDocument
from sordino_shared.errors import InvalidValue, MalformedDocument

router = APIRouter(prefix="/console", route_class=ConsoleRoute)

_LIST_COLUMNS = ("id", "workload", "state", "progress", "stage", "variance", "ratio", "created", "finished", "error")
_MECHANISM_COLUMNS = (
    "name", "max_variance", "mean_variance", "least_variance", "bias_bound", "manipulation", "applies", "reason",
    "seconds",
)  # fmt: skip
_PROTOCOL_COLUMNS = ("name", "predicted_rmse", "applies", "reason", "seconds")
_Margin = Annotated[str, Query(max_length=40)]


@page(router, "/plans")
def list_plans(visitor: Analyst, request: Request, context: Injected, asked: AskedPage) -> Response:
    """Plan requests, newest first."""
    with context.database.read("console plans") as session:
        document = service.listed(session, asked)
    shown = ConsolePage(
        template="plans.html",
        title="Plans",
        json=partial(json_of, document),
        csv=partial(table_of, document.plan_requests, _LIST_COLUMNS),
        values={"plans": document.plan_requests, "next": next_page(request, document.next_page_token)},
    )
    return show(request, visitor, shown)


@page(router, "/plans/{request_id}")
def get_plan(
    visitor: Analyst, request: Request, context: Injected, request_id: RequestPath, margin: _Margin = ""
) -> Response:
    """A plan request; with `margin`, the number of users that each answer ± margin needs at 95 %."""
    with context.database.read("console plan") as session:
        row = service.get(session, request_id)
        document, summary = PlanRequestDocument.of(row), _summary_of(row)
        size = service.sample_size(row, _number(margin), 0.95, False) if margin else None
    shown = ConsolePage(
        template="plan.html",
        title=f"Plan {request_id[:12]}",
        json=partial(json_of, document),
        csv=partial(_candidates, summary),
        values={
            "plan": document,
            "linear": summary if isinstance(summary, LinearSummary) else None,
            "pairwise": summary if isinstance(summary, PairwiseSummary) else None,
            "margin": margin,
            "size": size,
        },
    )
    return show(request, visitor, shown)


def _summary_of(row: PlanRequestRow) -> AnySummary | None:
    """The summary of a finished plan; None before that, and for one that an earlier version wrote."""
    try:
        return None if row.summary is None else read_summary(row.summary)
    except MalformedDocument:
        return None


def _candidates(summary: AnySummary | None) -> str:
    """A row for each mechanism or protocol that was compared; a header alone before the plan is ready."""
    if isinstance(summary, LinearSummary):
        return table_of(summary.candidates, _MECHANISM_COLUMNS)
    if isinstance(summary, PairwiseSummary):
        return table_of(summary.protocols, _PROTOCOL_COLUMNS)
    return written([_MECHANISM_COLUMNS])


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise InvalidValue("margin is a number above 0, such as 0.01 for one percentage point", text)
    return value
