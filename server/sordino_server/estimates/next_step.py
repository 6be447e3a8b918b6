"""What follows from a closed round: its estimate or the plan of the next round, a function of the database alone.

Only workers import this module: it needs the estimators.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from sordino_analysis.estimation.linear import estimate
from sordino_analysis.pairwise.protocol import ClosedRound, PairwiseError, RoundPlan
from sordino_analysis.pairwise.protocol_plan import ProtocolPlan
from sordino_analysis.pairwise.protocol_registry import conclude_protocol, step_protocol
from sordino_analysis.questions.queries_document import rebuild_workload
from sordino_server import rounds
from sordino_server.aggregates import aggregate
from sordino_server.campaigns import service as campaigns
from sordino_server.campaigns.succession import open_next_round
from sordino_server.estimates import repository
from sordino_server.estimates.document import document_of
from sordino_server.estimates.pairwise_document import statistic_document
from sordino_server.kit.db import Database
from sordino_server.models import Estimate, Round
from sordino_server.plans import service as plans
from sordino_shared.protocol import CampaignState, Manifest


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
        return _after_round(database, manifest, row.index, conclude=closed_early)
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
        open_next_round(database, session, campaign, row.index + 1, outcome.device, outcome.analyst, now)
        return
    repository.add(session, Estimate(round_id=number, content=outcome, created_at=now))
    if campaign.state == CampaignState.OPEN:
        campaigns.close_campaign(database, session, campaign.id, now)


def _after_round(database: Database, manifest: Manifest, last: int, *, conclude: bool) -> bytes | RoundPlan:
    """What follows after rounds 0 … `last`: the next round's plan, or the canonical bytes of the estimate.

    `conclude` asks for the estimate, since no further round will be opened. Raises PairwiseError if there is neither.
    """
    plan, closed = _read(database, manifest, last)
    # Where nobody answered the last round of all, the protocol may still have an answer from the others.
    if closed[-1].aggregate.count == 0 and last + 1 < len(manifest.rounds):
        raise PairwiseError(
            f"no report was counted in round {last}, so nothing follows from it; cancel the campaign and "
            "start another one that stays open for longer",
            last,
        )
    outcome = (conclude_protocol if conclude else step_protocol)(plan, closed)
    if isinstance(outcome, RoundPlan):
        return outcome
    return statistic_document(manifest, plan, closed, outcome).content()


def _read(database: Database, manifest: Manifest, last: int) -> tuple[ProtocolPlan, tuple[ClosedRound, ...]]:
    with database.read("read closed rounds") as session:
        plan = plans.protocol_plan(session, str(manifest.protocol))
        known = rounds.of_campaign(session, str(manifest.campaign))[: last + 1]
        asked = [
            RoundPlan(plans.device_part(session, row.device_digest), plans.analyst_part(session, row.analyst_digest))
            for row in known
        ]
    sums = (aggregate(database, row.id, each.device.randomizer) for row, each in zip(known, asked, strict=True))
    return plan, tuple(ClosedRound(each, total) for each, total in zip(asked, sums, strict=True))
