"""The life of a wider search under the lease of a worker, who needs nothing else of it."""

from __future__ import annotations

from sqlalchemy.orm import Session

from sordino_server.kit import leases
from sordino_server.models import StringSearch
from sordino_server.string_searches import repository

# A search whose process dies this often is left for a person to look at.
_MAX_ATTEMPTS = 3
_GIVEN_UP = f"{_MAX_ATTEMPTS} processes died while they searched, perhaps out of memory: take a smaller beam"


def begin(session: Session, *, owner: str, now: int, seconds: int) -> StringSearch | None:
    """The next search, leased to `owner`; one whose processes died too often ends here."""
    row = repository.claim(session, owner=owner, now=now, seconds=seconds)
    while row is not None and row.attempts > _MAX_ATTEMPTS:
        row.error = _GIVEN_UP
        leases.release(row)
        session.flush()
        row = repository.claim(session, owner=owner, now=now, seconds=seconds)
    return row


def report_progress(session: Session, number: int, owner: str, progress: float) -> None:
    """Show how far the search is; raises `LeaseLost`."""
    leases.hold(session, StringSearch, number, owner).progress = min(1.0, max(0.0, progress))


def publish(session: Session, number: int, owner: str, content: bytes) -> None:
    """Store the paths, which never change; raises `LeaseLost`."""
    row = leases.hold(session, StringSearch, number, owner)
    row.content, row.progress = content, 1.0
    leases.release(row)


def fail(session: Session, number: int, owner: str, error: str) -> None:
    """Store why there are no paths; raises `LeaseLost`."""
    row = leases.hold(session, StringSearch, number, owner)
    row.error = error
    leases.release(row)


def give_back(session: Session, number: int, owner: str) -> None:
    """Leave the search to the next worker, as if it had not been claimed; raises `LeaseLost`."""
    row = leases.hold(session, StringSearch, number, owner)
    row.attempts -= 1
    leases.release(row)


def abandon(session: Session, number: int, owner: str) -> None:
    """Leave the search, whose process was killed, to the next worker; the attempt counts. Raises `LeaseLost`."""
    leases.release(leases.hold(session, StringSearch, number, owner))
