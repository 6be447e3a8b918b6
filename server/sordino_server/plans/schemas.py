"""Plan requests as JSON."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, StrictInt

from sordino_analysis.pairwise.protocol_plan import Target
from sordino_analysis.request_terms import Effort
from sordino_analysis.strict_model import StrictModel
from sordino_server.identifiers import DigestText
from sordino_server.models import PlanRequest, PlanRequestState

# Above this a count of users no longer is an exact double.
MAX_USERS = 2**53
# JSON readers take 1e400 and NaN for numbers; JSON writers turn them into null, and the kept order could not be read.
_FiniteFloat = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class PlanOrder(StrictModel):
    """What a plan is asked for."""

    workload: DigestText
    epsilon: _FiniteFloat | StrictInt | Annotated[str, Field(max_length=40)] = Field(
        description="ε of the round: a number, or its decimal digits as text."
    )
    objective: Literal["max", "mean"] = "max"
    mechanism: str | None = Field(None, max_length=200, description="Use this mechanism; null for the best one.")
    users: int | None = Field(
        None,
        ge=1,
        le=MAX_USERS,
        strict=True,
        description="Expected number of users; required for a pairwise statistic.",
    )
    protocol: str | None = Field(
        None, max_length=200, description="Use this protocol for a pairwise statistic; null for the best one."
    )
    target: Target | None = Field(
        None,
        description="Pairs of a pairwise statistic: of different users (default), or drawn from the histogram.",
    )
    reduction: int | None = Field(
        None, ge=1, le=1 << 20, strict=True, description="Dimension of a random projection of the factors."
    )
    seed: int = Field(0, ge=0, lt=2**63, strict=True)
    effort: Effort = Field(Effort.STANDARD, description="Search effort.")
    time_limit: _FiniteFloat | None = Field(
        None, gt=0, le=86400, description="Longest planning time in seconds; then the best plan so far is used."
    )


class PlanRequestDocument(BaseModel):
    """A plan request: how far it is and what came of it."""

    id: str
    workload: str
    order: PlanOrder = Field(description="The original request.")
    state: PlanRequestState
    progress: float
    stage: str
    variance: float | None = Field(description="Smallest variance of the objective so far; null before the first.")
    ratio: float | None = Field(description="That variance over its lower bound; null until there is a bound above 0.")
    summary: dict[str, Any] | None = Field(description="Summary of the finished plan.")
    device_digest: str | None
    analyst_digest: str | None
    protocol_digest: str | None = Field(description="Digest of the protocol plan of a pairwise statistic.")
    error: str | None
    attempts: int
    created_at: int
    started_at: int | None
    finished_at: int | None

    @classmethod
    def of(cls, row: PlanRequest) -> Self:
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


class PlanRequestList(BaseModel):
    """A page of plan requests, newest first."""

    plan_requests: list[PlanRequestDocument]
    next_page_token: str | None
