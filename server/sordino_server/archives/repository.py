"""Queries on the table of archives."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, exists, select
from sqlalchemy.orm import Session

from sordino_server.models import ArchiveRow


def begin(session: Session, round_id: int, url: str, managed: bool, now: int) -> None:
    """Note that the reports of a round are being exported to the folder `url`."""
    row = session.get(ArchiveRow, (round_id, url))
    if row is None:
        session.add(ArchiveRow(round_id=round_id, url=url, managed=managed, created_at=now))
        session.flush()
    else:
        row.managed, row.deleting_at = managed, None


def finish(session: Session, round_id: int, url: str, manifest: str) -> None:
    """Note the digest of the manifest that completes the folder, before it is written."""
    session.get_one(ArchiveRow, (round_id, url)).manifest = manifest


def of_round(session: Session, round_id: int) -> Sequence[ArchiveRow]:
    """All archives of a round."""
    return session.scalars(select(ArchiveRow).where(ArchiveRow.round_id == round_id).order_by(ArchiveRow.url)).all()


def holds(session: Session, round_id: int, manifest: str) -> bool:
    """Whether an archive of this server's own reports of the round has this manifest."""
    known = exists().where(ArchiveRow.round_id == round_id, ArchiveRow.manifest == manifest)
    return session.scalar(select(known)) or False


def set_deleting(session: Session, round_id: int, url: str, now: int) -> None:
    """Note that the files of an archive begin to go, so that none of them is missed from now on."""
    session.get_one(ArchiveRow, (round_id, url)).deleting_at = now


def forget(session: Session, round_id: int, url: str) -> None:
    """Delete the row of an archive whose files are gone."""
    session.execute(delete(ArchiveRow).where(ArchiveRow.round_id == round_id, ArchiveRow.url == url))


def give_to_operator(session: Session, url: str) -> bool:
    """Leave the archives in the folder `url` to the operator; whether there are any."""
    rows = session.scalars(select(ArchiveRow).where(ArchiveRow.url == url)).all()
    for row in rows:
        row.managed = False
    return bool(rows)
