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
from sordino_analysis.curator.projected_plan import ProjectedPlan
from sordino_analysis.curator.release import released_estimate
from sordino_analysis.curator.released_counts import released_counts
from sordino_analysis.curator.strategy import unfinished
from sordino_analysis.documents.curator_summary import CuratorPromise
from sordino_analysis.kinds.release import NumberOfRows, ReleaseExtras, ReleaseGuarantee, UnbiasedBound
from sordino_analysis.questions.linear.columns import columns_of_queries
from sordino_analysis.request_terms import Neighbours

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


def release_document(source: ReleaseSource, plan: CuratorPlan | ProjectedPlan, measured: Integers) -> EstimateDocument:
    """The answers that the measurement (r,) gives."""
    if isinstance(plan, ProjectedPlan):
        return _projected(source, plan, measured)
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
        guarantee=_kept(source, summary, summary.neighbours),
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
    terms = _terms(source, summary, summary.neighbours) | {
        "compared": workload.queries + (rows is not None),
        "bias_bound": summary.bias_bound,
        "validity": "worst_case",
        "mechanism": summary.mechanism,
    }
    return EstimateDocument.of_columns("release", columns_of_queries(workload) | columns, extras, **terms)


def _projected(source: ReleaseSource, plan: ProjectedPlan, measured: Integers) -> EstimateDocument:
    """Biased answers of the nearest histogram: they have neither standard errors nor intervals."""
    law, promise, workload = plan.law, plan.promise(source.delta), plan.workload
    nearest = plan.projection.nearest(measured, law, plan.users)
    answers = (plan.projection.matrix @ nearest.histogram).tolist()
    extras = ReleaseExtras(
        workload=workload.name,
        plan=source.plan,
        objective="mean",
        guarantee=_kept(source, promise, plan.neighbours),
        scale="share",
        rows=None,
        unbiased=False,
        predicted_rmse_max=None,
        simulated_errors=plan.errors,
        unbiased_bound=UnbiasedBound(ratio_max=None, ratio_mean=None, holds_from_n=None, premise=None),
        noise=law.published().shown(),
        warnings=unfinished(nearest),
    )
    terms = _terms(source, promise, plan.neighbours) | {
        "compared": workload.queries,
        "bias_bound": None,
        "validity": None,
        "mechanism": plan.name,
    }
    columns = columns_of_queries(workload) | {"value": answers, "best": answers}
    return EstimateDocument.of_columns("release", columns, extras, **terms)


def _kept(source: ReleaseSource, promise: CuratorPromise, neighbours: Neighbours) -> ReleaseGuarantee:
    return ReleaseGuarantee(
        kind=promise.guarantee,
        rho=promise.rho,
        neighbours=neighbours,
        unit=source.unit,
        epsilon=promise.epsilon,
        delta=promise.delta,
    )


def _terms(source: ReleaseSource, promise: CuratorPromise, neighbours: Neighbours) -> dict[str, Cell]:
    """What the terms of both kinds of releases have in common."""
    return {
        "dataset": source.dataset,
        "release": source.release,
        "users": source.users,
        "unlisted": 0,
        "epsilon": promise.epsilon,
        "rho": promise.rho,
        "delta": promise.delta,
        "neighbours": neighbours,
        "level": LEVEL,
        "target": "dataset",
    }


def _counted(plan: CuratorPlan, measured: Integers) -> tuple[dict[str, list[Cell]], NumberOfRows]:
    """The columns of counts, and the number of rows."""
    found = released_counts(plan, measured, LEVEL)
    rows = NumberOfRows(value=found.people, standard_error=found.people_standard_error)
    no_unit: list[Cell] = [None] * plan.workload.queries
    return cells_of_estimate(found) | {"unit": no_unit}, rows
