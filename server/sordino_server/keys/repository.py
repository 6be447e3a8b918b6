"""Queries on the table of keys."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from sordino_server.kit.pagination import Page, newest_first
from sordino_server.models import Key


def add(session: Session, key: Key) -> None:
    """Insert a key."""
    session.add(key)
    session.flush()


def find(session: Session, identifier: str) -> Key | None:
    """The key of this id, revoked ones too."""
    return session.get(Key, identifier)


def listed(session: Session, page: Page) -> Sequence[Key]:
    """A page of keys, newest first, and one row more."""
    return session.scalars(newest_first(select(Key), Key.created_at, Key.id, page)).all()
