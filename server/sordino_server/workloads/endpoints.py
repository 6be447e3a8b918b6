"""/v1/workloads"""

from __future__ import annotations

from fastapi import APIRouter, Response
from sqlalchemy.orm import Session

from sordino_server.context import Injected
from sordino_server.design.specifications import Specification
from sordino_server.idempotency import Answer, Once
from sordino_server.identifiers import DigestPath
from sordino_server.keys.authentication import Analyst
from sordino_server.kit.pagination import AskedPage, cut
from sordino_server.workloads import repository, service
from sordino_server.workloads.schemas import WorkloadDocument, WorkloadEntry, WorkloadList

router = APIRouter(prefix="/workloads", tags=["workloads"])


@router.post("", status_code=201, response_model=WorkloadDocument)
def register_workload(context: Injected, _: Analyst, once: Once, body: Specification) -> Response:
    """Register a workload: 201 if it is new, 200 with the same document if it was known."""

    def act(session: Session) -> Answer:
        workload, new = service.register(session, body, context.clock.now())
        document = WorkloadDocument.of(workload).model_dump(mode="json", exclude_none=True)
        return Answer(201 if new else 200, document, location=f"/v1/workloads/{workload.id}")

    return once.run("register workload", act)


@router.get("")
def list_workloads(context: Injected, _: Analyst, page: AskedPage) -> WorkloadList:
    """Registered workloads, newest first."""
    with context.database.read("list workloads") as session:
        rows, token = cut(repository.listed(session, page), page)
        return WorkloadList(workloads=[WorkloadEntry.of(row) for row in rows], next_page_token=token)


@router.get("/{workload_id}", response_model_exclude_none=True)
def get_workload(context: Injected, _: Analyst, workload_id: DigestPath) -> WorkloadDocument:
    """A workload with its specification."""
    with context.database.read("get workload") as session:
        return WorkloadDocument.of(service.get(session, workload_id))
