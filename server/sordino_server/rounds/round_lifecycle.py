"""The life of a round, from its sealed plan to what came of it.

    pending --open--> open --close--> closed --estimate--> estimated
                                      |  ^                 either the estimate is stored and the campaign ends,
                                  fail|  |retry            or the next round's plan is sealed and that round opens
                                      v  |
                                closed with `error`        cancel: from pending, open and closed to cancelled

A round is closed by hand, by its number of reports or by its time. A worker claims a closed round under a lease and
computes outside of any transaction; what it found is stored by `finish` in one transaction that checks the lease.
Everybody locks a campaign before its rounds. A closed campaign opens no further round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy.orm import Session

from sordino_server.errors import ServerError, found
from sordino_server.kit import leases
from sordino_server.kit.db import Database
from sordino_server.kit.insert_if_absent import insert_if_absent
from sordino_server.models import Campaign, Estimate, PlanPart, Round
from sordino_server.public_log import entries
from sordino_server.rounds import repository
from sordino_server.rounds.sealing import NextRound, check_next_round, sealed_round
from sordino_shared.protocol import (
    CampaignState,
    IllegalTransition,
    Manifest,
    Problem,
    Rotating,
    RoundState,
    check_campaign_transition,
)

# A round whose estimation dies this often is left for a person to look at.
MAX_ATTEMPTS = 3
GIVEN_UP = f"{MAX_ATTEMPTS} workers ended without a result, perhaps out of memory; see their logs"


class Event(StrEnum):
    """What happens to a round."""

    OPEN = "open"
    CLOSE = "close"
    ESTIMATE = "estimate"
    FAIL = "fail"
    RETRY = "retry"
    CANCEL = "cancel"


# In which states an event is legal, and the state after it. A round that failed stays closed, and has an error.
TRANSITIONS: Mapping[Event, tuple[frozenset[RoundState], RoundState]] = {
    Event.OPEN: (frozenset({RoundState.PENDING}), RoundState.OPEN),
    Event.CLOSE: (frozenset({RoundState.OPEN}), RoundState.CLOSED),
    Event.ESTIMATE: (frozenset({RoundState.CLOSED}), RoundState.ESTIMATED),
    Event.FAIL: (frozenset({RoundState.CLOSED}), RoundState.CLOSED),
    Event.RETRY: (frozenset({RoundState.CLOSED}), RoundState.CLOSED),
    Event.CANCEL: (frozenset({RoundState.PENDING, RoundState.OPEN, RoundState.CLOSED}), RoundState.CANCELLED),
}


@dataclass(frozen=True)
class EstimateReady:
    """The campaign's answer follows from the closed rounds: canonical bytes of its document, and what lists show."""

    content: bytes
    headline: str | None = None


Outcome = EstimateReady | NextRound


class RoundNotFound(ServerError):
    """No such campaign, or it has no such round (yet)."""

    def __init__(self, campaign: str, index: int) -> None:
        super().__init__(Problem.NOT_FOUND, f"there is no round {index} of a campaign {campaign}")
        self.campaign = campaign
        self.index = index


# --- pending and open


def open_round(database: Database, session: Session, campaign: str, index: int, now: int) -> Round:
    """From pending to open: from the commit on it takes reports."""
    row = _locked(database, session, campaign, index)
    _apply(row, Event.OPEN)
    row.opened_at = now
    return row


# --- closed


# What is written of a round that a rule closed, in the transaction that closes it: campaign, number, time.
NoteClosing = Callable[[Session, str, int, int], None]


def no_note(_: Session, __: str, ___: int, ____: int) -> None:
    """Nothing is written."""


def close_round(database: Database, session: Session, campaign: str, index: int, now: int) -> Round:
    """From open to closed: every report is in the aggregate or refused as late, never both and never neither.

    Waits for the transactions that are adding reports; those that come later find the round closed.
    """
    row = _locked(database, session, campaign, index)
    _apply(row, Event.CLOSE)
    row.closed_at = now
    return row


def close_round_of(database: Database, session: Session, campaign: Campaign, index: int, now: int) -> None:
    """Close a round of a locked campaign, which closes with its last one."""
    close_round(database, session, campaign.id, index, now)
    if index + 1 == len(Manifest.read(campaign.manifest).rounds):
        change_campaign(session, campaign, CampaignState.CLOSED, now)


def close_due_rounds(database: Database, now: int, note: NoteClosing = no_note) -> list[repository.RoundName]:
    """Close the rounds that have their reports or their time; those that somebody closed meanwhile are left out.

    `note` is called in the transaction of each.
    """
    with database.read("find due rounds") as session:
        due = repository.due_rounds(session, now)
    return close_rounds(database, due, now, note)


def close_rounds(
    database: Database, due: Sequence[repository.RoundName], now: int, note: NoteClosing = no_note
) -> list[repository.RoundName]:
    """Close these rounds; those that somebody closed meanwhile are left out."""
    return [(campaign, index) for campaign, index in due if _close_due(database, campaign, index, now, note)]


def _close_due(database: Database, campaign: str, index: int, now: int, note: NoteClosing) -> bool:
    def close(session: Session) -> None:
        close_round_of(database, session, lock_campaign(session, campaign), index, now)
        note(session, campaign, index, now)

    try:
        database.run("close due round", close)
    except IllegalTransition:
        return False
    return True


# --- a worker goes on from a closed round


def claim_closed_round(session: Session, *, owner: str, now: int, seconds: int) -> Round | None:
    """A closed round that something is to come of, held by `owner` for `seconds`; None if there is none."""
    give_up(session, now)
    row = leases.claim(session, Round, repository.to_go_on(now), Round.id, owner=owner, now=now, seconds=seconds)
    if row is not None and row.progress is not None:
        # Another worker began, and left it.
        row.progress = None
    return row


def report_progress(session: Session, number: int, owner: str, progress: float) -> None:
    """Show how far a search in the reports of a closed round is; raises `LeaseLost`."""
    leases.hold(session, Round, number, owner).progress = min(1.0, max(0.0, progress))


def give_up(session: Session, now: int) -> None:
    """Leave closed rounds that too many workers held in vain for a person to look at."""
    repository.give_up(session, MAX_ATTEMPTS, GIVEN_UP, now)


def finish(database: Database, session: Session, number: int, owner: str, outcome: Outcome, now: int) -> None:
    """Store what follows from round `number`, and end its life, in one transaction; raises `LeaseLost`.

    Where the campaign was closed by hand meanwhile, no next round is opened: the round waits for a worker again, which
    computes what the rounds so far allow. Raises InvalidValue for a plan that devices would refuse.
    """
    index, campaign = _position(session, number)
    if isinstance(outcome, EstimateReady):
        mark_estimated(session, number, owner)
        session.add(Estimate(round_id=number, content=outcome.content, created_at=now))
        if repository.is_last_told(session, campaign.id, index):
            campaign.headline = outcome.headline
        session.flush()
        if campaign.state == CampaignState.OPEN and not is_series(campaign):
            end_campaign(database, session, campaign, CampaignState.CLOSED, now)
    elif campaign.state == CampaignState.CLOSED:
        give_back(session, number, owner)
    else:
        mark_estimated(session, number, owner)
        _open_next(database, session, campaign, index + 1, outcome, now)


def mark_estimated(session: Session, number: int, owner: str) -> None:
    """From closed to estimated, in the transaction that stores what came of it; raises `LeaseLost`."""
    row = leases.hold(session, Round, number, owner)
    _apply(row, Event.ESTIMATE)
    leases.release(row)


def _open_next(
    database: Database, session: Session, campaign: Campaign, index: int, following: NextRound, now: int
) -> None:
    """Seal the plan of round `index` and open the round."""
    manifest = Manifest.read(campaign.manifest)
    check_next_round(manifest, index, following)
    for part in (following.device, following.analyst):
        insert_if_absent(session, PlanPart.of(part, now))
    digests = str(following.device.digest), str(following.analyst.digest)
    session.add(sealed_round(manifest, index, *digests, now))
    session.flush()
    entries.plan_sealed(session, campaign.id, index, following.device.digest, now)
    open_round(database, session, campaign.id, index, now)


def take_sums(database: Database, session: Session, campaign: str, index: int, source: str, now: int) -> Round:
    """The round, to which sums of a source are added in this transaction; a worker that holds it begins again.

    A round that failed is tried again: with the sums it may go on.

    Raises `illegal-transition` unless the round is open, or closed and nothing came of it yet; also for sums that
    replace others after the campaign's deadline: a source that sends new ones again and again would hold the estimate.
    """
    row = _locked(database, session, campaign, index)
    if row.state not in (RoundState.OPEN, RoundState.CLOSED):
        why = "has not begun" if row.state == RoundState.PENDING else f"is {row.state} and takes no sums any more"
        raise ServerError(Problem.ILLEGAL_TRANSITION, f"round {index} {why}", state=row.state)
    if row.state == RoundState.CLOSED and row.error is None and repository.is_final(session, row, source, now):
        raise ServerError(
            Problem.ILLEGAL_TRANSITION,
            f"source {source} has sent sums of round {index}, and sources_deadline_s to replace them is over",
            state=row.state,
        )
    if row.lease_owner is not None:
        row.attempts -= 1
        leases.release(row)
    if row.error is not None:
        _try_again(row)
    return row


def waive_sources(database: Database, session: Session, campaign: str, index: int, now: int) -> Round:
    """A closed round waits no longer for sums that have not come; raises `illegal-transition` unless it waits."""
    row = _locked(database, session, campaign, index)
    if row.state != RoundState.CLOSED or not repository.is_waiting(session, row, now):
        raise ServerError(
            Problem.ILLEGAL_TRANSITION,
            f"round {index} is {row.state} and waits for no sums from elsewhere",
            state=row.state,
        )
    row.sources_waived_at = now
    return row


def end_sent_round(database: Database, session: Session, campaign: str, index: int) -> None:
    """From closed to estimated at a collector, whose home has the estimate; a worker that holds the round loses it."""
    row = _locked(database, session, campaign, index)
    _apply(row, Event.ESTIMATE)
    leases.release(row)


def mark_failed(session: Session, number: int, owner: str, error: str) -> None:
    """The round stays closed and has the reason; raises `LeaseLost`."""
    row = leases.hold(session, Round, number, owner)
    _apply(row, Event.FAIL)
    row.error = error
    leases.release(row)


def give_back(session: Session, number: int, owner: str) -> None:
    """Leave the round to the next worker, as if it had not been claimed; raises `LeaseLost`."""
    row = leases.hold(session, Round, number, owner)
    row.attempts -= 1
    leases.release(row)


def abandon(session: Session, number: int, owner: str, now: int) -> None:
    """Leave the round, whose work was killed, to the next worker as of `now`; the attempt counts.

    Raises `LeaseLost`.
    """
    leases.hold(session, Round, number, owner).lease_until = now


def retry_round(database: Database, session: Session, campaign: str, index: int) -> Round:
    """A closed round that failed waits for a worker again; raises `illegal-transition` for any other."""
    row = _locked(database, session, campaign, index)
    if row.state not in TRANSITIONS[Event.RETRY][0] or row.error is None:
        raise ServerError(
            Problem.ILLEGAL_TRANSITION,
            f"round {index} is {row.state} and did not fail; only a closed round with an error is tried again",
            state=row.state,
        )
    _try_again(row)
    return row


def _try_again(row: Round) -> None:
    row.error, row.attempts = None, 0


# --- the end


def cancel_round(database: Database, session: Session, campaign: str, index: int, now: int) -> Round:
    """From pending, open or closed to cancelled: nothing comes of it, and a worker that holds it loses it."""
    row = _locked(database, session, campaign, index)
    _apply(row, Event.CANCEL)
    row.closed_at = row.closed_at or now
    leases.release(row)
    return row


def end_campaign(database: Database, session: Session, campaign: Campaign, wanted: CampaignState, now: int) -> None:
    """Close or cancel a locked campaign, and with it every round for which that is legal."""
    change_campaign(session, campaign, wanted, now)
    event, change = (Event.CLOSE, close_round) if wanted == CampaignState.CLOSED else (Event.CANCEL, cancel_round)
    for row in repository.of_campaign(session, campaign.id):
        if row.state in TRANSITIONS[event][0]:
            change(database, session, campaign.id, row.index, now)


def change_campaign(session: Session, campaign: Campaign, wanted: CampaignState, now: int) -> None:
    """The state of a locked campaign, with the time of the change; its end goes to the public log.

    Raises IllegalTransition.
    """
    check_campaign_transition(CampaignState(campaign.state), wanted)
    campaign.state = wanted
    if wanted == CampaignState.OPEN:
        campaign.opened_at = now
    else:
        campaign.closed_at = now
        entries.campaign_ended(session, campaign, now)


def lock_campaign(session: Session, identifier: str) -> Campaign:
    """The campaign, whose state nobody else changes until the transaction ends; raises `not-found`."""
    return found(repository.find_campaign_for_change(session, identifier), "there is no campaign of this id")


def is_series(campaign: Campaign) -> bool:
    """Whether the rounds are the periods of a series, which goes on after each of them."""
    return isinstance(Manifest.read(campaign.manifest).assignment, Rotating)


def _apply(row: Round, event: Event) -> None:
    """The state after the event; raises IllegalTransition where it is not legal."""
    sources, target = TRANSITIONS[event]
    if row.state not in sources:
        raise IllegalTransition(RoundState(row.state), target)
    row.state = target


def _position(session: Session, number: int) -> tuple[int, Campaign]:
    """The index of the round with this row number, and its campaign, locked before the round is."""
    row = session.get_one(Round, number)
    return row.index, lock_campaign(session, row.campaign_id)


def _locked(database: Database, session: Session, campaign: str, index: int) -> Round:
    found = repository.find(session, campaign, index)
    if found is None:
        raise RoundNotFound(campaign, index)
    return repository.lock_for_change(database, session, found.id)
