"""Estimates as JSON: of linear queries and of pairwise statistics."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, Field

from sordino_analysis.answers.columns import Cell, cells_of_bounds
from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.documents.attribute_bounds import AttributeBounds
from sordino_analysis.figures import SHARE

Interval = tuple[float, float]
WARNING_SEPARATOR = " | "


class PlanDigests(BaseModel):
    """A plan by its two parts."""

    device: str
    analyst: str


class ExpectedCoverage(BaseModel):
    """How often intervals like these hold, from the exact law of a report and the histogram that was estimated."""

    interval: float = Field(
        description="Expected share of campaigns in which `interval` contains the reporters' answer."
    )
    population_interval: float = Field(description="The same for `population_interval` and the population's answer.")
    enough_reports: int | None = Field(
        description="If either is more than .0125 below the level: roughly how many reports are needed; else null."
    )


class SourceReports(BaseModel):
    """How many reports of a round came from a source as sums; 0 where none came."""

    source: str
    round: int
    reports: int


class QueryEstimate(BaseModel):
    """One query's answer."""

    label: str
    kind: str = Field(
        default="", description="prefix, ranges, histogram, marginal, parity, matrix or a product of them."
    )
    bounds: list[AttributeBounds] = Field(
        default=[],
        description="The values that the query counts, of each attribute that it restricts; empty for a query that is "
        "no share of users between bounds.",
    )
    unit: str = Field(
        default=SHARE, description="`share` of the users, the unit of an attribute, or empty for another number."
    )
    value: float = Field(
        description="The answer: `uncut`, for a share cut to [0, 1] as the ends of intervals and band are."
    )
    uncut: float | None = Field(
        default=None,
        description="The unbiased answer, before a share was cut to [0, 1]; null in estimates of older versions.",
    )
    standard_error: float = Field(description="For the uncut answer among the users who reported.")
    interval: Interval = Field(description="Contains that answer with the stated level.")
    band: Interval = Field(
        description="The bands of all `compared` queries together contain all answers with the stated level."
    )
    population_standard_error: float = Field(description="For the answer in the population the users came from.")
    population_interval: Interval = Field(description="Contains the population's answer with the stated level.")
    consistent: float = Field(description="The answer of the nearest valid histogram: biased.")
    coverage: ExpectedCoverage | None = Field(
        default=None, description="Null if the distribution of a report is not available in full."
    )

    def cells(self) -> dict[str, Cell]:
        """Its row of a table."""
        coverage: dict[str, Cell] = {}
        if self.coverage is not None:
            coverage["coverage"] = self.coverage.interval
            coverage["population_coverage"] = self.coverage.population_interval
            coverage["enough_reports"] = self.coverage.enough_reports
        return {
            "kind": self.kind or None,
            "label": self.label,
            **cells_of_bounds(self.bounds),
            "unit": self.unit or None,
            "value": self.value,
            "uncut": self.uncut,
            "standard_error": self.standard_error,
            **ends("", self.interval),
            **ends("band_", self.band),
            "population_standard_error": self.population_standard_error,
            **ends("population_", self.population_interval),
            "consistent": self.consistent,
            **coverage,
        }


class EstimateDocument(BaseModel):
    """The result of a closed round; it never changes."""

    kind: Literal["linear"] = "linear"
    campaign: str = Field(description="Digest of the manifest.")
    plan: PlanDigests
    rounds: list[int]
    workload: str
    mechanism: str
    objective: str
    users: int
    epsilon: float
    level: float
    target: Literal["reporters"] = Field(description="The users that `value` and `interval` refer to.")
    validity: Literal["worst_case"] = Field(
        description="Computed from the distribution for every type of user, not from an average."
    )
    unbiased: bool
    bias_bound: float
    warnings: list[str]
    predicted_rmse_max: float = Field(
        description="√(max_variance/users + bias_bound²): worst-case RMSE the plan predicts at this number of users."
    )
    queries: list[QueryEstimate]
    unlisted: int = Field(
        default=0,
        description="Queries that are asked and not in `queries`: of a long histogram these are the largest answers, "
        "otherwise some that do not depend on the answers.",
    )
    compared: int = Field(description="Number of queries whose bands hold at once, listed or not.")

    sources: list[SourceReports] = Field(
        default=[], description="Reports of each round that others added up, by source; empty for a campaign without."
    )

    def table(self) -> AnswerTable:
        """A row for each query that is listed."""
        return AnswerTable.of_rows(
            [query.cells() for query in self.queries],
            campaign_id=self.campaign,
            users=self.users,
            unlisted=self.unlisted,
            compared=self.compared,
            epsilon=self.epsilon,
            level=self.level,
            bias_bound=self.bias_bound,
            target=self.target,
            validity=self.validity,
            mechanism=self.mechanism,
            plan_device=self.plan.device,
            plan_analyst=self.plan.analyst,
            warnings=joined(self.warnings),
        )

    def content(self) -> bytes:
        """Canonical bytes."""
        return canonical_bytes(self)


class FormEstimate(BaseModel):
    """One quadratic form that the statistic is made of."""

    name: str
    value: float


class ProtocolName(BaseModel):
    """The protocol and the digest of its plan, which the manifest pinned before the first report."""

    name: str
    digest: str


class RoundTaken(BaseModel):
    """A round that the estimate came from, and who took part."""

    index: int
    plan: PlanDigests
    epsilon: float
    users: int
    expected_users: float = Field(description="Reports of the round that the protocol was planned for.")


class PairwiseDocument(BaseModel):
    """The answer of a campaign for a pairwise statistic; it never changes."""

    kind: Literal["pairwise"] = "pairwise"
    campaign: str = Field(description="Digest of the manifest.")
    protocol: ProtocolName
    rounds: list[RoundTaken]
    users: int = Field(
        description="Reports that the answer comes from; where each device answers every round, those of the last one."
    )
    statistic: str
    value: float | None = Field(
        description="Null if the denominator may be zero: the statistic may not exist; use the interval."
    )
    target: Literal["pairs", "histogram"] = Field(
        description="The mean over pairs of different users, or the quadratic form of the histogram."
    )
    standard_error: float | None = Field(
        description="For the statistic of the users who reported; null with the value."
    )
    interval: Interval = Field(description="Contains that statistic with about the stated level.")
    population_standard_error: float | None = Field(
        description="For the statistic of the population the users came from; null with the value."
    )
    population_interval: Interval = Field(
        description="Contains the population's statistic with about the stated level."
    )
    level: float
    validity: Literal["asymptotic", "doubtful"] = Field(
        description="Intervals use the limit for many users; doubtful if few reports make up the error."
    )
    bias_bound: float | None = Field(
        description="Bound on the bias, included in the intervals; null if the estimator is only consistent."
    )
    unbiased: bool = Field(description="Whether the estimator is unbiased for any number of users, or only consistent.")
    forms: list[FormEstimate]
    clipped: str | None = Field(description="Description of what was clipped; null if nothing was.")
    epsilon: float = Field(description="Total ε of one device over all rounds.")
    predicted_rmse: float = Field(description="Error predicted before the campaign for the expected number of users.")
    warnings: list[str]

    sources: list[SourceReports] = Field(
        default=[], description="Reports of each round that others added up, by source; empty for a campaign without."
    )

    def table(self) -> AnswerTable:
        """One row."""
        row: dict[str, Cell] = {
            "kind": "statistic",
            "label": self.statistic,
            "value": self.value,
            "standard_error": self.standard_error,
            **ends("", self.interval),
            "population_standard_error": self.population_standard_error,
            **ends("population_", self.population_interval),
        }
        return AnswerTable.of_rows(
            [row],
            campaign_id=self.campaign,
            users=self.users,
            users_by_round=" ".join(str(each.users) for each in self.rounds),
            epsilon=self.epsilon,
            level=self.level,
            bias_bound=self.bias_bound,
            target=self.target,
            validity=self.validity,
            mechanism=self.protocol.name,
            protocol_digest=self.protocol.digest,
            warnings=joined(self.warnings),
        )

    def content(self) -> bytes:
        """Canonical bytes."""
        return canonical_bytes(self)


def ends(prefix: str, interval: tuple[float | None, float | None] | None) -> dict[str, Cell]:
    """The cells of an interval: its two ends."""
    low, high = (None, None) if interval is None else interval
    return {f"{prefix}lower": low, f"{prefix}upper": high}


def joined(warnings: Sequence[str]) -> str | None:
    """The cell of all warnings."""
    return WARNING_SEPARATOR.join(warnings) or None


def canonical_bytes(document: BaseModel) -> bytes:
    """JSON with sorted keys, no blanks, and the shortest digits that read back to the same number."""
    plain = document.model_dump(mode="json")
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
