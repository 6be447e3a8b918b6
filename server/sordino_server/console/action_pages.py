"""The page that confirms an action on a campaign, and its form: nothing opens, closes or goes without it."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from sqlalchemy.orm import Session

from sordino_server.campaigns import service as campaigns
from sordino_server.campaigns.actions import Target
from sordino_server.campaigns.expected_crowd import expected_crowd
from sordino_server.campaigns.progress import progress_of
from sordino_server.campaigns.reports_end import reports_end
from sordino_server.campaigns.schemas import CampaignStatus
from sordino_server.campaigns.status import status_of
from sordino_server.console.campaign_actions import ACTIONS, ROUND_ACTIONS, Action
from sordino_server.console.console_route import Analyst, ConsoleRoute, Form, Visitor
from sordino_server.console.form_once import FormOnce, redirect
from sordino_server.console.opening import facts, meters, price
from sordino_server.console.rendering import render
from sordino_server.context import Context, Injected
from sordino_server.errors import ServerError
from sordino_server.experiments import service as experiments
from sordino_server.keys.idempotency import IdempotentPost, PostAnswer
from sordino_server.kit.path_parameters import DigestPath, RoundPath
from sordino_server.models import Campaign
from sordino_server.populations import service as populations
from sordino_server.populations.budget import budget
from sordino_server.populations.charges import charges_of
from sordino_server.populations.names import identifier_of
from sordino_server.populations.schemas import Room
from sordino_server.populations.service import CapUse
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import CampaignState, Manifest, Problem

router = APIRouter(prefix="/console/campaigns/{campaign_id}", route_class=ConsoleRoute)


@router.get("/actions/{action}")
def confirm_action(
    visitor: Analyst, request: Request, context: Injected, campaign_id: DigestPath, action: str
) -> Response:
    """What the action does, and a form to do it."""
    return _confirm(visitor, request, context, campaign_id, _known(ACTIONS.get(action)))


@router.get("/rounds/{index}/actions/{round_action}")
def confirm_round_action(
    visitor: Analyst, request: Request, context: Injected, campaign_id: DigestPath, index: RoundPath, round_action: str
) -> Response:
    """As above, for one round."""
    return _confirm(visitor, request, context, campaign_id, _known(ROUND_ACTIONS.get(round_action)), index)


@router.post("/actions/{action}")
def act(
    once: FormOnce,
    visitor: Analyst,
    request: Request,
    context: Injected,
    form: Form,
    campaign_id: DigestPath,
    action: str,
) -> Response:
    """Do it; sent again, the form changes nothing more. A crowd too small to tell is opened only where it is ticked."""
    if ACTIONS.get(action) is ACTIONS["open"] and "anyway" not in form and _too_few(context, campaign_id):
        return _confirm(visitor, request, context, campaign_id, ACTIONS["open"], status=422)
    target = Target(context=context, campaign=campaign_id)
    changed = f"/v1/campaigns/{campaign_id}" + ("" if action == "delete" else f"/{action}")
    return _done(once, target, _known(ACTIONS.get(action)), changed)


@router.post("/rounds/{index}/actions/{round_action}")
def act_on_round(
    once: FormOnce, context: Injected, campaign_id: DigestPath, index: RoundPath, round_action: str
) -> Response:
    """As above, for one round."""
    target = Target(context=context, campaign=campaign_id, index=index)
    changed = f"/v1/campaigns/{campaign_id}/rounds/{index}/{round_action}"
    return _done(once, target, _known(ROUND_ACTIONS.get(round_action)), changed)


def _known(action: Action | None) -> Action:
    if action is None:
        raise ServerError(Problem.NOT_FOUND, "there is no such action")
    return action


def _confirm(
    visitor: Visitor,
    request: Request,
    context: Context,
    campaign_id: str,
    action: Action,
    index: int | None = None,
    status: int = 200,
) -> Response:
    now = context.clock.now()
    with context.database.read("console action") as session:
        row = campaigns.get(session, campaign_id)
        campaign = status_of(session, row, now)
        values = _of_opening(context, session, row, campaign, now) if action is ACTIONS["open"] else {}
    of_round = "" if index is None else f" of round {index}"
    return render(
        "open.html" if values else "confirm.html",
        f"{action.button}{of_round}: {campaign.name}",
        visitor=visitor,
        status=status,
        action=action,
        path=request.url.path,
        campaign=campaign,
        **values,
    )


def _of_opening(
    context: Context, session: Session, row: Campaign, campaign: CampaignStatus, now: int
) -> dict[str, object]:
    """What opening brings, what it costs each device, and what the limits of who is asked leave."""
    manifest, progress = Manifest.read(row.manifest), progress_of(campaign, None, now)
    uses, refused = _cap_uses(context, session, row.id, now)
    experiment = experiments.document(session, row.id) if experiments.finding(session, row.id) else None
    return {
        "manifest": manifest,
        "progress": progress,
        "facts": facts(campaign, progress, manifest, uses, experiment),
        "meters": meters(uses),
        "price": price(campaign),
        "room": _room(session, row.population, now) if any(use.exceeded for use in uses) else None,
        "refused": refused,
        "crowd": expected_crowd(session, campaign),
        "reports": reports_end(session, row, context.settings.raw_report_retention_days, now),
    }


def _room(session: Session, name: str, now: int) -> Room | None:
    population = populations.get(session, identifier_of(name))
    return budget(session, population, charges_of(session, population), now).room


def _too_few(context: Context, campaign_id: str) -> bool:
    """Whether the campaign is ready, and fewer reports are expected than tell anything."""
    with context.database.read("console crowd") as session:
        campaign = status_of(session, campaigns.get(session, campaign_id), context.clock.now())
        crowd = expected_crowd(session, campaign)
    return campaign.state is CampaignState.READY and crowd is not None and crowd.too_few


def _cap_uses(context: Context, session: Session, campaign_id: str, now: int) -> tuple[list[CapUse], str | None]:
    """What opening does to the caps, or why it would be refused."""
    try:
        row = campaigns.get(session, campaign_id)
        return campaigns.cap_uses(session, row, now, context.settings.population_mode), None
    except InvalidValue as error:
        return [], str(error)


def _done(once: IdempotentPost, target: Target, action: Action, changed: str) -> Response:
    after = "/console/campaigns"
    if action is not ACTIONS["delete"]:
        after += f"/{target.campaign}"

    def change(session: Session) -> PostAnswer:
        action.change.act(session, target, target.context.clock.now())
        return PostAnswer(303, {}, location=after, changed=changed)

    return redirect(once.answer(action.change.name, change))
