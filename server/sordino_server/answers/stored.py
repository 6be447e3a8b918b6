"""Stored estimates, or why there is none yet; what computes them is in `next_step`.

They are computed once, stored as bytes, and the same on every read.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.kinds import reading
from sordino_server import rounds
from sordino_server.answers import repository
from sordino_server.campaigns import service as campaigns
from sordino_server.errors import ServerError
from sordino_server.models import Round
from sordino_shared.protocol import CampaignState, Manifest, Problem, Rotating, RoundState

RETRY_AFTER_S = 2


def read_estimate(content: bytes) -> EstimateDocument:
    """The estimate in stored bytes; raises ServerError where it is of another kind or lacks a field of its kind."""
    try:
        return reading.read_estimate(content)
    except reading.UnreadableEstimate as error:
        advice = "run `sordino db upgrade`, or the version that stored it"
        raise ServerError(
            Problem.INTERNAL_ERROR, f"the stored estimate cannot be read ({error.reason}): {advice}"
        ) from error


def stored(session: Session, campaign: str, index: int, now: int) -> bytes:
    """The bytes of the estimate; raises `not-found`, or `estimate-not-ready` with the reason."""
    row = rounds.find(session, campaign, index)
    if row is None:
        raise rounds.RoundNotFound(campaign, index)
    content = repository.find(session, row.id)
    if content is None:
        raise _not_ready(session, row, now)
    check_not_cancelled(session, campaign)
    return content


def stored_last(session: Session, campaign: str, now: int) -> bytes:
    """The bytes of the campaign's estimate, whatever round it came from; raises as `stored` does."""
    content = repository.find_last(session, campaign)
    if content is None:
        raise _none_ready(session, campaign, now)
    check_not_cancelled(session, campaign)
    return content


def stored_rounds(session: Session, campaign: str, now: int) -> Sequence[tuple[int, int]]:
    """Row number and index of each round that has an estimate, one at least; raises as `stored_last` does."""
    found = repository.find_rounds(session, campaign)
    if not found:
        raise _none_ready(session, campaign, now)
    check_not_cancelled(session, campaign)
    return found


def check_not_cancelled(session: Session, campaign: str) -> None:
    """Raise `estimate-not-ready` for a cancelled campaign: what its periods or looks told before is told no more."""
    state = campaigns.get(session, campaign).state
    if state == CampaignState.CANCELLED:
        detail = "the campaign was cancelled: it has no answers, and those of before are shown no more"
        raise ServerError(Problem.ESTIMATE_NOT_READY, detail, state=state)


def stored_content(session: Session, round_id: int) -> bytes:
    """The bytes of an estimate that `stored_rounds` named."""
    content = repository.find(session, round_id)
    if content is None:
        raise ServerError(Problem.NOT_FOUND, "the campaign was deleted meanwhile")
    return content


def _none_ready(session: Session, campaign: str, now: int) -> ServerError:
    known = rounds.of_campaign(session, campaigns.get(session, campaign).id)
    if known and not isinstance(Manifest.read(campaigns.get(session, campaign).manifest).assignment, Rotating):
        return _not_ready(session, known[-1], now)
    return ServerError(Problem.ESTIMATE_NOT_READY, "no period of the series has an estimate yet", state="open")


def _not_ready(session: Session, row: Round, now: int) -> ServerError:
    state = RoundState(row.state)
    name, planned = f"round {row.index}", len(Manifest.read(campaigns.get(session, row.campaign_id).manifest).rounds)
    if row.error is not None:
        return _refusal(f"{name} has no estimate: {row.error}", state)
    if state is RoundState.CLOSED and rounds.is_waiting(session, row, now):
        lacking = list(rounds.lacking_sources(session, row))
        detail = f"{name} waits for the sums of {', '.join(lacking)}; `sordino campaigns waive-sources` goes on without"
        return ServerError(Problem.ESTIMATE_NOT_READY, detail, state=state.value, waiting_for=lacking)
    if state is RoundState.CLOSED:
        leased = row.lease_until is not None and row.lease_until > now
        doing = "is being computed" if leased else "is to be computed, and no worker has taken it yet"
        return _refusal(f"what comes of {name} {doing}", state, retry_after=RETRY_AFTER_S, leased=leased)
    if state is RoundState.CANCELLED:
        return _refusal(f"{name} was cancelled and will have no estimate", state)
    if state is RoundState.ESTIMATED:
        return _refusal(
            f"{name} of {planned} gave the plan of round {row.index + 1}; the answer is the campaign's: "
            f"/v1/campaigns/{row.campaign_id}/estimates",
            state,
        )
    return _refusal(f"{name} of {planned} is {state}; close it first", state)


def _refusal(detail: str, state: RoundState, **extra: int) -> ServerError:
    return ServerError(Problem.ESTIMATE_NOT_READY, detail, state=state.value, **extra)
