"""What follows from a closed round: its estimate or the plan of the next round, a function of the database alone.

Only workers import this module: it needs the estimators.
"""

from __future__ import annotations

from sordino_analysis.documents.protocol_plan import ProtocolPlan
from sordino_analysis.estimation.linear import estimate
from sordino_analysis.pairwise.protocol import PairwiseError
from sordino_analysis.pairwise.protocol_registry import conclude_protocol, step_protocol
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_analysis.questions.linear.building import build_workload
from sordino_server import rounds
from sordino_server.aggregates import aggregate
from sordino_server.campaigns import service as campaigns
from sordino_server.estimates.document import document_of
from sordino_server.estimates.pairwise_document import statistic_document
from sordino_server.kit.db import Database
from sordino_server.models import Round
from sordino_server.plans import service as plans
from sordino_server.rounds.round_lifecycle import EstimateReady, NextRound, Outcome
from sordino_shared.protocol import CampaignState, Manifest


def compute(database: Database, number: int) -> Outcome:
    """The estimate after the closed round with row number `number`, or the plan of the next round.

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
    labels = build_workload(device.domain, analyst.queries).labels()
    document = document_of(row.campaign_id, row.index, device, analyst, labels, result)
    return EstimateReady(document.content())


def _after_round(database: Database, manifest: Manifest, last: int, *, conclude: bool) -> Outcome:
    """What follows after rounds 0 … `last`: the next round's plan, or the estimate.

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
        return NextRound(outcome.device, outcome.analyst)
    return EstimateReady(statistic_document(manifest, plan, closed, outcome).content())


def _read(database: Database, manifest: Manifest, last: int) -> tuple[ProtocolPlan, tuple[ClosedRound, ...]]:
    with database.read("read closed rounds") as session:
        plan = plans.protocol_plan(session, str(manifest.protocol))
        known = rounds.of_campaign(session, str(manifest.campaign))[: last + 1]
        sealed = [
            RoundPlan(plans.device_part(session, row.device_digest), plans.analyst_part(session, row.analyst_digest))
            for row in known
        ]
    sums = (aggregate(database, row.id, each.device.randomizer) for row, each in zip(known, sealed, strict=True))
    return plan, tuple(ClosedRound(each, total) for each, total in zip(sealed, sums, strict=True))
