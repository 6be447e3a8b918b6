"""Queries on the table of workloads."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from sordino_server.kit import pagination
from sordino_server.kit.insert_if_absent import insert_if_absent
from sordino_server.kit.pagination import Page
from sordino_server.models import WorkloadRow


def add(session: Session, workload: WorkloadRow) -> tuple[WorkloadRow, bool]:
    """The workload of this digest, and whether it is new."""
    return insert_if_absent(session, workload)


def find(session: Session, identifier: str) -> WorkloadRow | None:
    """The workload of this digest."""
    return session.get(WorkloadRow, identifier)


def listed(session: Session, page: Page) -> tuple[Sequence[WorkloadRow], str | None]:
    """A page of workloads, newest first, and the token of the next one."""
    return pagination.listed(session, select(WorkloadRow), WorkloadRow.created_at, WorkloadRow.id, page)
