"""The life of a release: asked for once per key, planned, charged, and only then drawn.

The charge and the state `spent` are one transaction, which is committed before any noise is drawn. A release that was
charged never returns to the queue, so that no charge stands for two draws.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from sordino_analysis.guarantees import Guarantee, kind_of, nano_of, restore
from sordino_server.datasets import service as datasets
from sordino_server.errors import ServerError, found
from sordino_server.kit import leases
from sordino_server.kit.leases import LeaseLost
from sordino_server.kit.pagination import Page
from sordino_server.kit.sealing import Sealer
from sordino_server.models import Dataset, Release, ReleaseState
from sordino_server.releases import repository
from sordino_server.releases.schemas import ReleaseOrder
from sordino_server.workloads import service as workloads
from sordino_shared.errors import SordinoError
from sordino_shared.protocol import Digest, Problem

RETRY_AFTER_S = 2
_MAX_ATTEMPTS = 3
_LOST = "the budget is spent and there is no result: the worker ended before it stored one; a new release spends again"


@dataclass(frozen=True)
class MadeRelease:
    """Answers and plan of a release as the bytes that are stored."""

    content: bytes
    plan: bytes


def request(session: Session, dataset_id: str, order: ReleaseOrder, key: str, now: int) -> tuple[Release, bool]:
    """The release that this key asks for, and whether it is new.

    Raises `idempotency-conflict` where the key asked for something else, DatasetBudgetExceeded, `not-found`,
    `illegal-transition` where the rows were deleted, or InvalidValue for ρ where the cap is on ε.
    """
    guarantee = order.guarantee()
    known = repository.find_by_key(session, dataset_id, key)
    if known is None:
        dataset = datasets.stored_for_change(session, dataset_id)
        # Another request may have come in while this one waited for the lock.
        known = repository.find_by_key(session, dataset_id, key)
    if known is not None:
        return _same(known, order, guarantee), False
    datasets.check_left(session, dataset, guarantee)
    row = Release(
        id=secrets.token_hex(16),
        dataset_id=dataset_id,
        workload_id=workloads.get(session, order.workload).id,
        key=key,
        objective=order.objective,
        kind=kind_of(guarantee),
        nano=nano_of(guarantee),
        mechanism=order.mechanism,
        state=ReleaseState.QUEUED,
        created_at=now,
    )
    repository.add(session, row)
    return row, True


def is_known(session: Session, dataset_id: str, key: str) -> bool:
    """Whether the key asked for a release from the dataset, which was checked then."""
    return repository.find_by_key(session, dataset_id, key) is not None


def get(session: Session, identifier: str) -> Release:
    """The release of this id; raises `not-found`."""
    return found(repository.find(session, identifier), "there is no release of this id")


def answers(session: Session, identifier: str) -> tuple[bytes, str]:
    """The answers and their digest; raises `not-found`, or `release-not-ready` with the reason."""
    row = get(session, identifier)
    content = repository.content(session, identifier)
    if content is None or row.digest is None:
        raise _not_ready(row)
    return content, row.digest


def plan(session: Session, identifier: str) -> bytes:
    """The plan of a release that has answers; raises as `answers` does."""
    row = get(session, identifier)
    content = repository.plan(session, identifier)
    if content is None:
        raise _not_ready(row)
    return content


def listed(session: Session, dataset_id: str, page: Page) -> tuple[Sequence[Release], str | None]:
    """A page of a dataset's releases, newest first, and the token of the next one; raises `not-found`."""
    datasets.get(session, dataset_id)
    return repository.listed(session, dataset_id, page)


def begin(session: Session, *, owner: str, now: int, seconds: int) -> Release | None:
    """The next release to plan, leased to `owner`; those whose worker ended on the way end here."""
    while row := repository.claim(session, ReleaseState.SPENT, owner=owner, now=now, seconds=seconds):
        _finish(row, ReleaseState.LOST, now, _LOST)
        session.flush()
    while row := repository.claim(session, ReleaseState.QUEUED, owner=owner, now=now, seconds=seconds):
        if row.attempts <= _MAX_ATTEMPTS:
            return row
        _finish(row, ReleaseState.FAILED, now, f"planning ended {_MAX_ATTEMPTS} times without a plan: ask for less")
        session.flush()
    return None


def charge(
    session: Session, identifier: str, owner: str, planned: Dataset, sealer: Sealer, now: int
) -> NDArray[np.int64]:
    """The exact counts of the dataset, for a release that is charged in the same transaction.

    Nothing may be drawn before this transaction is committed. Raises `LeaseLost`, DatasetBudgetExceeded, and
    SordinoError where the rows cannot be opened or the dataset is not as `planned` any more; then nothing is charged.
    """
    row = _held(session, identifier, owner, ReleaseState.QUEUED)
    dataset = datasets.stored_for_change(session, row.dataset_id)
    if (dataset.terms, dataset.rows) != (planned.terms, planned.rows):
        raise SordinoError("the dataset was replaced while the release was planned: ask again")
    counts = datasets.open_rows(session, dataset, sealer)
    datasets.spend(session, dataset, row.id, restore(row.kind, row.nano), now)
    row.state = ReleaseState.SPENT
    return counts


def publish(session: Session, identifier: str, owner: str, made: MadeRelease, now: int) -> None:
    """Store the answers and the plan of a charged release; raises `LeaseLost`."""
    row = _held(session, identifier, owner, ReleaseState.SPENT)
    row.content, row.digest, row.plan = made.content, str(Digest.of(made.content)), made.plan
    _finish(row, ReleaseState.RELEASED, now)


def fail(session: Session, identifier: str, owner: str, error: str, now: int) -> None:
    """End the release with the reason: failed, or lost where it was charged; raises `LeaseLost`."""
    row = leases.hold(session, Release, identifier, owner)
    spent = row.state == ReleaseState.SPENT
    _finish(
        row,
        ReleaseState.LOST if spent else ReleaseState.FAILED,
        now,
        f"the budget is spent: {error}" if spent else error,
    )


def give_back(session: Session, identifier: str, owner: str) -> None:
    """Queue a release that is not charged again, as if it had not been begun; raises `LeaseLost`."""
    row = _held(session, identifier, owner, ReleaseState.QUEUED)
    row.attempts -= 1
    leases.release(row)


def _held(session: Session, identifier: str, owner: str, state: ReleaseState) -> Release:
    row = leases.hold(session, Release, identifier, owner)
    if row.state != state:
        raise LeaseLost(owner, identifier)
    return row


def _finish(row: Release, state: ReleaseState, now: int, error: str | None = None) -> None:
    row.state, row.error, row.finished_at = state, error, now
    leases.release(row)


def _same(known: Release, order: ReleaseOrder, guarantee: Guarantee) -> Release:
    """What the key asked for before, if that is what it asks for now."""
    asked = (order.workload, order.objective, order.mechanism, guarantee)
    if asked != (known.workload_id, known.objective, known.mechanism, restore(known.kind, known.nano)):
        raise ServerError(
            Problem.IDEMPOTENCY_CONFLICT,
            "this Idempotency-Key asked for another release from this dataset; take a new one for a new release",
        )
    return known


def _not_ready(row: Release) -> ServerError:
    state = ReleaseState(row.state)
    if state in (ReleaseState.QUEUED, ReleaseState.SPENT):
        detail = "the release is being made" if row.lease_owner else "no worker has taken the release yet"
        return ServerError(Problem.RELEASE_NOT_READY, detail, state=state.value, retry_after=RETRY_AFTER_S)
    return ServerError(Problem.RELEASE_NOT_READY, f"the release is {state}: {row.error}", state=state.value)
