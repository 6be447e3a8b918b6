"""The estimate as a document: what is estimated, how sure it is, and from which plan and how many users."""

from __future__ import annotations

import json
import math
from typing import Any, Literal

from pydantic import BaseModel, Field

from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.estimation.linear import LinearEstimate
from sordino_analysis.estimation.normality import Normality
from sordino_shared.protocol import DevicePart

Interval = tuple[float, float]


class PlanDigests(BaseModel):
    """A plan by its two parts."""

    device: str
    analyst: str


class ExpectedCoverage(BaseModel):
    """How often intervals like these hold, from the exact law of a report and the histogram that was estimated."""

    interval: float = Field(description="Share of campaigns in which `interval` holds the answer of the reporters.")
    population_interval: float = Field(description="The same of `population_interval` and the population's answer.")
    enough_reports: int | None = Field(
        description="Where either is below the level by more than .0125: about how many reports would do. Else null."
    )


class QueryEstimate(BaseModel):
    """One query's answer."""

    label: str
    value: float = Field(description="The unbiased answer (up to the stated bias bound).")
    standard_error: float = Field(description="For the answer among the users who reported.")
    interval: Interval = Field(description="Holds that answer with the stated level.")
    band: Interval = Field(description="The bands of all queries hold all answers at once with the stated level.")
    population_standard_error: float = Field(description="For the answer in the population the users came from.")
    population_interval: Interval = Field(description="Holds the population's answer with the stated level.")
    consistent: float = Field(description="The answer of the nearest true histogram: no longer unbiased.")
    coverage: ExpectedCoverage | None = Field(
        default=None, description="Null where a report's law is not known in full."
    )


class EstimateDocument(BaseModel):
    """The result of a closed round; it never changes."""

    campaign: str = Field(description="Digest of the manifest.")
    plan: PlanDigests
    rounds: list[int]
    workload: str
    mechanism: str
    objective: str
    users: int
    epsilon: float
    level: float
    target: Literal["reporters"] = Field(description="Whose answers `value` and `interval` are about.")
    validity: Literal["worst_case"] = Field(description="The law of every type of user was used, not an average.")
    unbiased: bool
    bias_bound: float
    warnings: list[str]
    predicted_rmse_max: float = Field(
        description="Error of the worst query and type that the plan promised for so many."
    )
    queries: list[QueryEstimate]

    def content(self) -> bytes:
        """Canonical bytes."""
        return canonical_bytes(self)


def canonical_bytes(document: BaseModel) -> bytes:
    """JSON with sorted keys, no blanks, and the shortest digits that read back to the same number."""
    plain = document.model_dump(mode="json")
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def document_of(
    campaign: str, index: int, device: DevicePart, analyst: AnalystPart, labels: list[str], estimate: LinearEstimate
) -> EstimateDocument:
    """The document of one round's estimate; `labels` names the queries in order."""
    figures = analyst.figures
    return EstimateDocument(
        campaign=campaign,
        plan=PlanDigests(device=str(device.digest), analyst=str(analyst.digest)),
        rounds=[index],
        workload=analyst.workload,
        mechanism=analyst.mechanism,
        objective=analyst.objective,
        users=estimate.users,
        epsilon=device.guarantee.epsilon,
        level=estimate.level,
        target="reporters",
        validity="worst_case",
        unbiased=estimate.counts_as_unbiased,
        bias_bound=estimate.bias_bound,
        warnings=list(estimate.warnings),
        predicted_rmse_max=math.sqrt(figures.max_variance / estimate.users + figures.bias_bound**2),
        queries=_queries(labels, estimate),
    )


def _queries(labels: list[str], estimate: LinearEstimate) -> list[QueryEstimate]:
    columns: dict[str, list[Any]] = {
        "label": labels,
        "value": estimate.unbiased.tolist(),
        "standard_error": estimate.standard_error.tolist(),
        "interval": _pairs(estimate.lower, estimate.upper),
        "band": _pairs(estimate.band_lower, estimate.band_upper),
        "population_standard_error": estimate.population_standard_error.tolist(),
        "population_interval": _pairs(estimate.population_lower, estimate.population_upper),
        "consistent": estimate.consistent.tolist(),
        "coverage": [_coverage(each) for each in estimate.normality],
    }
    rows = zip(*columns.values(), strict=True)
    return [QueryEstimate(**dict(zip(columns, row, strict=True))) for row in rows]


def _coverage(found: Normality | None) -> ExpectedCoverage | None:
    if found is None:
        return None
    # The fourth digit is below what the estimated histogram leaves open.
    own, population = round(found.coverage, 4), round(found.population_coverage, 4)
    return ExpectedCoverage(interval=own, population_interval=population, enough_reports=found.enough_reports)


def _pairs(low: Any, high: Any) -> list[Interval]:
    return list(zip(low.tolist(), high.tolist(), strict=True))
