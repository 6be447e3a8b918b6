"""The estimate of a round: read once it is there, computed once the round is closed."""

from __future__ import annotations

from sqlalchemy.orm import Session

from sordino_server import rounds
from sordino_server.aggregates import aggregate
from sordino_server.design.publish import rebuild_workload
from sordino_server.errors import ServerError
from sordino_server.estimates import repository
from sordino_server.estimates.document import document_of
from sordino_server.estimation.linear import estimate
from sordino_server.kit.db import Database
from sordino_server.models import Estimate, Round
from sordino_server.plans import service as plans
from sordino_shared.protocol import Problem, RoundState

RETRY_AFTER_S = 2


def stored(session: Session, campaign: str, index: int) -> bytes:
    """The bytes of the estimate; raises `not-found`, or `estimate-not-ready` with the reason."""
    row = rounds.find(session, campaign, index)
    if row is None:
        raise rounds.RoundNotFound(campaign, index)
    content = repository.find(session, row.id)
    if content is None:
        raise _not_ready(row)
    return content


def compute(database: Database, number: int) -> bytes:
    """Canonical bytes of the estimate of the closed round with row number `number`.

    Raises EstimationError where the reports allow no estimate, AggregateMismatch where they were tampered with.
    """
    with database.read("read round to estimate") as session:
        row = session.get_one(Round, number)
        device = plans.device_part(session, row.device_digest)
        analyst = plans.analyst_part(session, row.analyst_digest)
    result = estimate(device, analyst, aggregate(database, number, device.randomizer))
    labels = rebuild_workload(device.domain, analyst.queries).labels()
    return document_of(row.campaign_id, row.index, device, analyst, labels, result).content()


def publish(session: Session, number: int, owner: str, content: bytes, now: int) -> None:
    """Store the estimate and finish the round in one transaction; raises `LeaseLost`."""
    rounds.mark_estimated(session, number, owner)
    repository.add(session, Estimate(round_id=number, content=content, created_at=now))


def _not_ready(row: Round) -> ServerError:
    state = RoundState(row.state)
    if row.error is not None:
        return _refusal(f"round {row.index} has no estimate: {row.error}", state)
    if state is RoundState.CLOSED:
        return _refusal(f"the estimate of round {row.index} is being computed", state, retry_after=RETRY_AFTER_S)
    if state is RoundState.CANCELLED:
        return _refusal(f"round {row.index} was cancelled and will have no estimate", state)
    return _refusal(f"round {row.index} is {state}; close the campaign first", state)


def _refusal(detail: str, state: RoundState, **extra: int) -> ServerError:
    return ServerError(Problem.ESTIMATE_NOT_READY, detail, state=state.value, **extra)
