"""Workloads as JSON."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel

from sordino_server.design.workloads import WorkloadSpecification
from sordino_server.models import Workload
from sordino_server.workloads import service


class WorkloadEntry(BaseModel):
    """A workload in a list."""

    id: str
    name: str
    created_at: int

    @classmethod
    def of(cls, workload: Workload) -> Self:
        """What a list shows of a row."""
        return cls(id=workload.id, name=workload.name, created_at=workload.created_at)


class WorkloadDocument(BaseModel):
    """A registered workload: `cells` user types, `queries` answers."""

    id: str
    name: str
    cells: int
    queries: int
    created_at: int
    specification: WorkloadSpecification

    @classmethod
    def of(cls, workload: Workload) -> Self:
        """A row, with the sizes that follow from its specification."""
        specification = service.specification_of(workload)
        built = specification.build()
        return cls(
            id=workload.id,
            name=workload.name,
            cells=built.size,
            queries=built.queries,
            created_at=workload.created_at,
            specification=specification,
        )


class WorkloadList(BaseModel):
    """A page of workloads, newest first."""

    workloads: list[WorkloadEntry]
    next_page_token: str | None
