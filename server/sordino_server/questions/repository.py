"""The one query that a list of questions needs beside its campaigns."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from sordino_server.models import Accumulator, Batch, BatchState, ClosingRule, Round


@dataclass(frozen=True)
class CountedRound:
    """A round, the devices that answered in it, and the reports after which it closes by itself."""

    devices: int
    closes_after: int | None
    error: str | None


def counted_rounds(session: Session, campaigns: Collection[str], most: int) -> dict[str, list[CountedRound]]:
    """The newest `most` rounds of each campaign in order; random reports of a counted batch are no devices."""
    place = func.row_number().over(partition_by=Round.campaign_id, order_by=Round.index.desc())
    newest = select(Round.id, place.label("place")).where(Round.campaign_id.in_(campaigns)).subquery()
    reports = select(func.coalesce(func.sum(Accumulator.count), 0)).where(Accumulator.round_id == Round.id)
    rule = (ClosingRule.campaign_id == Round.campaign_id) & (ClosingRule.index == Round.index)
    batch = (Batch.round_id == Round.id) & (Batch.state == BatchState.COUNTED)
    columns = (Round.campaign_id, Round.error, ClosingRule.after_reports, Batch.blanket)
    query = select(*columns, reports.scalar_subquery().label("reports")).join(newest, newest.c.id == Round.id)
    query = query.outerjoin(ClosingRule, rule).outerjoin(Batch, batch)
    found: dict[str, list[CountedRound]] = {campaign: [] for campaign in campaigns}
    for row in session.execute(query.where(newest.c.place <= most).order_by(Round.index)):
        devices = max(0, int(row.reports) - (row.blanket or 0))
        found[row.campaign_id].append(CountedRound(devices, row.after_reports, row.error))
    return found
