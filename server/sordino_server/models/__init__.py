"""The tables."""

from sordino_server.models.archives import ArchiveRow
from sordino_server.models.base import Base
from sordino_server.models.campaigns import Campaign, ClosingRule, Estimate, ManifestSignature, Round
from sordino_server.models.datasets import Dataset, DatasetAccount, DatasetSpending, Release, ReleaseState
from sordino_server.models.experiments import ExperimentRow, LookRow
from sordino_server.models.kept_defaults import KeptDefault
from sordino_server.models.keys import AuditEntry, AuditLink, ConsoleSession, IdempotencyKey, Key, Role, SignInLink
from sordino_server.models.plans import (
    PlanPart,
    PlanPartKind,
    PlanRequestRow,
    PlanRequestState,
    ProtocolPlanContent,
    WorkloadRow,
)
from sordino_server.models.populations import AskedEpsilon, Population
from sordino_server.models.public_log import (
    Log,
    LogCheckpoint,
    LogCosignature,
    LogEntryRow,
    LogNode,
    WitnessedCheckpoint,
)
from sordino_server.models.reports import Accumulator, RefusalCount, Report, ReportChunk
from sordino_server.models.series import SeriesPause, SeriesRow
from sordino_server.models.share_links import ShareLink
from sordino_server.models.shuffled import Batch, BatchState, SealedPage, SignedTask
from sordino_server.models.sources import Source, SourceSums
from sordino_server.models.string_searches import StringSearch
from sordino_server.models.tokens import IssuerSeed, SpentToken, TokenAccount

__all__ = [
    "Accumulator",
    "ArchiveRow",
    "AskedEpsilon",
    "AuditEntry",
    "AuditLink",
    "Base",
    "Batch",
    "BatchState",
    "Campaign",
    "ClosingRule",
    "ConsoleSession",
    "Dataset",
    "DatasetAccount",
    "DatasetSpending",
    "Estimate",
    "ExperimentRow",
    "IdempotencyKey",
    "IssuerSeed",
    "KeptDefault",
    "Key",
    "Log",
    "LogCheckpoint",
    "LogCosignature",
    "LogEntryRow",
    "LogNode",
    "LookRow",
    "ManifestSignature",
    "PlanPart",
    "PlanPartKind",
    "PlanRequestRow",
    "PlanRequestState",
    "Population",
    "ProtocolPlanContent",
    "RefusalCount",
    "Release",
    "ReleaseState",
    "Report",
    "ReportChunk",
    "Role",
    "Round",
    "SealedPage",
    "SeriesPause",
    "SeriesRow",
    "ShareLink",
    "SignInLink",
    "SignedTask",
    "Source",
    "SourceSums",
    "SpentToken",
    "StringSearch",
    "TokenAccount",
    "WitnessedCheckpoint",
    "WorkloadRow",
]
