"""The document of a release: what follows from the plan, which is public, and from the measurement."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.noise import Integers
from sordino_analysis.curator.plan import CuratorPlan
from sordino_analysis.curator.release import released_estimate
from sordino_analysis.curator.released_counts import ReleasedCounts, released_counts
from sordino_analysis.estimation.linear_estimate import LinearEstimate
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.scopes import bounds_of
from sordino_analysis.questions.linear.units import units_of
from sordino_server.estimates.schemas import Interval
from sordino_server.releases.schemas import (
    NumberOfRows,
    ReleasedAnswer,
    ReleaseDocument,
    ReleaseGuarantee,
    UnbiasedBound,
)

LEVEL = 0.95


@dataclass(frozen=True, kw_only=True)
class ReleaseSource:
    """Where a release comes from: `plan` is the digest of its plan, `users` the number of rows where it is public."""

    release: str
    plan: str
    dataset: str
    unit: str
    delta: Fraction
    users: int | None


def release_document(source: ReleaseSource, plan: CuratorPlan, measured: Integers) -> ReleaseDocument:
    """The answers that the measurement (r,) gives."""
    summary, workload = plan.summary(source.delta), plan.workload
    if source.users is None:
        columns, rows, warnings = *_counted(plan, measured), summary.warnings
    else:
        shared = released_estimate(plan, measured, source.users, LEVEL)
        columns, rows, warnings = _shared(workload, shared), None, (*summary.warnings, *shared.warnings)
    return ReleaseDocument(
        release=source.release,
        dataset=source.dataset,
        workload=workload.name,
        plan=source.plan,
        mechanism=summary.mechanism,
        objective=plan.objective,
        guarantee=ReleaseGuarantee(
            kind="zcdp",
            rho=summary.rho,
            neighbours=summary.neighbours,
            unit=source.unit,
            epsilon=summary.epsilon,
            delta=summary.delta,
        ),
        scale="count" if source.users is None else "share",
        users=source.users,
        rows=rows,
        level=LEVEL,
        target="dataset",
        validity="worst_case",
        unbiased=True,
        bias_bound=summary.bias_bound,
        predicted_rmse_max=math.sqrt(summary.max_variance) / (source.users or 1),
        unbiased_bound=UnbiasedBound(
            ratio_max=summary.ratio_max,
            ratio_mean=summary.ratio_mean,
            holds_from_n=summary.holds_from_n,
            premise=summary.premise,
        ),
        squared_sensitivity=summary.squared_sensitivity,
        noise_variance=summary.noise_variance,
        warnings=list(warnings),
        queries=_rows(_labels(workload) | columns),
        unlisted=0,
        compared=workload.queries + (rows is not None),
    )


def _counted(plan: CuratorPlan, measured: Integers) -> tuple[dict[str, list[Any]], NumberOfRows]:
    """The figures of counts, and the number of rows."""
    found = released_counts(plan, measured, LEVEL)
    nothing = [None] * plan.workload.queries
    population = {"population_standard_error": nothing, "population_interval": nothing}
    rows = NumberOfRows(value=found.people, standard_error=found.people_standard_error)
    counts = {"unit": [""] * plan.workload.queries, "value": found.unbiased.tolist()}
    return _figures(found) | counts | population | {
        "share_interval": _pairs(found.share_lower, found.share_upper)
    }, rows


def _shared(workload: Workload, estimate: LinearEstimate) -> dict[str, list[Any]]:
    """The figures of shares."""
    return _figures(estimate) | {
        "unit": units_of(workload, range(workload.queries)),
        "value": estimate.value.tolist(),
        "population_standard_error": estimate.population_standard_error.tolist(),
        "population_interval": _pairs(estimate.population_lower, estimate.population_upper),
        "share_interval": [None] * len(estimate.unbiased),
    }


def _figures(estimate: LinearEstimate | ReleasedCounts) -> dict[str, list[Any]]:
    return {
        "uncut": estimate.unbiased.tolist(),
        "standard_error": estimate.standard_error.tolist(),
        "interval": _pairs(estimate.lower, estimate.upper),
        "band": _pairs(estimate.band_lower, estimate.band_upper),
        "consistent": estimate.consistent.tolist(),
    }


def _labels(workload: Workload) -> dict[str, list[Any]]:
    scopes = [workload.scope(query) for query in np.arange(workload.queries).tolist()]
    return {
        "label": workload.labels(),
        "kind": [scope.kind for scope in scopes],
        "bounds": [bounds_of(workload.domain, scope.sides) for scope in scopes],
    }


def _rows(columns: dict[str, list[Any]]) -> list[ReleasedAnswer]:
    rows: Iterable[tuple[Any, ...]] = zip(*columns.values(), strict=True)
    return [ReleasedAnswer(**dict(zip(columns, row, strict=True))) for row in rows]


def _pairs(low: Floats, high: Floats) -> list[Interval]:
    return list(zip(low.tolist(), high.tolist(), strict=True))
