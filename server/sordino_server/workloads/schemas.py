"""Workloads as JSON."""

from __future__ import annotations

import json
from typing import Self

from pydantic import BaseModel

from sordino_analysis.questions.specifications import Specification
from sordino_server.kit.clock import iso_8601
from sordino_server.kit.times import Created
from sordino_server.models import WorkloadRow


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
