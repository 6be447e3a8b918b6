"""/console/new: a question from a file or by hand, with its error while sliders move; one form makes the draft."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from urllib.parse import urlencode

import anyio
import anyio.to_thread
from fastapi import APIRouter, Request, Response
from sqlalchemy.orm import Session
from starlette.responses import JSONResponse

from sordino_server.campaigns import service as campaigns
from sordino_server.console import wizard_form
from sordino_server.console.console_route import Analyst, ConsoleRoute, Form, Visitor
from sordino_server.console.form_once import FormOnce, redirect
from sordino_server.console.new_question_pages import yaml_form
from sordino_server.console.privacy_words import stop
from sordino_server.console.rendering import HEADERS, render
from sordino_server.context import Context, Injected
from sordino_server.errors import ServerError
from sordino_server.keys import service as keys
from sordino_server.keys.idempotency import IdempotentPost, PostAnswer
from sordino_server.kit.pagination import MAX_PAGE, Page
from sordino_server.models import PlanRequestState
from sordino_server.plans import service as plans
from sordino_server.plans.checking import content_key
from sordino_server.plans.preview_endpoints import KnownPreviews
from sordino_server.plans.previews import EPSILONS, ErrorPreview
from sordino_server.plans.schemas import PlanOrder
from sordino_server.populations import service as populations
from sordino_server.workloads import service as workloads
from sordino_server.workloads.checking import CheckedWorkload
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Problem

router = APIRouter(prefix="/console", route_class=ConsoleRoute)

# Plans of such questions take a second or two; one that takes longer is followed on its own page.
_WAIT_S, _PAUSE_S = 10.0, 0.25
# What a form gets back with the reason, instead of a page of its own.
_SHOWN = (Problem.INVALID_REQUEST, Problem.ALREADY_EXISTS, Problem.RATE_LIMITED, Problem.OVERLOADED)
_WAITING = (PlanRequestState.QUEUED, PlanRequestState.RUNNING)


@router.get("/new")
def ask(visitor: Analyst, context: Injected) -> Response:
    """The form."""
    return _form(visitor, context, {})


@router.post("/preview")
async def preview(
    visitor: Analyst, request: Request, context: Injected, previews: KnownPreviews, form: Form
) -> Response:
    """The error of what the form asks: as JSON for the page's script, else drawn into the page. Stores nothing."""
    as_json = "application/json" in request.headers.get("accept", "")
    try:
        # Sliders, which the page needs once the error is known.
        wizard_form.stop_of(form), wizard_form.devices_of(form)
        checked = await context.checks.run(wizard_form.check_question, dict(form))
        found = await previews.preview(context, checked, visitor.key.id)
    except (InvalidValue, ServerError) as error:
        said, status, headers = _refused(error)
        if as_json:
            return JSONResponse({"detail": said}, status, headers)
        page = await anyio.to_thread.run_sync(partial(_form, visitor, context, form, error=said, status=status))
        page.headers.update(headers)
        return page
    if as_json:
        return JSONResponse(found.model_dump(mode="json"), headers=HEADERS)
    return await anyio.to_thread.run_sync(partial(_form, visitor, context, form, found=found))


@router.post("/new/yaml")
async def as_yaml(visitor: Analyst, context: Injected, form: Form) -> Response:
    """The form of YAML, filled with what this one has."""
    try:
        written, epsilon = wizard_form.yaml_of(form), EPSILONS[wizard_form.stop_of(form)]
    except InvalidValue as error:
        return await anyio.to_thread.run_sync(partial(_form, visitor, context, form, error=str(error), status=422))
    return yaml_form(visitor, {"yaml": written, "epsilon": epsilon})


@router.post("/new")
async def create(visitor: Analyst, context: Injected, once: FormOnce, form: Form) -> Response:
    """Register the workload, request its plan, make the draft of it, and go to the page that opens it.

    Where the plan takes longer than some seconds, go to its page, which leads on with the same terms.
    """
    try:
        checked, order, key = await _checked(context, form)
        plan = await anyio.to_thread.run_sync(_requested, once, checked, order, key)
        if await _is_waited_for(context, plan):
            return redirect(PostAnswer(303, {}, location=f"/console/plans/{plan}?{_terms(form)}"))
        return redirect(await anyio.to_thread.run_sync(_created, once, form, plan))
    except (InvalidValue, ServerError) as error:
        said, status, headers = _refused(error)
    page = await anyio.to_thread.run_sync(partial(_form, visitor, context, form, error=said, status=status))
    page.headers.update(headers)
    return page


def _refused(error: InvalidValue | ServerError) -> tuple[str, int, dict[str, str]]:
    """What the form says, the status and headers; raises it again where it is no fault of what was asked."""
    if isinstance(error, InvalidValue):
        return str(error), 422, {}
    if error.problem not in _SHOWN:
        raise error
    wait = error.extra.get("retry_after")
    return error.detail, error.problem.status, {} if wait is None else {"Retry-After": str(wait)}


async def _checked(context: Context, form: Mapping[str, str]) -> tuple[CheckedWorkload, PlanOrder, str]:
    """All of the form, before anything of it is stored."""
    checked = await context.checks.run(wizard_form.check_question, dict(form))
    terms = wizard_form.campaign_order(form)

    def check(session: Session) -> None:
        populations.check_open_to(session, terms.population, context.settings.population_mode)

    await anyio.to_thread.run_sync(context.database.run, "check population", check)
    order = wizard_form.plan_order(form, checked.id)
    return checked, order, await context.checks.run(content_key, order, checked.specification, checked.queries)


def _requested(once: IdempotentPost, checked: CheckedWorkload, order: PlanOrder, key: str) -> str:
    """The id of the plan request."""

    def act(session: Session) -> PostAnswer:
        now = once.context.clock.now()
        workload, new = workloads.register(session, checked, now)
        if new:
            keys.record(session, once.key, "register workload", f"/v1/workloads/{workload.id}", now)
        row = plans.request(session, order, key, now)
        return PostAnswer(303, {"plan": row.id}, changed=f"/v1/plan-requests/{row.id}")

    return str(once.answer("request plan", act).document()["plan"])


async def _is_waited_for(context: Context, plan: str) -> bool:
    """Whether the plan has no result yet after some seconds, or has none at all."""

    def state() -> PlanRequestState:
        with context.database.read("console wizard plan") as session:
            return PlanRequestState(plans.get(session, plan).state)

    with anyio.move_on_after(_WAIT_S):
        while (found := await anyio.to_thread.run_sync(state)) in _WAITING:
            await anyio.sleep(_PAUSE_S)
        return found is not PlanRequestState.READY
    return True


def _created(once: IdempotentPost, form: Mapping[str, str], plan: str) -> PostAnswer:
    order, context = wizard_form.campaign_order(form, plan), once.context

    def act(session: Session) -> PostAnswer:
        campaign = campaigns.create(session, order, context.clock.now(), context.settings.population_mode)
        page = f"/console/campaigns/{campaign.id}/actions/open"
        return PostAnswer(303, {}, location=page, changed=f"/v1/campaigns/{campaign.id}")

    # The form counts twice: for the plan, and for the draft that is made of it.
    return replace(once, token=f"{once.token} draft").answer("create campaign", act)


def _terms(form: Mapping[str, str]) -> str:
    order = wizard_form.campaign_order(form)
    given = {name: getattr(order, name) for name in ("name", "purpose", "population", "close_after_reports")}
    return urlencode(given)


def _form(
    visitor: Visitor,
    context: Context,
    given: Mapping[str, str],
    *,
    found: ErrorPreview | None = None,
    error: str | None = None,
    status: int = 200,
) -> Response:
    with context.database.read("console wizard") as session:
        known, _ = populations.listed(session, Page(MAX_PAGE, None))
        names = [each.name for each in known]
    values: dict[str, object] = {"drawn": None}
    if found is not None:
        chosen, devices = wizard_form.stop_of(given), wizard_form.devices_of(given)
        half = found.half_width(chosen, devices)
        values["drawn"] = {
            "half": wizard_form.half_text(half),
            "devices": devices,
            "epsilon": EPSILONS[chosen],
            "needs": wizard_form.needs(found, chosen),
            "bars": wizard_form.even_bars(given, half),
        }
    return render(
        "wizard.html",
        "New question",
        visitor=visitor,
        status=status,
        # What was not filled in is empty.
        given=defaultdict(str, given),
        error=error,
        stops=[stop(each) for each in EPSILONS],
        slider=wizard_form,
        populations=names,
        **values,
    )
