"""/console/plans/{id}/new-campaign: the terms of a campaign that asks the question of a finished plan"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from pydantic import ValidationError
from sqlalchemy.orm import Session

from sordino_server.campaigns import service as campaigns
from sordino_server.campaigns.schemas import CampaignOrder
from sordino_server.console.console_route import Analyst, ConsoleRoute, Form, Visitor
from sordino_server.console.form_once import FormOnce, redirect
from sordino_server.console.rendering import render
from sordino_server.context import Context, Injected
from sordino_server.errors import ServerError
from sordino_server.identifiers import DIGEST_PATTERN
from sordino_server.keys import service as keys
from sordino_server.keys.idempotency import PostAnswer
from sordino_server.kit.pagination import MAX_PAGE, Page
from sordino_server.kit.path_parameters import RequestPath
from sordino_server.models import Role
from sordino_server.plans import service as plans
from sordino_server.plans.schemas import PlanRequestDocument
from sordino_server.populations import service as populations
from sordino_server.validation_problem import invalid_request
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Manifest, Problem, ValueOf

router = APIRouter(prefix="/console/plans/{request_id}", route_class=ConsoleRoute)

# A campaign whose terms a form begins with.
Like = Annotated[str | None, Query(pattern=DIGEST_PATTERN)]


def _begun(
    name: Annotated[str, Query(max_length=200)] = "",
    purpose: Annotated[str, Query(max_length=2000)] = "",
    population: Annotated[str, Query(max_length=200)] = "",
    close_after_reports: Annotated[str, Query(pattern="^[0-9]{0,16}$")] = "",
) -> dict[str, str]:
    """What another form gave already, without what it left empty."""
    given = {"name": name, "purpose": purpose, "population": population, "close_after_reports": close_after_reports}
    return {name: text for name, text in given.items() if text}


BegunTerms = Annotated[dict[str, str], Depends(_begun)]
_AGAIN, _MOST_NAME = ", again", 200
_PERIODS = {"hour": 3600, "day": 86_400, "week": 604_800}
# What a form gets back with the reason, instead of a page of its own.
_SHOWN = (Problem.INVALID_REQUEST, Problem.ALREADY_EXISTS)


@router.get("/new-campaign")
def terms(
    visitor: Analyst, context: Injected, request_id: RequestPath, begun: BegunTerms, like: Like = None
) -> Response:
    """The form for a campaign with this plan, which begins with the text and the population of the campaign `like`."""
    return _form(visitor, context, request_id, begun if like is None else _terms_like(context, like))


def _terms_like(context: Context, campaign: str) -> dict[str, str]:
    with context.database.read("console like") as session:
        row = campaigns.get(session, campaign)
        purpose = Manifest.read(row.manifest).purpose
    return {"name": f"{row.name}{_AGAIN}"[:_MOST_NAME], "population": row.population, "purpose": purpose}


@router.post("/new-campaign")
def create(visitor: Analyst, context: Injected, once: FormOnce, request_id: RequestPath, form: Form) -> Response:
    """Create the campaign, which does not open it, and go to the page that confirms the opening."""

    def act(session: Session) -> PostAnswer:
        now = context.clock.now()
        campaign = campaigns.create(session, order, now, context.settings.population_mode)
        made = order.upload_token
        text = keys.create(session, order.name, Role.UPLOADER, now, campaign.id).text if made else None
        shown = {"id": campaign.id, "needs_token": made}
        return PostAnswer(
            201,
            shown | {"upload_token": text},
            location=f"/console/campaigns/{campaign.id}/actions/open",
            remembered=shown | {"upload_token": None},
            changed=f"/v1/campaigns/{campaign.id}",
        )

    try:
        order = _order(form, request_id)
        answer = once.answer("create campaign", act)
    except InvalidValue as error:
        return _form(visitor, context, request_id, form, str(error))
    except ServerError as error:
        if error.problem not in _SHOWN:
            raise
        return _form(visitor, context, request_id, form, error.detail)
    made = answer.document()
    if not made["needs_token"]:
        return redirect(answer)
    text = made["upload_token"]
    return render("new_token.html", "Upload token", visitor=visitor, status=201, text=text, next=answer.location)


def _order(form: Mapping[str, str], request_id: str) -> CampaignOrder:
    given: dict[str, Any] = {name: form.get(name, "").strip() for name in ("name", "purpose", "population")}
    given |= {"plan_request": request_id, "upload_token": "upload_token" in form, "public": "public" in form}
    given |= {name: _whole(form, name) for name in ("close_after_reports", "close_after_s")}
    if form.get("every"):
        given["series"] = _series(form)
    try:
        return CampaignOrder.model_validate(given)
    except ValidationError as error:
        raise invalid_request(error.errors(include_url=False, include_input=False)) from error


def _series(form: Mapping[str, str]) -> dict[str, Any]:
    every = form["every"]
    if every not in _PERIODS:
        raise InvalidValue(f"a period is one of {', '.join(_PERIODS)}", every)
    terms = {"period_s": _PERIODS[every], "slots": _whole(form, "slots"), "answers_max": _whole(form, "answers_max")}
    absent = [name for name in ("slots", "answers_max") if terms[name] is None]
    if absent:
        raise InvalidValue(f"a series needs {' and '.join(absent)}: give a whole number")
    return terms | {"value_of": form.get("value_of", ValueOf.CURRENT)}


def _whole(form: Mapping[str, str], name: str) -> int | None:
    text = form.get(name, "").strip()
    if text and not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise InvalidValue(f"{name} is a whole number, such as 10000, or empty", text)
    return int(text) if text else None


def _form(
    visitor: Visitor, context: Context, request_id: str, given: Mapping[str, str], error: str | None = None
) -> Response:
    now = context.clock.now()
    with context.database.read("console new campaign") as session:
        row = plans.get(session, request_id)
        # Raises where the plan is not ready.
        plans.ready_plan(session, request_id)
        known, _ = populations.listed(session, Page(MAX_PAGE, None))
        shown = populations.documents(session, known, now)
        plan = PlanRequestDocument.of(row)
    return render(
        "new_terms.html",
        "New campaign: its terms",
        visitor=visitor,
        status=200 if error is None else 422,
        # What was not filled in is empty.
        given=defaultdict(str, given),
        error=error,
        plan=plan,
        populations=shown,
        periods=list(_PERIODS),
        values_of=[each.value for each in ValueOf],
    )
