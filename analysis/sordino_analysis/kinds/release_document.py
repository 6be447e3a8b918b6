"""The document of a release: what follows from the plan, which is public, and from the measurement."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.answers.filling import cells_of_estimate
from sordino_analysis.curator.noise import Integers
from sordino_analysis.curator.plan import CuratorPlan
from sordino_analysis.curator.release import released_estimate
from sordino_analysis.curator.released_counts import released_counts
from sordino_analysis.kinds.release import NumberOfRows, ReleaseExtras, ReleaseGuarantee, UnbiasedBound
from sordino_analysis.questions.linear.columns import columns_of_queries

# Of intervals and bands, as estimates from devices have it.
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


def release_document(source: ReleaseSource, plan: CuratorPlan, measured: Integers) -> EstimateDocument:
    """The answers that the measurement (r,) gives."""
    summary, workload = plan.summary(source.delta), plan.workload
    if source.users is None:
        columns, rows, warnings = *_counted(plan, measured), summary.warnings
    else:
        shared = released_estimate(plan, measured, source.users, LEVEL)
        columns, rows, warnings = cells_of_estimate(shared), None, (*summary.warnings, *shared.warnings)
    extras = ReleaseExtras(
        workload=workload.name,
        plan=source.plan,
        objective=plan.objective,
        guarantee=ReleaseGuarantee(
            kind=summary.guarantee,
            rho=summary.rho,
            neighbours=summary.neighbours,
            unit=source.unit,
            epsilon=summary.epsilon,
            delta=summary.delta,
        ),
        scale="count" if source.users is None else "share",
        rows=rows,
        unbiased=True,
        predicted_rmse_max=math.sqrt(summary.max_variance) / (source.users or 1),
        unbiased_bound=UnbiasedBound(
            ratio_max=summary.ratio_max,
            ratio_mean=summary.ratio_mean,
            holds_from_n=summary.holds_from_n,
            premise=summary.premise,
        ),
        noise=summary.noise,
        warnings=tuple(warnings),
    )
    terms: dict[str, Cell] = {
        "dataset": source.dataset,
        "release": source.release,
        "users": source.users,
        "unlisted": 0,
        "compared": workload.queries + (rows is not None),
        "epsilon": summary.epsilon,
        "rho": summary.rho,
        "delta": summary.delta,
        "neighbours": summary.neighbours,
        "level": LEVEL,
        "bias_bound": summary.bias_bound,
        "target": "dataset",
        "validity": "worst_case",
        "mechanism": summary.mechanism,
    }
    return EstimateDocument.of_columns("release", columns_of_queries(workload) | columns, extras, **terms)


def _counted(plan: CuratorPlan, measured: Integers) -> tuple[dict[str, list[Cell]], NumberOfRows]:
    """The columns of counts, and the number of rows."""
    found = released_counts(plan, measured, LEVEL)
    rows = NumberOfRows(value=found.people, standard_error=found.people_standard_error)
    no_unit: list[Cell] = [None] * plan.workload.queries
    return cells_of_estimate(found) | {"unit": no_unit}, rows
