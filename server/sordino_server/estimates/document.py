"""The document of an estimate of linear queries: answers, how sure they are, the plan and the number of users."""

from __future__ import annotations

import math
from typing import Any

from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.estimation.items import ItemEstimate
from sordino_analysis.estimation.linear import LinearEstimate
from sordino_analysis.estimation.normality import Normality
from sordino_analysis.evaluation.listing import PublishedQueries
from sordino_analysis.evaluation.variance import counts_as_unbiased
from sordino_analysis.figures import SHARE
from sordino_analysis.questions.linear.scopes import bounds_of
from sordino_analysis.questions.linear.units import units_of
from sordino_server.estimates.schemas import EstimateDocument, ExpectedCoverage, Interval, PlanDigests, QueryEstimate
from sordino_shared.domains import Domain
from sordino_shared.protocol import DevicePart


def document_of(
    campaign: str,
    index: int,
    device: DevicePart,
    analyst: AnalystPart,
    published: PublishedQueries,
    estimate: LinearEstimate,
) -> EstimateDocument:
    """The document of one round's estimate, which has the answers of `published.workload` in order."""
    return EstimateDocument(
        **_origin(campaign, index, device, analyst, estimate.users),
        level=estimate.level,
        unbiased=estimate.counts_as_unbiased,
        warnings=[*published.note, *estimate.warnings],
        queries=_queries(published, estimate),
        unlisted=published.unlisted,
        compared=published.workload.queries,
    )


def document_of_items(
    campaign: str, index: int, device: DevicePart, analyst: AnalystPart, estimate: ItemEstimate
) -> EstimateDocument:
    """The document of a histogram that is too long to list: of the items that were looked at."""
    return EstimateDocument(
        **_origin(campaign, index, device, analyst, estimate.users),
        level=estimate.level,
        unbiased=counts_as_unbiased(analyst.figures),
        warnings=list(estimate.warnings),
        queries=_items(device.domain, estimate),
        unlisted=device.domain.size - len(estimate.labels),
        compared=device.domain.size,
    )


def _origin(campaign: str, index: int, device: DevicePart, analyst: AnalystPart, users: int) -> dict[str, Any]:
    """Plan and round of an estimate."""
    figures = analyst.figures
    return {
        "campaign": campaign,
        "plan": PlanDigests(device=str(device.digest), analyst=str(analyst.digest)),
        "rounds": [index],
        "workload": analyst.workload,
        "mechanism": analyst.mechanism,
        "objective": analyst.objective,
        "users": users,
        "epsilon": device.guarantee.epsilon,
        "target": "reporters",
        "validity": "worst_case",
        "bias_bound": figures.bias_bound,
        "predicted_rmse_max": math.sqrt(figures.max_variance / users + figures.bias_bound**2),
    }


def _items(domain: Domain, estimate: ItemEstimate) -> list[QueryEstimate]:
    columns: dict[str, list[Any]] = {
        "label": list(estimate.labels),
        "kind": ["histogram"] * len(estimate.labels),
        "bounds": [bounds_of(domain, [(code, code) for code in codes]) for codes in estimate.codes.tolist()],
        "unit": [SHARE] * len(estimate.labels),
        "value": estimate.value.tolist(),
        "uncut": estimate.uncut.tolist(),
        "standard_error": estimate.standard_error.tolist(),
        "interval": estimate.interval.tolist(),
        "band": estimate.band.tolist(),
        "population_standard_error": estimate.population_standard_error.tolist(),
        "population_interval": estimate.interval.tolist(),
        "consistent": estimate.consistent.tolist(),
    }
    return _rows(columns)


def _queries(published: PublishedQueries, estimate: LinearEstimate) -> list[QueryEstimate]:
    workload, numbers = published.workload, published.numbers
    listed = numbers.tolist()
    scopes = [workload.scope(query) for query in listed]
    columns: dict[str, list[Any]] = {
        "label": [workload.label(query) for query in listed],
        "kind": [scope.kind for scope in scopes],
        "bounds": [bounds_of(workload.domain, scope.sides) for scope in scopes],
        "unit": units_of(workload, listed),
        "value": estimate.value[numbers].tolist(),
        "uncut": estimate.unbiased[numbers].tolist(),
        "standard_error": estimate.standard_error[numbers].tolist(),
        "interval": _pairs(estimate.lower[numbers], estimate.upper[numbers]),
        "band": _pairs(estimate.band_lower[numbers], estimate.band_upper[numbers]),
        "population_standard_error": estimate.population_standard_error[numbers].tolist(),
        "population_interval": _pairs(estimate.population_lower[numbers], estimate.population_upper[numbers]),
        "consistent": estimate.consistent[numbers].tolist(),
        "coverage": [_coverage(estimate.normality[query]) for query in listed],
    }
    return _rows(columns)


def _rows(columns: dict[str, list[Any]]) -> list[QueryEstimate]:
    rows = zip(*columns.values(), strict=True)
    return [QueryEstimate(**dict(zip(columns, row, strict=True))) for row in rows]


def _coverage(normality: Normality | None) -> ExpectedCoverage | None:
    if normality is None:
        return None
    # The fourth digit is below what the estimated histogram leaves open.
    own, population = round(normality.coverage, 4), round(normality.population_coverage, 4)
    return ExpectedCoverage(interval=own, population_interval=population, enough_reports=normality.enough_reports)


def _pairs(low: Any, high: Any) -> list[Interval]:
    return list(zip(low.tolist(), high.tolist(), strict=True))
