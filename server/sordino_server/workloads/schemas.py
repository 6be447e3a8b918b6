"""Workloads as JSON."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel

from sordino_server.design.specifications import Specification
from sordino_server.design.statistics import StatisticSpecification
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
    """A registered workload: `cells` user types, `queries` answers, of which a statistic of pairs is one.

    There are no `cells` while the planner has yet to choose a number of bins.
    """

    id: str
    name: str
    queries: int
    created_at: int
    specification: Specification
    cells: int | None = None

    @classmethod
    def of(cls, workload: Workload) -> Self:
        """A row, with the sizes that follow from its specification."""
        specification = service.either_of(workload)
        cells, queries = _sizes(specification)
        return cls(
            id=workload.id,
            name=workload.name,
            cells=cells,
            queries=queries,
            created_at=workload.created_at,
            specification=specification,
        )


def _sizes(specification: Specification) -> tuple[int | None, int]:
    if isinstance(specification, StatisticSpecification):
        return specification.cells, 1
    built = specification.build()
    return built.size, built.queries


class WorkloadList(BaseModel):
    """A page of workloads, newest first."""

    workloads: list[WorkloadEntry]
    next_page_token: str | None
