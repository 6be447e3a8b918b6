"""Campaigns: created from a finished plan, opened once, closed or cancelled permanently."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from sqlalchemy.orm import Session

from sordino_analysis.documents.protocol_plans import AnyProtocolPlan
from sordino_server.campaigns import repository
from sordino_server.campaigns.arm_terms import arms_of
from sordino_server.campaigns.campaign_filter import CampaignFilter, CampaignSort
from sordino_server.campaigns.gate_terms import check_gate
from sordino_server.campaigns.question import question_of
from sordino_server.campaigns.route_order import end_of, new_keys, route_of_order, with_end
from sordino_server.campaigns.schemas import CampaignOrder
from sordino_server.campaigns.series_rate import purpose_of, texts_of_series
from sordino_server.campaigns.series_terms import SeriesOrder, spending
from sordino_server.campaigns.server_terms import servers_of
from sordino_server.campaigns.text_terms import texts_of
from sordino_server.config import PopulationMode
from sordino_server.errors import ServerError, found
from sordino_server.kit.db import Database
from sordino_server.kit.pagination import Page, cut
from sordino_server.models import Base, Campaign, ClosingRule
from sordino_server.plans import service as plans
from sordino_server.plans.service import ReadyPlan
from sordino_server.populations import service as populations
from sordino_server.populations.service import CampaignCharge, CapUse
from sordino_server.public_log import entries
from sordino_server.rounds import periods, round_lifecycle
from sordino_server.rounds.sealing import sealed_round
from sordino_server.shuffled.round_keys import NewKeys, RoundKeys
from sordino_server.sources import service as sources
from sordino_server.tokens.issuer import NewIssuer
from sordino_server.workloads import service as workloads
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import (
    CampaignState,
    DevicePart,
    Digest,
    DrawOneRound,
    EveryRound,
    Manifest,
    PlanReference,
    Problem,
    Rotating,
    RoundAssignment,
    RoundTerms,
    check_built,
    successor_faults,
)

# What an estimate lists all types of.
MOST_CELLS = 1 << 16
# One that is comparable is the month or the week before: an older one is chosen by hand.
_MOST_COMPARED = 20


def create(
    session: Session,
    order: CampaignOrder,
    now: int,
    mode: PopulationMode = "open",
    round_keys: RoundKeys | None = None,
    *,
    token_hook: Path | None = None,
) -> Campaign:
    """A campaign whose first round is ready to be opened; its id is the digest of its manifest.

    The keys of a shuffled one are in `round_keys` before the campaign is. The gate `hook` needs a `token_hook`.
    """
    ready = plans.ready_plan(session, order.plan_request)
    order = with_end(order, now)
    keys = None if order.route is None else new_keys(order, now, round_keys)
    issuer = None if order.gate is None else NewIssuer.make(order.gate.gate(), _round_count(session, ready))
    manifest = _manifest(session, order, ready, now, keys, issuer)
    check_built(manifest)
    check_gate(manifest.gate, token_hook)
    if keys is not None and round_keys is not None:
        round_keys.keep(str(manifest.campaign), keys)
    populations.check_open_to(session, manifest.population, mode)
    identifier = str(manifest.campaign)
    campaign = Campaign.of(
        manifest,
        now,
        needs_token=order.upload_token,
        public=order.public,
        kind=workloads.get(session, ready.workload).kind,
        question=_question(order, ready),
        sources_deadline_s=order.sources_deadline_s,
    )
    if not repository.add(session, campaign, _belongings(session, order, manifest, ready, now, issuer)):
        raise ServerError(
            Problem.ALREADY_EXISTS, f"campaign {identifier} was created this second with the same terms", id=identifier
        )
    entries.campaign_sealed(session, manifest, now)
    return campaign


def listed(
    session: Session, page: Page, chosen: CampaignFilter, sort: CampaignSort = CampaignSort.NEWEST
) -> tuple[Sequence[Campaign], str | None]:
    """A page of the campaigns that the filter chooses, sorted, and the token of the next one."""
    return cut(repository.listed(session, page, chosen, sort), page)


def names_of(session: Session, ids: Collection[str]) -> dict[str, str]:
    """The names of these campaigns, by their ids; deleted ones have none."""
    return repository.names_of(session, ids)


def comparable_before(session: Session, campaign: Campaign) -> str | None:
    """The id of the last campaign that closed before this one and asked the same population about the same values."""
    domain = Manifest.read(campaign.manifest).domain
    earlier = repository.closed_before(session, campaign, _MOST_COMPARED)
    return next((row.id for row in earlier if Manifest.read(row.manifest).domain == domain), None)


def counts_by_state(session: Session) -> dict[CampaignState, int]:
    """How many campaigns there are in each state, without archived ones."""
    return repository.counts_by_state(session)


def _question(order: CampaignOrder, ready: ReadyPlan) -> str | None:
    if ready.summary is None:
        return None
    return question_of(ready.summary, order.plan_request, ready.workload).model_dump_json()


def _belongings(
    session: Session, order: CampaignOrder, manifest: Manifest, ready: ReadyPlan, now: int, issuer: NewIssuer | None
) -> list[Base]:
    """The rows of a new campaign: its first round and closing rules, or the terms of a series."""
    identifier = str(manifest.campaign)
    if isinstance(manifest.assignment, Rotating):
        if order.close_after_reports is not None or order.close_after_s is not None:
            raise InvalidValue("/series: the periods of a series close by their time; leave out close_after_…")
        _check_replaced(session, manifest)
        return [periods.row_of(manifest, manifest.assignment)]
    first = sealed_round(manifest, 0, ready.device, ready.analyst, now)
    rule = [] if order.experiment is None else [order.experiment.row(identifier)]
    return [
        first,
        *_rules(order, identifier, len(manifest.rounds)),
        *rule,
        *(() if issuer is None else issuer.rows(identifier)),
    ]


def _check_replaced(session: Session, manifest: Manifest) -> None:
    """Raise InvalidValue unless devices of the series that this one replaces would go on with it."""
    assert isinstance(manifest.assignment, Rotating)
    replaced = manifest.assignment.replaces
    if replaced is None:
        return
    old = repository.find(session, str(replaced))
    if old is None:
        raise InvalidValue(f"/series/replaces: there is no series {replaced} here", str(replaced))
    faults = successor_faults(Manifest.read(old.manifest), manifest)
    if faults:
        raise InvalidValue(f"/series/replaces: devices would refuse it: {'; '.join(faults)}", faults)


def _rules(order: CampaignOrder, campaign: str, count: int) -> list[ClosingRule]:
    return [
        ClosingRule(campaign_id=campaign, index=index, after_reports=reports, after_s=seconds)
        for index, (reports, seconds) in enumerate(order.closing(count))
        if reports is not None or seconds is not None
    ]


def _round_count(session: Session, ready: ReadyPlan) -> int:
    return 1 if ready.protocol is None else len(plans.protocol_plan(session, ready.protocol).round_guarantees())


def _manifest(
    session: Session,
    order: CampaignOrder,
    ready: ReadyPlan,
    now: int,
    keys: NewKeys | None,
    issuer: NewIssuer | None,
) -> Manifest:
    device = plans.device_part(session, ready.device)
    whole = None if ready.protocol is None else plans.protocol_plan(session, ready.protocol)
    spends = [device.guarantee] if whole is None else list(whole.round_guarantees())
    allowed = device.guarantee if whole is None else PureEpsilon(whole.guarantee)
    assignment, purpose, texts = _assignment(whole), order.purpose, texts_of(order.texts)
    if order.series is not None:
        assignment, allowed = _series(session, order.series, ready, whole, device, now)
        purpose, texts = purpose_of(purpose, assignment), texts_of_series(texts, assignment)
    known = PlanReference(Digest.parse(ready.device), Digest.parse(ready.analyst))
    return Manifest(
        name=order.name,
        purpose=purpose,
        population=order.population,
        created_at=now,
        domain=device.domain,
        device_guarantee=allowed if order.device_epsilon is None else PureEpsilon.of(order.device_epsilon),
        rounds=tuple(RoundTerms(each, None if index else known) for index, each in enumerate(spends)),
        assignment=assignment,
        protocol=None if whole is None else whole.digest,
        servers=servers_of(tuple(order.servers), order.upload_token),
        route=route_of_order(session, order, ready, keys, None if issuer is None else issuer.terms),
        arms=arms_of(order.arms, workloads.get(session, ready.workload).kind),
        texts=texts,
    )


def _series(
    session: Session,
    order: SeriesOrder,
    ready: ReadyPlan,
    whole: AnyProtocolPlan | None,
    device: DevicePart,
    now: int,
) -> tuple[Rotating, PureEpsilon]:
    """How devices take turns, and what each spends for life; raises InvalidValue for a plan of another kind."""
    if whole is not None:
        raise InvalidValue(
            "/series: a series asks linear queries, one round a period; this plan is a protocol of rounds"
        )
    cells = device.domain.size
    if cells > MOST_CELLS and not device.domain.holds_strings:
        raise InvalidValue(f"/series: the domain of a series has at most {MOST_CELLS} cells, this one {cells}", cells)
    assignment = order.assignment(now)
    return assignment, spending(device.guarantee, assignment)


def _assignment(whole: AnyProtocolPlan | None) -> RoundAssignment:
    return EveryRound() if whole is None or whole.weights is None else DrawOneRound(whole.weights)


def get(session: Session, identifier: str) -> Campaign:
    """The campaign of this digest; raises `not-found`."""
    return found(repository.find(session, identifier), "there is no campaign of this id")


def open_campaign(
    database: Database, session: Session, identifier: str, now: int, mode: PopulationMode = "open"
) -> Campaign:
    """From ready to open; round 0 takes reports from the commit on. Raises `PopulationBudgetExceeded`."""
    campaign = round_lifecycle.lock_campaign(session, identifier)
    sources.check_complete(session, Manifest.read(campaign.manifest))
    round_lifecycle.change_campaign(session, campaign, CampaignState.OPEN, now)
    campaign.archived_at = None
    asked = _charge(session, campaign)
    populations.charge(session, campaign.population, asked, now, mode)
    end = end_of(campaign)
    if end is not None:
        _end_with_shuffler(session, identifier, end, now)
    if asked.series is None:
        round_lifecycle.open_round(database, session, identifier, 0, now)
    return campaign


def _end_with_shuffler(session: Session, identifier: str, end: int, now: int) -> None:
    """The round closes here when it does there; raises `illegal-transition` where that is past."""
    if end <= now:
        raise ServerError(
            Problem.ILLEGAL_TRANSITION, f"the campaign ended at {end}, before it was opened: create another"
        )
    session.add(ClosingRule(campaign_id=identifier, index=0, after_reports=None, after_s=end - now))


def cap_uses(session: Session, campaign: Campaign, now: int, mode: PopulationMode = "open") -> list[CapUse]:
    """What opening the campaign would do to each cap of its population; raises InvalidValue where it may not."""
    asked = _charge(session, campaign)
    return populations.uses(session, campaign.population, asked, now, mode)


def _charge(session: Session, campaign: Campaign) -> CampaignCharge:
    allowed = Manifest.read(campaign.manifest).device_guarantee
    return CampaignCharge(campaign.id, allowed, periods.find_series(session, campaign.id))


def close_campaign(database: Database, session: Session, identifier: str, now: int) -> Campaign:
    """From open to closed; a worker estimates what the rounds so far allow."""
    campaign = round_lifecycle.lock_campaign(session, identifier)
    series = periods.find_series(session, identifier)
    if series is None:
        round_lifecycle.end_campaign(database, session, campaign, CampaignState.CLOSED, now)
        return campaign
    round_lifecycle.change_campaign(session, campaign, CampaignState.CLOSED, now)
    periods.end_series(database, session, series, now)
    return campaign


def pause_series(session: Session, identifier: str, now: int) -> Campaign:
    """Take no reports until it is resumed; raises `illegal-transition`."""
    campaign = round_lifecycle.lock_campaign(session, identifier)
    periods.pause(session, campaign, now)
    return campaign


def resume_series(session: Session, identifier: str, now: int) -> Campaign:
    """Take reports again; raises `illegal-transition`."""
    campaign = round_lifecycle.lock_campaign(session, identifier)
    periods.resume(session, campaign, now)
    return campaign


def cancel_campaign(database: Database, session: Session, identifier: str, now: int) -> Campaign:
    """From ready or open to cancelled; what was reported since the last sealed plan is never used."""
    campaign = round_lifecycle.lock_campaign(session, identifier)
    round_lifecycle.end_campaign(database, session, campaign, CampaignState.CANCELLED, now)
    return campaign


def archive(session: Session, identifier: str, now: int) -> Campaign:
    """No longer listed, until it is restored or opened; raises `illegal-transition` while it is open."""
    campaign = round_lifecycle.lock_campaign(session, identifier)
    if campaign.state == CampaignState.OPEN:
        raise ServerError(Problem.ILLEGAL_TRANSITION, "the campaign is open; close or cancel it before it is archived")
    campaign.archived_at = now if campaign.archived_at is None else campaign.archived_at
    return campaign


def restore(session: Session, identifier: str) -> Campaign:
    """Listed again."""
    campaign = round_lifecycle.lock_campaign(session, identifier)
    campaign.archived_at = None
    return campaign


def delete(session: Session, identifier: str, now: int) -> None:
    """Delete a campaign that was never opened, with its upload tokens; raises `illegal-transition` for any other."""
    campaign = round_lifecycle.lock_campaign(session, identifier)
    if campaign.state != CampaignState.READY:
        detail = f"the campaign is {campaign.state}, and only one that was never opened can be deleted; archive it"
        raise ServerError(Problem.ILLEGAL_TRANSITION, detail, state=campaign.state)
    # Its entry stays in the public log, which says that it ended.
    entries.campaign_ended(session, campaign, now)
    repository.delete(session, campaign)


def close_round(database: Database, session: Session, identifier: str, index: int, now: int) -> Campaign:
    """Close an open round; the campaign closes with its last one."""
    campaign = round_lifecycle.lock_campaign(session, identifier)
    if round_lifecycle.is_series(campaign):
        raise ServerError(
            Problem.ILLEGAL_TRANSITION,
            "the periods of a series close by themselves, when their reports no longer count; end or pause the series",
            state=campaign.state,
        )
    round_lifecycle.close_round_of(database, session, campaign, index, now)
    return campaign


def retry_round(database: Database, session: Session, identifier: str, index: int) -> Campaign:
    """Have a worker take up a closed round again that failed."""
    campaign = round_lifecycle.lock_campaign(session, identifier)
    round_lifecycle.retry_round(database, session, identifier, index)
    return campaign


def waive_sources(database: Database, session: Session, identifier: str, index: int, now: int) -> Campaign:
    """Have a worker go on from a closed round without the sums that have not come."""
    campaign = round_lifecycle.lock_campaign(session, identifier)
    round_lifecycle.waive_sources(database, session, identifier, index, now)
    return campaign
