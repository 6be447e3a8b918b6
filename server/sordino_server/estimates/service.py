"""What comes of a closed round: its estimate, or the plan of the next round; the estimate is read as it was stored."""

from __future__ import annotations

from sqlalchemy.orm import Session

from sordino_analysis.estimation.linear import estimate
from sordino_analysis.pairwise.protocol import RoundPlan
from sordino_analysis.questions.queries_document import rebuild_workload
from sordino_server import rounds
from sordino_server.aggregates import aggregate
from sordino_server.campaigns import service as campaigns
from sordino_server.campaigns.succession import open_next_round
from sordino_server.errors import ServerError
from sordino_server.estimates import repository
from sordino_server.estimates.document import document_of
from sordino_server.estimates.steps import after_round
from sordino_server.kit.db import Database
from sordino_server.models import Estimate, Round
from sordino_server.plans import service as plans
from sordino_shared.protocol import CampaignState, Manifest, Problem, RoundState

RETRY_AFTER_S = 2


def stored(session: Session, campaign: str, index: int) -> bytes:
    """The bytes of the estimate; raises `not-found`, or `estimate-not-ready` with the reason."""
    row = rounds.find(session, campaign, index)
    if row is None:
        raise rounds.RoundNotFound(campaign, index)
    content = repository.find(session, row.id)
    if content is None:
        raise _not_ready(session, row)
    return content


def stored_last(session: Session, campaign: str) -> bytes:
    """The bytes of the campaign's estimate, whatever round it came from; raises as `stored` does."""
    content = repository.find_last(session, campaign)
    if content is None:
        known = rounds.of_campaign(session, campaigns.get(session, campaign).id)
        raise _not_ready(session, known[-1])
    return content


def compute(database: Database, number: int) -> bytes | RoundPlan:
    """Canonical bytes of the estimate after the closed round with row number `number`, or the next round's plan.

    Raises EstimationError or PairwiseError where the reports allow neither, AggregateMismatch where they were tampered
    with.
    """
    with database.read("read closed round") as session:
        row = session.get_one(Round, number)
        campaign = campaigns.get(session, row.campaign_id)
    manifest = Manifest.read(campaign.manifest)
    if manifest.protocol is not None:
        closed_early = campaign.state == CampaignState.CLOSED and row.index + 1 < len(manifest.rounds)
        return after_round(database, manifest, row.index, conclude=closed_early)
    with database.read("read plan of the round") as session:
        device, analyst = plans.device_part(session, row.device_digest), plans.analyst_part(session, row.analyst_digest)
    result = estimate(device, analyst, aggregate(database, number, device.randomizer))
    labels = rebuild_workload(device.domain, analyst.queries).labels()
    return document_of(row.campaign_id, row.index, device, analyst, labels, result).content()


def publish(
    database: Database, session: Session, number: int, owner: str, outcome: bytes | RoundPlan, now: int
) -> None:
    """Store the estimate or open the next round, and finish the round, in one transaction; raises `LeaseLost`.

    Where the campaign was closed by hand meanwhile, a next round is not opened: the round waits for a worker again,
    that works out what the rounds so far allow.
    """
    row = session.get_one(Round, number)
    # The campaign before its round, as everybody locks them.
    campaign = campaigns.locked(session, row.campaign_id)
    if isinstance(outcome, RoundPlan) and campaign.state == CampaignState.CLOSED:
        rounds.give_back(session, number, owner)
        return
    rounds.mark_estimated(session, number, owner)
    if isinstance(outcome, RoundPlan):
        open_next_round(database, session, campaign, row.index + 1, outcome, now)
        return
    repository.add(session, Estimate(round_id=number, content=outcome, created_at=now))
    if campaign.state == CampaignState.OPEN:
        campaigns.close_campaign(database, session, campaign.id, now)


def _not_ready(session: Session, row: Round) -> ServerError:
    state = RoundState(row.state)
    name, planned = f"round {row.index}", len(Manifest.read(campaigns.get(session, row.campaign_id).manifest).rounds)
    if row.error is not None:
        return _refusal(f"{name} has no estimate: {row.error}", state)
    if state is RoundState.CLOSED:
        return _refusal(f"what comes of {name} is being computed", state, retry_after=RETRY_AFTER_S)
    if state is RoundState.CANCELLED:
        return _refusal(f"{name} was cancelled and will have no estimate", state)
    if state is RoundState.ESTIMATED:
        return _refusal(
            f"{name} of {planned} gave the plan of round {row.index + 1}; the answer is the campaign's: "
            f"/v1/campaigns/{row.campaign_id}/estimates",
            state,
        )
    return _refusal(f"{name} of {planned} is {state}; close it first", state)


def _refusal(detail: str, state: RoundState, **extra: int) -> ServerError:
    return ServerError(Problem.ESTIMATE_NOT_READY, detail, state=state.value, **extra)
