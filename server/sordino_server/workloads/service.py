"""A workload is registered once it was built; its id is the digest of its canonical specification."""

from __future__ import annotations

import json

from sqlalchemy.orm import Session

from sordino_analysis.kinds.specifications import parse_question
from sordino_analysis.questions.linear import WorkloadError, WorkloadSpecification
from sordino_analysis.questions.question import WrittenQuestion
from sordino_server.errors import found
from sordino_server.models import WorkloadRow
from sordino_server.workloads import repository
from sordino_server.workloads.checking import CheckedWorkload


def register(session: Session, checked: CheckedWorkload, now: int) -> tuple[WorkloadRow, bool]:
    """The workload's row, and whether it is new; the same specification is the same workload."""
    row = WorkloadRow(
        id=checked.id,
        name=checked.name,
        kind=checked.kind,
        specification=checked.specification,
        cells=checked.cells,
        queries=checked.queries,
        created_at=now,
    )
    return repository.add(session, row)


def get(session: Session, identifier: str) -> WorkloadRow:
    """The workload of this id; raises `not-found`."""
    detail = "there is no workload of this id; register it with POST /v1/workloads"
    return found(repository.find(session, identifier), detail)


def exists(session: Session, identifier: str) -> bool:
    """Whether a workload of this id is registered."""
    return repository.find(session, identifier) is not None


def question_of(workload: WorkloadRow) -> WrittenQuestion:
    """The specification as it was registered."""
    return parse_question(json.loads(workload.specification))


def specification_of(workload: WorkloadRow) -> WorkloadSpecification:
    """The linear queries as they were registered; raises WorkloadError for another kind."""
    specification = question_of(workload)
    if not isinstance(specification, WorkloadSpecification):
        raise WorkloadError(f"workload {workload.id} is of kind {workload.kind}, and linear queries are needed here")
    return specification
