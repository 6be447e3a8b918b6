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
    """From pending, open or closed to cancelled: nothing comes of it, and a worker that holds it loses it."""
    row = _change(database, session, campaign, index, RoundState.CANCELLED)
    row.closed_at = row.closed_at or now
    leases.release(row)
    return row


def retry_round(database: Database, session: Session, campaign: str, index: int) -> Round:
    """A closed round that failed waits for a worker again; raises `illegal-transition` for any other."""
    row = _locked(database, session, campaign, index)
    if row.state != RoundState.CLOSED or row.error is None:
        raise ServerError(
            Problem.ILLEGAL_TRANSITION,
            f"round {index} is {row.state} and did not fail; only a closed round with an error is tried again",
            state=row.state,
        )
    row.error, row.attempts = None, 0
    return row


def claim_closed_round(session: Session, *, owner: str, now: int, seconds: int) -> Round | None:
    """A closed round that something is to come of, held by `owner` for `seconds`; None if there is none."""
    repository.give_up(session, MAX_ATTEMPTS, GIVEN_UP, now)
    return leases.claim(session, Round, repository.to_go_on(), Round.id, owner=owner, now=now, seconds=seconds)


def mark_estimated(session: Session, number: int, owner: str) -> None:
    """From closed to estimated, in the transaction that stores what came of it; raises `LeaseLost`."""
    row = leases.hold(session, Round, number, owner)
    check_round_transition(RoundState(row.state), RoundState.ESTIMATED)
    row.state = RoundState.ESTIMATED
    leases.release(row)


def mark_failed(session: Session, number: int, owner: str, error: str) -> None:
    """The round stays closed and says why nothing came of it; raises `LeaseLost`."""
    row = leases.hold(session, Round, number, owner)
    row.error = error
    leases.release(row)


def give_back(session: Session, number: int, owner: str) -> None:
    """Leave the round to the next worker, as if it had not been claimed; raises `LeaseLost`."""
    row = leases.hold(session, Round, number, owner)
    row.attempts -= 1
    leases.release(row)


def _change(database: Database, session: Session, campaign: str, index: int, wanted: RoundState) -> Round:
    row = _locked(database, session, campaign, index)
    check_round_transition(RoundState(row.state), wanted)
    row.state = wanted
    return row


def _locked(database: Database, session: Session, campaign: str, index: int) -> Round:
    found = repository.find(session, campaign, index)
    if found is None:
        raise RoundNotFound(campaign, index)
    return repository.lock_for_change(database, session, found.id)
