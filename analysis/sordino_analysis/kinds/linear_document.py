"""The estimate of linear queries as a document: answers, how sure they are, the plan and the number of users."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.answers.filling import cells_of_estimate, columns_of_bounds
from sordino_analysis.estimation.items import ItemEstimate, ItemEstimator
from sordino_analysis.estimation.linear import EstimationError, LinearEstimate, estimate
from sordino_analysis.estimation.normality import columns_of_laws
from sordino_analysis.evaluation.listing import PublishedQueries
from sordino_analysis.evaluation.variance import answer_moments, counts_as_unbiased
from sordino_analysis.figures import SHARE
from sordino_analysis.kinds.base import digests_of
from sordino_analysis.kinds.linear import LinearExtras
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.questions.linear.columns import columns_of_queries
from sordino_analysis.questions.linear.scopes import bounds_of
from sordino_shared.domains import Domain
from sordino_shared.protocol import Manifest


def estimated(manifest: Manifest, closed: ClosedRound) -> EstimateDocument:
    """The document of one closed round, or of one period of a series; raises EstimationError."""
    published = PublishedQueries.of(closed.plan.device, closed.plan.analyst)
    campaign = str(manifest.campaign)
    if not published.workload.is_listed:
        if closed.blanket:
            raise EstimationError("items that are too many to list are not estimated behind a shuffler yet")
        found = ItemEstimator(closed.plan.device, closed.plan.analyst).published(closed.aggregate)
        return document_of_items(campaign, closed.plan, found)
    plan, blanket = closed.plan, closed.blanket
    linear = estimate(plan.device, plan.analyst, closed.aggregate, blanket=blanket)
    return document_of(campaign, plan, published, linear, blanket)


def document_of(
    campaign: str, plan: RoundPlan, published: PublishedQueries, found: LinearEstimate, blanket: int = 0
) -> EstimateDocument:
    """The document of one round's estimate, which has the answers of `published.workload` in order.

    `blanket` random reports were among those of the users.
    """
    return EstimateDocument.of_columns(
        "linear",
        _queries(published, found),
        extras_of_round(plan, found, blanket, published.note),
        **terms_of_round(campaign, plan, found.users, found.level),
        unlisted=published.unlisted,
        compared=published.workload.queries,
    )


def document_of_items(campaign: str, plan: RoundPlan, found: ItemEstimate) -> EstimateDocument:
    """The document of a histogram that is too long to list: of the items that were looked at."""
    domain = plan.device.domain
    return EstimateDocument.of_columns(
        "linear",
        _items(domain, found),
        _extras(plan, found.users, counts_as_unbiased(plan.analyst.figures), found.warnings),
        **terms_of_round(campaign, plan, found.users, found.level),
        unlisted=domain.size - len(found.labels),
        compared=domain.size,
    )


def extras_of_round(plan: RoundPlan, found: LinearEstimate, blanket: int, note: Iterable[str] = ()) -> LinearExtras:
    """What the estimate of a round has besides its answers; `blanket` of the reports were random ones."""
    extras = _extras(plan, found.users, found.counts_as_unbiased, [*note, *found.warnings])
    if found.guess is not None and found.guess.relative_risk is not None:
        # Two digits say more than is known of it.
        extras = extras.model_copy(update={"best_error": round(found.guess.relative_risk, 2)})
    return extras.model_copy(update=_of_blanket(plan, blanket, found.users, extras)) if blanket else extras


def terms_of_round(campaign: str, plan: RoundPlan, users: int, level: float) -> dict[str, Cell]:
    """The terms of the estimate of one round."""
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


def _of_blanket(plan: RoundPlan, blanket: int, users: int, extras: LinearExtras) -> dict[str, object]:
    """The random reports, and what they add to the predicted error."""
    workload = build_workload(plan.device.domain, plan.analyst.queries, plan.analyst.workload)
    added = answer_moments(plan.device.randomizer, plan.analyst.decoder, workload).blanket().variance.max()
    worst = math.sqrt(extras.predicted_rmse_max**2 + blanket * float(added) / users**2)
    return {"blanket": blanket, "predicted_rmse_max": worst}


def _items(domain: Domain, found: ItemEstimate) -> dict[str, Sequence[Cell]]:
    bounds = [bounds_of(domain, [(code, code) for code in codes]) for codes in found.codes.tolist()]
    same = {"kind": "histogram", "unit": SHARE}
    names = {name: [cell] * len(bounds) for name, cell in same.items()}
    return {**names, "label": list(found.labels), **columns_of_bounds(bounds), **cells_of_estimate(found)}


def _queries(published: PublishedQueries, found: LinearEstimate) -> dict[str, Sequence[Cell]]:
    listed = published.numbers.tolist()
    laws = columns_of_laws([found.normality[query] for query in listed])
    return {**columns_of_queries(published.workload, listed), **cells_of_estimate(found, listed), **laws}
