"""/v1/workloads"""

from __future__ import annotations

import json
from typing import Annotated, Self

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel
from sqlalchemy.orm import Session

from sordino_analysis.kinds.specifications import Specification
from sordino_server.context import Injected
from sordino_server.keys.authentication import Analyst
from sordino_server.keys.idempotency import Once, PostAnswer
from sordino_server.keys.operator_route import LargeBodyRoute, OperatorRequest
from sordino_server.kit.clock import iso_8601
from sordino_server.kit.page_parameters import PageQuery
from sordino_server.kit.path_parameters import DigestPath
from sordino_server.kit.times import Created
from sordino_server.models import WorkloadRow
from sordino_server.workloads import repository, service
from sordino_server.workloads.checking import CheckedWorkload, check_workload

router = APIRouter(prefix="/workloads", tags=["workloads"], route_class=LargeBodyRoute)


class WorkloadEntry(Created):
    """A workload in a list."""

    id: str
    name: str

    @classmethod
    def of(cls, workload: WorkloadRow) -> Self:
        """What a list shows of a row."""
        return cls(id=workload.id, name=workload.name, created_at=workload.created_at)


class WorkloadDocument(Created):
    """A registered workload: `cells` user types, `queries` answers, of which a pairwise statistic is one.

    There are no `cells` while the planner has yet to choose a number of bins, nor where they are more than 2^62.
    One of the `queries` stands for all items of a histogram of more than 65,536.
    """

    id: str
    name: str
    queries: int
    specification: Specification
    cells: int | None = None

    @staticmethod
    def written(workload: WorkloadRow) -> bytes:
        """A row as JSON, its specification as it is stored: reading and writing 16 MiB of it would stop all else."""
        shown = {"id": workload.id, "name": workload.name, "queries": workload.queries}
        shown |= {"created_at": workload.created_at, "created": iso_8601(workload.created_at)}
        shown |= {} if workload.cells is None else {"cells": workload.cells}
        head = json.dumps(shown, separators=(",", ":")).removesuffix("}")
        return f'{head},"specification":{workload.specification}}}'.encode()


class WorkloadList(BaseModel):
    """A page of workloads, newest first."""

    workloads: list[WorkloadEntry]
    next_page_token: str | None


def _form(form: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{form}Specification"}


# Read by the endpoint, in a process of its own, and so not by FastAPI.
_BODY = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {"oneOf": [_form(each) for each in ("Workload", "Pairwise", "Strings")], "title": "Body"}
        }
    },
}


async def _checked(context: Injected, request: Request, _: Analyst) -> CheckedWorkload:
    assert isinstance(request, OperatorRequest)
    request.check_json()
    return await context.checks.run(check_workload, request.arrived.content)


@router.post("", status_code=201, response_model=WorkloadDocument, openapi_extra={"requestBody": _BODY})
def register_workload(
    context: Injected, _: Analyst, once: Once, checked: Annotated[CheckedWorkload, Depends(_checked)]
) -> Response:
    """Register a workload: 201 if it is new, 200 with the same document if it was known."""

    def act(session: Session) -> PostAnswer:
        workload, new = service.register(session, checked, context.clock.now())
        location = f"/v1/workloads/{workload.id}"
        shown = WorkloadDocument.written(workload)
        return PostAnswer(201 if new else 200, shown, location=location, changed=location if new else "")

    return once.run("register workload", act)


@router.get("")
def list_workloads(context: Injected, _: Analyst, page: PageQuery) -> WorkloadList:
    """Registered workloads, newest first."""
    with context.database.read("list workloads") as session:
        rows, token = repository.listed(session, page)
        return WorkloadList(workloads=[WorkloadEntry.of(row) for row in rows], next_page_token=token)


@router.get("/{workload_id}", response_model=WorkloadDocument)
def get_workload(context: Injected, _: Analyst, workload_id: DigestPath) -> Response:
    """A workload with its specification."""
    with context.database.read("get workload") as session:
        return Response(WorkloadDocument.written(service.get(session, workload_id)), media_type="application/json")
