"""/console/new-campaign: the question and its ε, for which a plan is requested."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import anyio.to_thread
from fastapi import APIRouter, Query, Response
from pydantic import ValidationError
from sqlalchemy.orm import Session

from sordino_analysis.planning_options import DEFAULT_DEVICE_EPSILON
from sordino_server.console.console_route import Analyst, ConsoleRoute, Form, Visitor
from sordino_server.console.form_once import FormOnce, redirect
from sordino_server.console.question_form import KINDS, QUERIES, ROWS, check_question
from sordino_server.console.rendering import render
from sordino_server.context import Context, Injected
from sordino_server.errors import ServerError
from sordino_server.keys import service as keys
from sordino_server.keys.idempotency import IdempotentPost, PostAnswer
from sordino_server.plans import service as plans
from sordino_server.plans.checking import content_key
from sordino_server.plans.schemas import PlanOrder
from sordino_server.validation_problem import invalid_request
from sordino_server.workloads import service as workloads
from sordino_server.workloads.checking import CheckedWorkload
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.odds import odds
from sordino_shared.protocol import Problem

router = APIRouter(prefix="/console", route_class=ConsoleRoute)

_STARTS = Path(__file__).parent / "starts"
_OBJECTIVES = {"max": "the worst answer", "mean": "the mean over the answers"}
_Start = Annotated[str, Query(max_length=40)]


@router.get("/new-campaign")
def ask(visitor: Analyst, start: _Start = "prefix") -> Response:
    """The form, with an example to start from."""
    if start not in _starts():
        raise ServerError(Problem.NOT_FOUND, "there is no example of this name")
    return yaml_form(visitor, {"yaml": _starts()[start], "epsilon": "1"}, start=start)


@router.post("/new-campaign")
async def request_plan(visitor: Analyst, context: Injected, once: FormOnce, form: Form) -> Response:
    """Register the workload and request its plan; a form that does not fit is shown again with the reason."""
    try:
        checked, order, key = await _checked(context, form)
    except InvalidValue as error:
        return yaml_form(visitor, form, error=str(error))
    except ServerError as error:
        if error.problem is not Problem.INVALID_REQUEST:
            raise
        return yaml_form(visitor, form, error=error.detail)
    page = "" if (like := form.get("like", "")) == "" else f"?like={quote(like, safe='')}"
    return redirect(await anyio.to_thread.run_sync(_requested, once, checked, order, key, page))


async def _checked(context: Context, form: Mapping[str, str]) -> tuple[CheckedWorkload, PlanOrder, str]:
    checked = await context.checks.run(check_question, dict(form))
    order = _order(form, checked.id)
    _check_weak(order, form)
    return checked, order, await context.checks.run(content_key, order, checked.specification, checked.queries)


def _order(form: Mapping[str, str], workload: str) -> PlanOrder:
    users = form.get("users", "").strip()
    if users and not (users.isascii() and users.isdigit() and len(users) <= 18):
        raise InvalidValue("users is a whole number, such as 10000, or empty", users)
    try:
        return PlanOrder.model_validate(
            {
                "workload": workload,
                "epsilon": form.get("epsilon", "").strip(),
                "objective": form.get("objective", "max"),
                "users": int(users) if users else None,
            }
        )
    except ValidationError as error:
        raise invalid_request(error.errors(include_url=False, include_input=False)) from error


def _check_weak(order: PlanOrder, form: Mapping[str, str]) -> None:
    """Raise InvalidValue for ε above 4 that is not ticked."""
    epsilon = PureEpsilon.of(order.epsilon)
    if epsilon > PureEpsilon.of(DEFAULT_DEVICE_EPSILON) and "weak_epsilon" not in form:
        raise InvalidValue(
            f"ε {order.epsilon} of a report is weak: the odds about an answer change up to {odds(epsilon.nano)}-fold. "
            f"Ask for {DEFAULT_DEVICE_EPSILON} or less, or tick that ε may be weak",
            order.epsilon,
        )


def _requested(once: IdempotentPost, checked: CheckedWorkload, order: PlanOrder, key: str, like: str) -> PostAnswer:
    def act(session: Session) -> PostAnswer:
        now = once.context.clock.now()
        workload, new = workloads.register(session, checked, now)
        if new:
            keys.record(session, once.key, "register workload", f"/v1/workloads/{workload.id}", now)
        row = plans.request(session, order, key, now)
        return PostAnswer(303, {}, location=f"/console/plans/{row.id}{like}", changed=f"/v1/plan-requests/{row.id}")

    return once.answer("request plan", act)


def yaml_form(visitor: Visitor, given: Mapping[str, str], start: str = "", error: str | None = None) -> Response:
    """The page with what was given, and with what is wrong with it."""
    return render(
        "new_question.html",
        "New campaign: the question",
        visitor=visitor,
        status=200 if error is None else 422,
        # What was not filled in is empty.
        given=defaultdict(str, given),
        error=error,
        start=start,
        starts=list(_starts()),
        rows=ROWS,
        kinds=KINDS,
        queries=QUERIES,
        objectives=_OBJECTIVES,
    )


@cache
def _starts() -> Mapping[str, str]:
    """Examples of workloads by their names."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(_STARTS.glob("*.yaml"))}
