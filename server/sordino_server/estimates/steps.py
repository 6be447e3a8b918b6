"""A protocol's next step, from the rounds that are closed: a function of what is in the database alone."""

from __future__ import annotations

from sordino_analysis.pairwise.protocol import ClosedRound, PairwiseError, RoundPlan
from sordino_analysis.pairwise.protocol_plan import ProtocolPlan
from sordino_analysis.pairwise.protocol_registry import conclude_protocol, step_protocol
from sordino_server import rounds
from sordino_server.aggregates import aggregate
from sordino_server.estimates.pairwise_document import statistic_document
from sordino_server.kit.db import Database
from sordino_server.plans import service as plans
from sordino_shared.protocol import Manifest


def after_round(database: Database, manifest: Manifest, last: int, *, conclude: bool) -> bytes | RoundPlan:
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
