"""The tables."""

from sordino_server.models.base import Base
from sordino_server.models.campaigns import Campaign, Estimate, Round
from sordino_server.models.keys import IdempotencyKey, Key, Role
from sordino_server.models.plans import PlanPart, PlanPartKind, PlanRequest, PlanRequestState, Workload
from sordino_server.models.reports import Accumulator, RefusalCount, Report, ReportChunk

__all__ = [
    "Accumulator",
    "Base",
    "Campaign",
    "Estimate",
    "IdempotencyKey",
    "Key",
    "PlanPart",
    "PlanPartKind",
    "PlanRequest",
    "PlanRequestState",
    "RefusalCount",
    "Report",
    "ReportChunk",
    "Role",
    "Round",
    "Workload",
]
