"""Queries on releases."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from sordino_server.kit import leases, pagination
from sordino_server.kit.pagination import Page
from sordino_server.models import Release, ReleaseState


def add(session: Session, release: Release) -> None:
    """Insert a release."""
    session.add(release)
    session.flush()


def find(session: Session, identifier: str) -> Release | None:
    """The release of this id."""
    return session.get(Release, identifier)


def find_by_key(session: Session, dataset: str, key: str) -> Release | None:
    """The release from the dataset that was asked for with this Idempotency-Key."""
    return session.scalars(select(Release).where(Release.dataset_id == dataset, Release.key == key)).first()


def content(session: Session, identifier: str) -> bytes | None:
    """The answers as canonical bytes."""
    return session.scalar(select(Release.content).where(Release.id == identifier))


def plan(session: Session, identifier: str) -> bytes | None:
    """The plan as a document."""
    return session.scalar(select(Release.plan).where(Release.id == identifier))


def claim(session: Session, state: ReleaseState, *, owner: str, now: int, seconds: int) -> Release | None:
    """The oldest release in this state that nobody works on, leased to `owner`."""
    wanted = Release.state == state
    return leases.claim(session, Release, wanted, Release.created_at, owner=owner, now=now, seconds=seconds)


def oldest_waiting(session: Session, now: int) -> int | None:
    """When the oldest release was asked for that nobody works on."""
    waiting = select(func.min(Release.created_at)).where(Release.state == ReleaseState.QUEUED)
    return session.scalar(waiting.where(leases.nobodys(Release, now)))


def listed(session: Session, dataset: str, page: Page) -> tuple[Sequence[Release], str | None]:
    """A page of a dataset's releases, newest first, and the token of the next one."""
    query = select(Release).where(Release.dataset_id == dataset)
    return pagination.listed(session, query, Release.created_at, Release.id, page)
