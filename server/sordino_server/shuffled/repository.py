"""Batches and their pages in the database."""

from __future__ import annotations

import hashlib
from collections.abc import Collection

from sqlalchemy import delete, false, func, select, update
from sqlalchemy.orm import Session

from sordino_server.aggregates import shard_name
from sordino_server.models import Accumulator, Batch, BatchState, Round, SealedPage
from sordino_shared.protocol import RoundState


def find(session: Session, round_id: int) -> Batch | None:
    """The batch of a round, as it is now."""
    return session.get(Batch, round_id, populate_existing=True)


def of_rounds(session: Session, rounds: Collection[int]) -> dict[int, Batch]:
    """The batches of those of the rounds that have one."""
    query = select(Batch).where(Batch.round_id.in_(rounds)).execution_options(populate_existing=True)
    return {row.round_id: row for row in session.scalars(query)}


def page(session: Session, round_id: int, number: int) -> SealedPage | None:
    """One page."""
    return session.get(SealedPage, (round_id, number))


def root(session: Session, round_id: int) -> bytes:
    """SHA-256 of the ids of all pages in order."""
    digest = hashlib.sha256()
    query = select(SealedPage.ids).where(SealedPage.round_id == round_id).order_by(SealedPage.page)
    for ids in session.scalars(query.execution_options(yield_per=16)):
        digest.update(ids)
    return digest.digest()


def sealed_pages(session: Session, round_id: int) -> list[int]:
    """The numbers of the pages that are not counted yet, ascending."""
    query = select(SealedPage.page).where(SealedPage.round_id == round_id, SealedPage.sealed.is_not(None))
    return list(session.scalars(query.order_by(SealedPage.page)))


def take_sealed(session: Session, round_id: int, number: int) -> bool:
    """Whether the page was sealed until now; from the commit on it is counted, and its reports are gone."""
    still = (SealedPage.round_id == round_id, SealedPage.page == number, SealedPage.sealed.is_not(None))
    found = session.scalar(select(SealedPage.page).where(*still))
    session.execute(update(SealedPage).where(*still).values(sealed=None))
    return found is not None


def note_refused(session: Session, round_id: int, reports: int) -> None:
    """Add to the count of reports that could not be opened or have no valid payload."""
    session.execute(update(Batch).where(Batch.round_id == round_id).values(refused=Batch.refused + reports))


def count_by_state(session: Session) -> dict[str, int]:
    """How many batches are in each state."""
    query = select(Batch.state, func.count()).group_by(Batch.state)
    counted = {state: int(count) for state, count in session.execute(query)}
    return {str(state): counted.get(state, 0) for state in BatchState}


def reports_by_kind(session: Session) -> dict[str, int]:
    """Reports of all batches that are opened: of devices and random ones by the statements, and those refused."""
    sums = (func.coalesce(func.sum(column), 0) for column in (Batch.received, Batch.blanket, Batch.refused))
    row = session.execute(select(*sums).where(Batch.state == BatchState.COUNTED)).one()
    return dict(zip(("devices", "random", "refused"), map(int, row), strict=True))


def oldest_missing(session: Session) -> int | None:
    """When the oldest round closed whose shuffler has not said that its batch is whole, or that there is none."""
    missing = Round.shuffled & Batch.round_id.is_(None) | (Batch.state == BatchState.RECEIVING)
    query = select(func.min(Round.closed_at)).outerjoin(Batch, Batch.round_id == Round.id)
    return session.scalar(query.where(Round.state == RoundState.CLOSED, missing))


def delete_pages(session: Session, round_id: int) -> None:
    """All pages of a round that is released no more."""
    session.execute(delete(SealedPage).where(SealedPage.round_id == round_id))


def shard(session: Session, round_id: int, name: str, arm: int) -> tuple[int, bytes] | None:
    """Count and sums of one writer's share of an arm, None before its first report."""
    row = session.get(Accumulator, (round_id, shard_name(name, arm)), populate_existing=True)
    return None if row is None else (row.count, row.sums)


def rounds_of(session: Session, campaign: str) -> list[tuple[int, bool]]:
    """(index, whether it is estimated, cancelled or withheld) of each round."""
    ended = Round.state.in_([RoundState.ESTIMATED, RoundState.CANCELLED]) | (Batch.state == BatchState.WITHHELD)
    query = select(Round.index, func.coalesce(ended, false())).outerjoin(Batch, Batch.round_id == Round.id)
    return [(index, bool(over)) for index, over in session.execute(query.where(Round.campaign_id == campaign))]
