"""Plan requests as JSON."""

from __future__ import annotations

import json
from typing import Any, Self

from pydantic import BaseModel, Field, computed_field

from sordino_analysis.documents.plan_summary import LinearSummary, PairwiseSummary
from sordino_analysis.documents.strings_summary import StringsSummary
from sordino_analysis.planning_options import PlanningOptions
from sordino_server.identifiers import DigestText
from sordino_server.kit.times import Created, iso_8601_or_none
from sordino_server.models import PlanRequestRow, PlanRequestState


class PlanOrder(PlanningOptions):
    """What a plan is asked for."""

    workload: DigestText

    def options(self) -> PlanningOptions:
        """Everything but the workload."""
        return PlanningOptions.model_construct(**{name: getattr(self, name) for name in PlanningOptions.model_fields})


class PlanRequestDocument(Created):
    """A plan request: how far it is and what came of it."""

    id: str
    workload: str
    order: PlanOrder = Field(description="The original request.")
    state: PlanRequestState
    progress: float
    stage: str
    variance: float | None = Field(description="Smallest variance of the objective so far; null before the first.")
    ratio: float | None = Field(description="That variance over its lower bound; null until there is a bound above 0.")
    summary: LinearSummary | PairwiseSummary | StringsSummary | dict[str, Any] | None = Field(
        description="Summary of the finished plan; of a plan from an earlier version as it was written."
    )
    device_digest: str | None
    analyst_digest: str | None
    protocol_digest: str | None = Field(description="Digest of the protocol plan of a pairwise statistic.")
    error: str | None
    attempts: int
    started_at: int | None
    finished_at: int | None

    @computed_field
    def started(self) -> str | None:
        return iso_8601_or_none(self.started_at)

    @computed_field
    def finished(self) -> str | None:
        return iso_8601_or_none(self.finished_at)

    @classmethod
    def of(cls, row: PlanRequestRow) -> Self:
        """What is shown of a row."""
        return cls(
            id=row.id,
            workload=row.workload_id,
            order=PlanOrder.model_validate_json(row.request),
            state=PlanRequestState(row.state),
            progress=row.progress,
            stage=row.stage,
            variance=row.variance,
            ratio=row.ratio,
            summary=None if row.summary is None else json.loads(row.summary),
            device_digest=row.device_digest,
            analyst_digest=row.analyst_digest,
            protocol_digest=row.protocol_digest,
            error=row.error,
            attempts=row.attempts,
            created_at=row.created_at,
            started_at=row.started_at,
            finished_at=row.finished_at,
        )


class SampleSizeDocument(BaseModel):
    """Users that the statement "each answer ± margin, with probability `level`" needs with a finished plan."""

    margin: float = Field(description="In units of the answers: 0.01 is one percentage point of a share of users.")
    level: float
    difference: bool = Field(description="Whether of the difference of two campaigns, with so many users each.")
    users: int = Field(description="For every answer by itself, whatever the users hold.")
    band_users: int = Field(description="For all answers at once; enough however they are correlated.")


class PlanRequestList(BaseModel):
    """A page of plan requests, newest first."""

    plan_requests: list[PlanRequestDocument]
    next_page_token: str | None
