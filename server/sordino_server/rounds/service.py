"""Changes of a round's state, each atomic against the reports that arrive meanwhile."""

from __future__ import annotations

from sqlalchemy.orm import Session

from sordino_server.errors import ServerError
from sordino_server.kit import leases
from sordino_server.kit.db import Database
from sordino_server.models import Round
from sordino_server.rounds import repository
from sordino_shared.protocol import Problem, RoundState, check_round_transition

# A round whose estimation dies this often is left for a person to look at.
MAX_ATTEMPTS = 3
GIVEN_UP = f"{MAX_ATTEMPTS} workers ended without a result, for want of memory perhaps; their logs may say why"


class RoundNotFound(ServerError):
    """No such campaign, or it has no such round (yet)."""

    def __init__(self, campaign: str, index: int) -> None:
        super().__init__(Problem.NOT_FOUND, f"there is no round {index} of a campaign {campaign}")
        self.campaign = campaign
        self.index = index


def open_round(database: Database, session: Session, campaign: str, index: int, now: int) -> Round:
    """From pending to open: from the commit on it takes reports."""
    row = _change(database, session, campaign, index, RoundState.OPEN)
    row.opened_at = now
    return row


def close_round(database: Database, session: Session, campaign: str, index: int, now: int) -> Round:
    """From open to closed: every report is in the aggregate or refused as late, never both and never neither.

    Waits for the transactions that are adding reports; those that come later find the round closed.
    """
    row = _change(database, session, campaign, index, RoundState.CLOSED)
    row.closed_at = now
    return row


def cancel_round(database: Database, session: Session, campaign: str, index: int, now: int) -> Round:
    """From pending or open to cancelled: it will never be estimated."""
    row = _change(database, session, campaign, index, RoundState.CANCELLED)
    row.closed_at = now
    return row


def claim_closed_round(session: Session, *, owner: str, now: int, seconds: int) -> Round | None:
    """A closed round that waits for its estimate, held by `owner` for `seconds`; None if there is none."""
    repository.give_up(session, MAX_ATTEMPTS, GIVEN_UP, now)
    waiting = (Round.state == RoundState.CLOSED) & Round.error.is_(None)
    return leases.claim(session, Round, waiting, Round.id, owner=owner, now=now, seconds=seconds)


def mark_estimated(session: Session, number: int, owner: str) -> None:
    """From closed to estimated, in the transaction that stores the estimate; raises `LeaseLost`."""
    row = leases.hold(session, Round, number, owner)
    check_round_transition(RoundState(row.state), RoundState.ESTIMATED)
    row.state = RoundState.ESTIMATED
    leases.release(row)


def mark_failed(session: Session, number: int, owner: str, error: str) -> None:
    """The round stays closed and says why it has no estimate; raises `LeaseLost`."""
    row = leases.hold(session, Round, number, owner)
    row.error = error
    leases.release(row)


def _change(database: Database, session: Session, campaign: str, index: int, wanted: RoundState) -> Round:
    found = repository.find(session, campaign, index)
    if found is None:
        raise RoundNotFound(campaign, index)
    row = repository.lock_for_change(database, session, found.id)
    check_round_transition(RoundState(row.state), wanted)
    row.state = wanted
    return row
