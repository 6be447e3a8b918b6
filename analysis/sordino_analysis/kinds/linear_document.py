"""The estimate of linear queries as a document: answers, how sure they are, the plan and the number of users."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sordino_analysis.answers.columns import Cell, cells_of_bounds
from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.documents.attribute_bounds import AttributeBounds
from sordino_analysis.estimation.items import ItemEstimate, ItemEstimator
from sordino_analysis.estimation.linear import LinearEstimate, estimate
from sordino_analysis.estimation.normality import Normality
from sordino_analysis.evaluation.listing import PublishedQueries
from sordino_analysis.evaluation.variance import counts_as_unbiased
from sordino_analysis.figures import SHARE
from sordino_analysis.kinds.base import digests_of
from sordino_analysis.kinds.linear import LinearExtras
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_analysis.questions.linear.scopes import bounds_of
from sordino_analysis.questions.linear.units import units_of
from sordino_shared.domains import Domain
from sordino_shared.protocol import Manifest


def estimated(manifest: Manifest, closed: ClosedRound) -> EstimateDocument:
    """The document of one closed round, or of one period of a series; raises EstimationError."""
    published = PublishedQueries.of(closed.plan.device, closed.plan.analyst)
    campaign = str(manifest.campaign)
    if not published.workload.is_listed:
        found = ItemEstimator(closed.plan.device, closed.plan.analyst).published(closed.aggregate)
        return document_of_items(campaign, closed.plan, found)
    return document_of(
        campaign, closed.plan, published, estimate(closed.plan.device, closed.plan.analyst, closed.aggregate)
    )


def document_of(campaign: str, plan: RoundPlan, published: PublishedQueries, found: LinearEstimate) -> EstimateDocument:
    """The document of one round's estimate, which has the answers of `published.workload` in order."""
    return EstimateDocument.of_rows(
        "linear",
        list(_queries(published, found)),
        _extras(plan, found.users, found.counts_as_unbiased, [*published.note, *found.warnings]),
        **_terms(campaign, plan, found.users, found.level),
        unlisted=published.unlisted,
        compared=published.workload.queries,
    )


def document_of_items(campaign: str, plan: RoundPlan, found: ItemEstimate) -> EstimateDocument:
    """The document of a histogram that is too long to list: of the items that were looked at."""
    domain = plan.device.domain
    return EstimateDocument.of_rows(
        "linear",
        list(_items(domain, found)),
        _extras(plan, found.users, counts_as_unbiased(plan.analyst.figures), found.warnings),
        **_terms(campaign, plan, found.users, found.level),
        unlisted=domain.size - len(found.labels),
        compared=domain.size,
    )


def _terms(campaign: str, plan: RoundPlan, users: int, level: float) -> dict[str, Cell]:
    return {
        "campaign_id": campaign,
        "users": users,
        "epsilon": plan.device.guarantee.epsilon,
        "level": level,
        "bias_bound": plan.analyst.figures.bias_bound,
        "target": "reporters",
        "validity": "worst_case",
        "mechanism": plan.analyst.mechanism,
        **digests_of(plan),
    }


def _extras(plan: RoundPlan, users: int, unbiased: bool, warnings: Iterable[str]) -> LinearExtras:
    analyst = plan.analyst
    return LinearExtras.model_validate(
        {
            "workload": analyst.workload,
            "objective": analyst.objective,
            "unbiased": unbiased,
            "predicted_rmse_max": math.sqrt(analyst.figures.max_variance / users + analyst.figures.bias_bound**2),
            "warnings": tuple(warnings),
        }
    )


def _items(domain: Domain, found: ItemEstimate) -> Iterator[dict[str, Cell]]:
    columns: dict[str, Sequence[Any]] = {
        "label": list(found.labels),
        "kind": ["histogram"] * len(found.labels),
        "unit": [SHARE] * len(found.labels),
        "value": found.value.tolist(),
        "uncut": found.uncut.tolist(),
        "standard_error": found.standard_error.tolist(),
        **_ends("", found.interval[:, 0], found.interval[:, 1]),
        **_ends("band_", found.band[:, 0], found.band[:, 1]),
        "population_standard_error": found.population_standard_error.tolist(),
        **_ends("population_", found.interval[:, 0], found.interval[:, 1]),
        "consistent": found.consistent.tolist(),
    }
    return _rows(columns, (bounds_of(domain, [(code, code) for code in codes]) for codes in found.codes.tolist()))


def _queries(published: PublishedQueries, found: LinearEstimate) -> Iterator[dict[str, Cell]]:
    workload, numbers = published.workload, published.numbers
    listed = numbers.tolist()
    scopes = [workload.scope(query) for query in listed]
    laws = [found.normality[query] for query in listed]
    columns: dict[str, Sequence[Any]] = {
        "label": [workload.label(query) for query in listed],
        "kind": [scope.kind or None for scope in scopes],
        "unit": [unit or None for unit in units_of(workload, listed)],
        "value": found.value[numbers].tolist(),
        "uncut": found.unbiased[numbers].tolist(),
        "standard_error": found.standard_error[numbers].tolist(),
        **_ends("", found.lower[numbers], found.upper[numbers]),
        **_ends("band_", found.band_lower[numbers], found.band_upper[numbers]),
        "population_standard_error": found.population_standard_error[numbers].tolist(),
        **_ends("population_", found.population_lower[numbers], found.population_upper[numbers]),
        "consistent": found.consistent[numbers].tolist(),
        **_coverage(laws),
    }
    return _rows(columns, (bounds_of(workload.domain, scope.sides) for scope in scopes))


def _rows(columns: dict[str, Sequence[Any]], bounds: Iterable[Sequence[AttributeBounds]]) -> Iterator[dict[str, Cell]]:
    """Rows of the columns, with the cells of the bounds that each row has."""
    rows = zip(*columns.values(), strict=True)
    for row, own in zip(rows, bounds, strict=True):
        yield dict(zip(columns, row, strict=True)) | cells_of_bounds(own)


def _ends(prefix: str, low: Any, high: Any) -> dict[str, Sequence[Any]]:
    return {f"{prefix}lower": low.tolist(), f"{prefix}upper": high.tolist()}


def _coverage(laws: Sequence[Normality | None]) -> dict[str, Sequence[Any]]:
    """How often intervals hold; no columns where nothing is known of any."""
    if not any(laws):
        return {}
    # The fourth digit is below what the estimated histogram leaves open.
    return {
        "coverage": [law and round(law.coverage, 4) for law in laws],
        "population_coverage": [law and round(law.population_coverage, 4) for law in laws],
        "enough_reports": [law and law.enough_reports for law in laws],
    }
