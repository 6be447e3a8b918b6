"""Plan requests: queued, computed under a lease, then ready with two parts, failed or cancelled permanently.

What was computed once answers every later request of the same content; what failed does not.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy.orm import Session

from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.plan_summary import AnySummary, LinearSummary, read_summary
from sordino_analysis.documents.protocol_plans import AnyProtocolPlan, read_protocol_plan
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.progress import Progress
from sordino_server.errors import ServerError, found
from sordino_server.kit import leases
from sordino_server.kit.pagination import Page
from sordino_server.models import PlanPart, PlanRequestRow, PlanRequestState, WorkloadRow
from sordino_server.plans import repository
from sordino_server.plans.schemas import PlanOrder, PlanRequestDocument, PlanRequestList, SampleSizeDocument
from sordino_server.workloads import service as workloads
from sordino_shared.errors import InvalidValue, MalformedDocument
from sordino_shared.protocol import DevicePart, Digest, Problem

# A computation whose worker dies this often would most likely kill the next one as well.
MAX_ATTEMPTS = 3
_STAGE_LENGTH = 200
# Plans of one workload that are compared with one another.
_MOST_COMPARED = 50
_NO_REQUEST = "there is no plan request of this id"


def ordered_workload(session: Session, order: PlanOrder) -> WorkloadRow:
    """The workload that a plan is ordered for; refuses what there is not."""
    if not workloads.exists(session, order.workload):
        raise InvalidValue(f"there is no workload {order.workload}; register it first with POST /v1/workloads")
    return workloads.get(session, order.workload)


def request(session: Session, order: PlanOrder, content_key: str, now: int) -> PlanRequestRow:
    """A queued request, ready if a plan of its `content_key` is known; that was made outside of the transaction."""
    row = PlanRequestRow(
        id=secrets.token_hex(16),
        workload_id=order.workload,
        request=order.model_dump_json(),
        content_key=content_key,
        created_at=now,
    )
    _answer_from_known(session, row, now)
    repository.add_request(session, row)
    return row


def get(session: Session, identifier: str) -> PlanRequestRow:
    """The request of this id; raises `not-found`."""
    return found(repository.find_request(session, identifier), _NO_REQUEST)


def listed(session: Session, page: Page) -> PlanRequestList:
    """A page of plan requests, newest first."""
    rows, token = repository.listed_requests(session, page)
    return PlanRequestList(plan_requests=[PlanRequestDocument.of(row) for row in rows], next_page_token=token)


def comparable(session: Session, row: PlanRequestRow) -> list[LinearSummary]:
    """The plan of a row, and of other requests the newest plan of its workload and objective for each other ε.

    Raises `plan-not-ready`, and `not-found` for a pairwise statistic, whose protocols have no variance.
    """
    own = _linear_summary(row)
    if own is None:
        if row.summary is None:
            raise ServerError(Problem.PLAN_NOT_READY, "the plan has no summary yet: wait until its state is ready")
        raise ServerError(Problem.NOT_FOUND, "this plan compares no variances: its candidates are protocols")
    plans = {own.epsilon: own}
    for other in repository.ready_of_workload(session, row.workload_id, _MOST_COMPARED):
        summary = _linear_summary(other)
        if summary is not None and summary.objective == own.objective:
            plans.setdefault(summary.epsilon, summary)
    return list(plans.values())


def _linear_summary(row: PlanRequestRow) -> LinearSummary | None:
    """The summary of a plan of linear queries; None for another, and for one that an earlier version wrote."""
    summary = known_summary(row)
    return None if summary is None else summary.linear


def kept_linear_summary(session: Session, identifier: str) -> LinearSummary | None:
    """The summary of a request's plan, where both are still there and it is of linear queries."""
    row = repository.find_request(session, identifier)
    return None if row is None else _linear_summary(row)


def linear_summary(row: PlanRequestRow) -> LinearSummary:
    """The summary of the row's plan; raises `plan-not-ready`, and InvalidValue for a pairwise statistic."""
    if row.summary is None:
        raise ServerError(Problem.PLAN_NOT_READY, "the plan has no summary yet: wait until its state is ready")
    summary = read_summary(row.summary).linear
    if summary is None:
        raise InvalidValue("the protocol of a pairwise statistic depends on the users: run `sordino size` instead")
    return summary


def sample_size(row: PlanRequestRow, margin: float, level: float, difference: bool) -> SampleSizeDocument:
    """Users that a statement needs with the row's plan; raises `plan-not-ready`, and InvalidValue where none do."""
    summary = linear_summary(row)
    needed = summary.users_within(margin, level, difference)
    if needed is None:
        raise InvalidValue(f"no number of users gives ± {margin:g}: the bias alone may be {summary.bias_bound:.3g}")
    users, band_users = needed
    return SampleSizeDocument(margin=margin, level=level, difference=difference, users=users, band_users=band_users)


def get_part(session: Session, digest: str) -> PlanPart:
    """The part of this digest; raises `not-found`."""
    return found(repository.find_part(session, digest), "there is no part of a plan with this digest")


def device_part(session: Session, digest: str) -> DevicePart:
    """The device part of this digest, checked against it."""
    return DevicePart.read(get_part(session, digest).content, Digest.parse(digest))


def analyst_part(session: Session, digest: str) -> AnalystPart:
    """The analyst part of this digest, checked against it."""
    return AnalystPart.read(get_part(session, digest).content, Digest.parse(digest))


def protocol_plan_content(session: Session, digest: str) -> bytes:
    """The canonical bytes of the plan of a protocol; raises `not-found`."""
    return found(repository.find_protocol(session, digest), "there is no plan of a protocol with this digest")


def protocol_plan(session: Session, digest: str) -> AnyProtocolPlan:
    """The plan of a protocol of this digest, checked against it."""
    return read_protocol_plan(protocol_plan_content(session, digest), Digest.parse(digest))


@dataclass(frozen=True, kw_only=True)
class ReadyPlan:
    """What a finished request left: digests of the parts of the first round's plan and of a protocol, the summary."""

    workload: str
    device: str
    analyst: str
    protocol: str | None
    summary: AnySummary | None


def ready_plan(session: Session, identifier: str) -> ReadyPlan:
    """The plan of a request that is ready; raises `plan-not-ready`."""
    row = repository.find_request(session, identifier)
    if row is None:
        raise InvalidValue(f"there is no plan request {identifier}; make one with POST /v1/plan-requests")
    if row.device_digest is None or row.analyst_digest is None:
        detail = f"plan request {row.id} is {row.state}{_advice(row)}"
        raise ServerError(Problem.PLAN_NOT_READY, detail, state=row.state)
    return ReadyPlan(
        workload=row.workload_id,
        device=row.device_digest,
        analyst=row.analyst_digest,
        protocol=row.protocol_digest,
        summary=known_summary(row),
    )


def known_summary(row: PlanRequestRow) -> AnySummary | None:
    """The summary of a finished plan; None before that, and where an earlier version wrote it."""
    with suppress(MalformedDocument):
        return None if row.summary is None else read_summary(row.summary)
    return None


def _advice(row: PlanRequestRow) -> str:
    if row.error:
        return f": {row.error}"
    return "; make another request" if row.state == PlanRequestState.CANCELLED else "; wait until its state is ready"


def cancel(session: Session, identifier: str, now: int) -> PlanRequestRow:
    """Cancel a request that is not finished; a worker that computes it loses its lease, and its plan is dropped."""
    row = found(repository.find_request(session, identifier, for_change=True), _NO_REQUEST)
    if row.state not in (PlanRequestState.QUEUED, PlanRequestState.RUNNING):
        raise ServerError(Problem.ILLEGAL_TRANSITION, f"the plan request is {row.state} already", state=row.state)
    row.stage = "cancelled"
    _finish(row, PlanRequestState.CANCELLED, now)
    return row


def begin(session: Session, *, owner: str, now: int, seconds: int) -> PlanRequestRow | None:
    """The next request to compute, leased to `owner`; one that is known by now, or failed too often, ends here."""
    row = repository.claim_request(session, owner=owner, now=now, seconds=seconds)
    while row is not None and (_tried_enough(row, now) or _answer_from_known(session, row, now)):
        session.flush()
        row = repository.claim_request(session, owner=owner, now=now, seconds=seconds)
    if row is None:
        return None
    row.state, row.started_at = PlanRequestState.RUNNING, now
    row.progress, row.stage, row.variance, row.ratio = 0.0, "starting", None, None
    return row


def report_progress(session: Session, identifier: str, owner: str, progress: Progress) -> None:
    """Show how far the computation is; raises `LeaseLost`."""
    row = leases.hold(session, PlanRequestRow, identifier, owner)
    row.stage, row.progress = progress.stage[:_STAGE_LENGTH], min(1.0, max(0.0, progress.fraction))
    row.variance, row.ratio = progress.variance, progress.ratio


def publish(session: Session, identifier: str, owner: str, plan: FinishedPlan, now: int) -> None:
    """Every part, the summary and the state in one transaction; raises `LeaseLost`."""
    row = leases.hold(session, PlanRequestRow, identifier, owner)
    kept = {name: repository.keep(session, name, part, now) for name, part in plan.parts().items()}
    row.device_digest, row.analyst_digest = kept["device"], kept["analyst"]
    row.protocol_digest = kept.get("protocol")
    if not plan.complete:
        row.content_key = None
    row.variance, row.ratio = plan.summary.variance, plan.summary.ratio
    _ready(row, plan.summary.text(), now)


def fail(session: Session, identifier: str, owner: str, error: str, now: int) -> None:
    """Mark the request failed, with the reason; raises `LeaseLost`."""
    row = leases.hold(session, PlanRequestRow, identifier, owner)
    row.error = error
    _finish(row, PlanRequestState.FAILED, now)


def give_back(session: Session, identifier: str, owner: str) -> None:
    """Queue the request again for another worker, as if it had not been begun; raises `LeaseLost`."""
    row = leases.hold(session, PlanRequestRow, identifier, owner)
    row.state, row.progress, row.stage = PlanRequestState.QUEUED, 0.0, ""
    row.variance = row.ratio = None
    row.attempts -= 1
    leases.release(row)


def _tried_enough(row: PlanRequestRow, now: int) -> bool:
    """Whether the request ended here, since it failed its workers too often."""
    if row.attempts <= MAX_ATTEMPTS:
        return False
    row.error = f"{MAX_ATTEMPTS} workers died while they computed it; try a smaller workload"
    _finish(row, PlanRequestState.FAILED, now)
    return True


def _answer_from_known(session: Session, row: PlanRequestRow, now: int) -> bool:
    """Whether a plan of this content was there; the row has it then."""
    known = None if row.content_key is None else repository.find_ready(session, row.content_key)
    if known is None or known.summary is None:
        return False
    row.device_digest, row.analyst_digest = known.device_digest, known.analyst_digest
    row.protocol_digest = known.protocol_digest
    row.variance, row.ratio = known.variance, known.ratio
    _ready(row, known.summary, now)
    return True


def _ready(row: PlanRequestRow, summary: str, now: int) -> None:
    row.summary = summary
    row.progress, row.stage = 1.0, "ready"
    _finish(row, PlanRequestState.READY, now)


def _finish(row: PlanRequestRow, state: PlanRequestState, now: int) -> None:
    row.state, row.finished_at = state, now
    leases.release(row)
