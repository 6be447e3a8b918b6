"""A collector's closed rounds: each is added up under a lease, and its sums are sent until the home has them."""

from __future__ import annotations

from sqlalchemy.orm import Session

from sordino_analysis.archive.aggregate_document import AggregateDocument
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_server import aggregates, rounds
from sordino_server.collecting import repository
from sordino_server.kit import leases
from sordino_server.kit.db import Database
from sordino_server.models import Round, SourceSums
from sordino_server.plans import service as plans
from sordino_shared.protocol import CampaignId, Digest

# A round is sent once, when it takes no more reports.
_NUMBER = 1


def claim(session: Session, campaigns: list[str], *, owner: str, now: int, seconds: int) -> Round | None:
    """A closed round of these campaigns whose sums the home lacks, held by `owner` for `seconds`; None: none."""
    rounds.give_up(session, now)
    return leases.claim(session, Round, repository.unsent(campaigns), Round.id, owner=owner, now=now, seconds=seconds)


def document_of(database: Database, row: Round, source: str, processes: int) -> AggregateDocument:
    """The sums of a closed round: the same bytes whenever they are made. Raises AggregateMismatch, LogPurged."""
    with database.read("read plan of sums") as session:
        device = plans.device_part(session, row.device_digest)
    total = aggregates.own_aggregate(database, row.id, device.randomizer, processes=processes)
    for_randomizer(device.randomizer).check(total.sums, total.count)
    return AggregateDocument(
        campaign=CampaignId.parse(row.campaign_id),
        round=row.index,
        device_digest=Digest.parse(row.device_digest),
        source=source,
        number=_NUMBER,
        count=total.count,
        sums=total.to_bytes(),
        manifest=None,
        parts=(),
        parts_in_all=0,
    )


def mark_sent(session: Session, number: int, owner: str, sums: AggregateDocument, now: int) -> None:
    """The home has the sums; raises `LeaseLost`."""
    row = leases.hold(session, Round, number, owner)
    session.add(
        SourceSums(round_id=number, source=sums.source, number=sums.number, digest=str(sums.digest), received_at=now)
    )
    row.attempts = 0
    leases.release(row)
