"""Queries on the tables of plan requests and plan parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from sordino_analysis.planning.finished_plan import Part, PartName
from sordino_server.kit import leases, pagination
from sordino_server.kit.db import FOR_CHANGE
from sordino_server.kit.insert_if_absent import insert_if_absent
from sordino_server.kit.pagination import Page
from sordino_server.models import PlanPart, PlanRequestRow, PlanRequestState, ProtocolPlanContent

# Where each part of a plan is stored.
_ROWS: Mapping[PartName, Callable[..., PlanPart | ProtocolPlanContent]] = {
    "device": PlanPart.of,
    "analyst": PlanPart.of,
    "protocol": ProtocolPlanContent.of,
}
_UNFINISHED = PlanRequestRow.state.in_([PlanRequestState.QUEUED, PlanRequestState.RUNNING])


def add_request(session: Session, request: PlanRequestRow) -> None:
    """Insert a request."""
    session.add(request)
    session.flush()


def find_request(session: Session, identifier: str, for_change: bool = False) -> PlanRequestRow | None:
    """The request of this id; `for_change` locks it until the transaction ends."""
    if for_change:
        return session.get(PlanRequestRow, identifier, with_for_update=FOR_CHANGE, populate_existing=True)
    return session.get(PlanRequestRow, identifier)


def listed_requests(session: Session, page: Page) -> tuple[Sequence[PlanRequestRow], str | None]:
    """A page of requests, newest first, and the token of the next one."""
    return pagination.listed(session, select(PlanRequestRow), PlanRequestRow.created_at, PlanRequestRow.id, page)


def claim_request(session: Session, *, owner: str, now: int, seconds: int) -> PlanRequestRow | None:
    """The oldest unfinished request that nobody works on, leased to `owner`."""
    return leases.claim(
        session, PlanRequestRow, _UNFINISHED, PlanRequestRow.created_at, owner=owner, now=now, seconds=seconds
    )


def oldest_waiting(session: Session, now: int) -> int | None:
    """When the oldest unfinished request was made that nobody works on."""
    waiting = select(func.min(PlanRequestRow.created_at)).where(_UNFINISHED, leases.nobodys(PlanRequestRow, now))
    return session.scalar(waiting)


def count_by_state(session: Session) -> dict[str, int]:
    """How many requests are in each state."""
    query = select(PlanRequestRow.state, func.count()).group_by(PlanRequestRow.state)
    counted = {state: int(count) for state, count in session.execute(query)}
    return {str(state): counted.get(state, 0) for state in PlanRequestState}


def find_ready(session: Session, content_key: str) -> PlanRequestRow | None:
    """A request of the same content whose plan is there."""
    same = select(PlanRequestRow).where(PlanRequestRow.content_key == content_key)
    return session.scalars(same.where(PlanRequestRow.state == PlanRequestState.READY).limit(1)).first()


def ready_of_workload(session: Session, workload: str, most: int) -> Sequence[PlanRequestRow]:
    """The newest requests of a workload whose plan is there."""
    query = select(PlanRequestRow).where(PlanRequestRow.workload_id == workload)
    query = query.where(PlanRequestRow.state == PlanRequestState.READY, PlanRequestRow.summary.is_not(None))
    return session.scalars(query.order_by(PlanRequestRow.created_at.desc(), PlanRequestRow.id).limit(most)).all()


def find_part(session: Session, digest: str) -> PlanPart | None:
    """The part of this digest."""
    return session.get(PlanPart, digest)


def find_protocol(session: Session, digest: str) -> bytes | None:
    """The plan of a protocol of this digest, as its canonical bytes."""
    row = session.get(ProtocolPlanContent, digest)
    return None if row is None else row.content


def keep(session: Session, name: PartName, part: Part, now: int) -> str:
    """Digest of a part of a finished plan, which is stored unless it was there."""
    insert_if_absent(session, _ROWS[name](part, now))
    return str(part.digest)
