"""/v1/campaigns"""

from __future__ import annotations

import json
from typing import Annotated, Any

import anyio.to_thread
from fastapi import APIRouter, Depends, Path, Query, Request, Response
from sqlalchemy.orm import Session

from sordino_server.campaigns import finding, service, tasks
from sordino_server.campaigns.actions import OF_CAMPAIGN, OF_ROUND, CampaignChange, Target
from sordino_server.campaigns.campaign_filter import CampaignFilter
from sordino_server.campaigns.primary_check import PlanContents, check_primary, contents_of_plan
from sordino_server.campaigns.progress import CampaignProgress, progress_of, rate_of
from sordino_server.campaigns.reports_end import reports_end
from sordino_server.campaigns.schemas import (
    CampaignEntry,
    CampaignList,
    CampaignOrder,
    CampaignStatus,
    NewCampaign,
    SignatureOrder,
)
from sordino_server.campaigns.status import status_of
from sordino_server.context import Context, Injected
from sordino_server.errors import ServerError
from sordino_server.keys import service as keys
from sordino_server.keys.authentication import Analyst
from sordino_server.keys.idempotency import IdempotentPost, Once, PostAnswer
from sordino_server.keys.operator_route import OperatorRoute
from sordino_server.kit.immutable import immutable_response
from sordino_server.kit.page_parameters import PageQuery
from sordino_server.kit.path_parameters import DigestPath, RoundPath
from sordino_server.models import Campaign, Role
from sordino_server.plans.readable import readable_document
from sordino_server.shuffled.round_keys import RoundKeys
from sordino_shared.protocol import CBOR_MEDIA_TYPE, CampaignState, Document, Manifest, Problem

router = APIRouter(prefix="/campaigns", tags=["campaigns"], route_class=OperatorRoute)
open_lists = APIRouter(prefix="/populations", tags=["campaigns"], route_class=OperatorRoute)

_CBOR_OR_JSON: dict[int | str, dict[str, Any]] = {200: {"content": {CBOR_MEDIA_TYPE: {}, "application/json": {}}}}


def campaign_filter_of(
    state: Annotated[CampaignState | None, Query(description="Campaigns in this state.")] = None,
    population: Annotated[str | None, Query(max_length=200, description="Campaigns for this population.")] = None,
    name: Annotated[str | None, Query(max_length=200, description="Campaigns of exactly this name.")] = None,
    id_prefix: Annotated[
        str | None, Query(pattern="^[0-9a-f]{1,64}$", description="Campaigns whose id begins like this.")
    ] = None,
    since: Annotated[
        int | None, Query(ge=0, lt=2**62, description="Campaigns created at this Unix time or later.")
    ] = None,
    archived: Annotated[
        bool | None, Query(description="Only archived campaigns, or only the others; default: all.")
    ] = None,
    series: Annotated[bool | None, Query(description="Only series, or only the others; default: all.")] = None,
) -> CampaignFilter:
    """The filter that a request names."""
    return CampaignFilter(
        state=state,
        population=population,
        name=name,
        id_prefix=id_prefix,
        since=since,
        archived=archived,
        series=series,
    )


CampaignsQuery = Annotated[CampaignFilter, Depends(campaign_filter_of)]


@router.post("", status_code=201, response_model=NewCampaign)
async def create_campaign(context: Injected, _: Analyst, once: Once, body: CampaignOrder) -> Response:
    """Create a campaign from a finished plan. Its manifest is immutable; its id is the manifest's digest."""
    if body.experiment is not None:
        plan = await anyio.to_thread.run_sync(_linear_plan, context, body.plan_request)
        if plan is not None:
            await context.checks.run(check_primary, body.experiment, plan)

    def act(session: Session) -> PostAnswer:
        now = context.clock.now()
        folder = context.settings.round_keys
        keys_of_rounds = None if folder is None else RoundKeys(folder)
        campaign = service.create(
            session, body, now, context.settings.population_mode, keys_of_rounds, token_hook=context.settings.token_hook
        )
        token = keys.create(session, body.name, Role.UPLOADER, now, campaign.id).text if body.upload_token else None
        end = reports_end(session, campaign, context.settings.raw_report_retention_days, now)
        shown = status_of(session, campaign, now).model_dump(mode="json")
        shown |= {"reports_days": end and end.days, "reports_until": end and end.until}
        location = f"/v1/campaigns/{campaign.id}"
        return PostAnswer(
            201, shown | {"upload_token": token}, location=location, remembered=shown | {"upload_token": None}
        )

    return await anyio.to_thread.run_sync(once.run, "create campaign", act)


def _linear_plan(context: Context, plan_request: str) -> PlanContents | None:
    with context.database.read("read plan of experiment") as session:
        return contents_of_plan(session, plan_request)


@router.get("")
def list_campaigns(context: Injected, _: Analyst, page: PageQuery, chosen: CampaignsQuery) -> CampaignList:
    """Campaigns, newest first; those that agree with every filter that is given."""
    with context.database.read("list campaigns") as session:
        rows, token = service.listed(session, page, chosen)
        return CampaignList(campaigns=[CampaignEntry.of(row) for row in rows], next_page_token=token)


@router.get("/{campaign_id}", response_class=Response, responses=_CBOR_OR_JSON)
def get_manifest(context: Injected, request: Request, campaign_id: DigestPath) -> Response:
    """The manifest that devices pin: immutable and public. CBOR for `Accept: application/cbor`, otherwise JSON."""
    with context.database.read("get manifest") as session:
        content = service.get(session, campaign_id).manifest
    if _accepts_cbor(request):
        return immutable_response(request, content, campaign_id, CBOR_MEDIA_TYPE)
    shown = json.dumps(readable_document(Manifest.read(content)), ensure_ascii=False).encode()
    return immutable_response(request, shown, f"{campaign_id}-json", "application/json")


@router.get("/{campaign_id}/task", response_class=Response, responses=_CBOR_OR_JSON)
def get_task(context: Injected, request: Request, campaign_id: DigestPath) -> Response:
    """The open round: the same bytes for all devices. CBOR for `Accept: application/cbor`, otherwise JSON."""
    task = tasks.task_for_devices(context.database, campaign_id, context.settings, context.clock.now())
    return _shared(context, request, task)


@router.get("/{campaign_id}/signature", response_class=Response, responses=_CBOR_OR_JSON)
def get_signatures(context: Injected, request: Request, campaign_id: DigestPath) -> Response:
    """The operators' signatures of the manifest; 404 where there are none. CBOR for `Accept: application/cbor`."""
    with context.database.read("get signatures") as session:
        signatures = finding.signatures_of(session, campaign_id)
    return _shared(context, request, signatures)


@router.post("/{campaign_id}/signatures", response_model=CampaignStatus)
def sign_campaign(context: Injected, _: Analyst, once: Once, campaign_id: DigestPath, body: SignatureOrder) -> Response:
    """Add an operator's signature of the manifest, for devices that pin its key; a manifest has up to four."""

    def sign(session: Session, target: Target, now: int) -> Campaign:
        finding.sign(session, target.campaign, body, now)
        return service.get(session, target.campaign)

    return _changed(once, CampaignChange("sign campaign", "", sign), Target(context=context, campaign=campaign_id))


@open_lists.get("/{name}/open", response_class=Response, responses=_CBOR_OR_JSON)
def list_open_campaigns(
    context: Injected,
    request: Request,
    name: Annotated[str, Path(min_length=1, max_length=200, description="The population as manifests have it.")],
) -> Response:
    """What is open for a population, for devices that know no campaign: the same bytes for all of them."""
    if not context.settings.public_lists:
        raise ServerError(Problem.NOT_FOUND, "this server lists no campaigns: SORDINO_PUBLIC_LISTS is off")
    with context.database.read("list open campaigns") as session:
        listed = finding.open_list(session, name)
    return _shared(context, request, listed)


@router.get("/{campaign_id}/status")
def get_status(context: Injected, _: Analyst, campaign_id: DigestPath) -> CampaignStatus:
    """State, rounds with the reports counted so far, and refused reports by reason."""
    with context.database.read("get campaign status") as session:
        return status_of(session, service.get(session, campaign_id), context.clock.now())


@router.get("/{campaign_id}/progress")
def get_progress(context: Injected, _: Analyst, campaign_id: DigestPath) -> CampaignProgress:
    """Devices counted and wanted, when it closes at this rate, and the error by the number of devices."""
    with context.database.read("get campaign progress") as session:
        now = context.clock.now()
        status = status_of(session, service.get(session, campaign_id), now)
        return progress_of(status, rate_of(session, status, now), now)


def _add_action(word: str, change: CampaignChange) -> None:
    def act(context: Injected, _: Analyst, once: Once, campaign_id: DigestPath) -> Response:
        return _changed(once, change, Target(context=context, campaign=campaign_id))

    act.__name__, act.__doc__ = change.name.replace(" ", "_"), change.text
    router.post(f"/{{campaign_id}}/{word}", response_model=CampaignStatus)(act)


def _add_round_action(word: str, change: CampaignChange) -> None:
    def act(context: Injected, _: Analyst, once: Once, campaign_id: DigestPath, index: RoundPath) -> Response:
        return _changed(once, change, Target(context=context, campaign=campaign_id, index=index))

    act.__name__, act.__doc__ = change.name.replace(" ", "_"), change.text
    router.post(f"/{{campaign_id}}/rounds/{{index}}/{word}", response_model=CampaignStatus)(act)


def _changed(once: IdempotentPost, change: CampaignChange, target: Target) -> Response:
    def act(session: Session) -> PostAnswer:
        now = target.context.clock.now()
        campaign = change.act(session, target, now)
        session.flush()
        return PostAnswer(200, status_of(session, campaign, now).model_dump(mode="json"))

    return once.run(change.name, act)


@router.post("/{campaign_id}/open", response_model=CampaignStatus)
def open_campaign(
    context: Injected,
    _: Analyst,
    once: Once,
    campaign_id: DigestPath,
    unwitnessed: Annotated[
        bool, Query(description="Open without waiting for the witnesses of the public log.")
    ] = False,
) -> Response:
    """Open the campaign: its first round accepts reports."""
    target = Target(context=context, campaign=campaign_id, unwitnessed=unwitnessed)
    return _changed(once, OF_CAMPAIGN["open"], target)


for word, change in OF_CAMPAIGN.items():
    if word != "open":
        _add_action(word, change)


@router.delete("/{campaign_id}", status_code=204)
def delete_campaign(context: Injected, operator: Analyst, campaign_id: DigestPath) -> None:
    """Delete a campaign that was never opened, with its upload tokens."""

    def delete(session: Session) -> None:
        service.delete(session, campaign_id, context.clock.now())
        keys.record(session, operator, "delete campaign", f"/v1/campaigns/{campaign_id}", context.clock.now())

    context.database.run("delete campaign", delete)


for word, change in OF_ROUND.items():
    _add_round_action(word, change)


def _shared(context: Context, request: Request, document: Document) -> Response:
    """A document that is the same for everybody, and kept by caches for a short time."""
    headers = {"Cache-Control": f"public, max-age={context.settings.task_max_age_s}", "Vary": "Accept"}
    if _accepts_cbor(request):
        return Response(document.content, headers=headers, media_type=CBOR_MEDIA_TYPE)
    shown = json.dumps(readable_document(document), ensure_ascii=False).encode()
    return Response(shown, headers=headers, media_type="application/json")


def _accepts_cbor(request: Request) -> bool:
    """Whether CBOR is named: devices do, and browsers and curl do not."""
    named = (item.partition(";")[0].strip() for item in request.headers.get("accept", "").lower().split(","))
    return CBOR_MEDIA_TYPE in named
