"""The bound with type weights of each query's own, as plans publish it: for workloads that contain thresholds."""

from __future__ import annotations

import numpy as np

from sordino_analysis.documents.certificate import MixedTypesBound, OwnTypesBound
from sordino_analysis.evaluation.grids.category_families import CategoryFamily, category_family_of
from sordino_analysis.evaluation.grids.category_listing import Listed, row_of
from sordino_analysis.evaluation.grids.families import PrefixFamily, RangeFamily
from sordino_analysis.evaluation.grids.stacked import StackFamily, family_of
from sordino_analysis.mechanisms.mechanism import SharedWork
from sordino_analysis.optimisation.bounds.own_types import LONGEST_WINDOW, recheck_own_types
from sordino_analysis.optimisation.bounds.own_types_ascent import first_length, own_types_bound
from sordino_analysis.optimisation.bounds.thresholds import (
    ThresholdQueries,
    evenly_spaced,
    find_thresholds,
    steps_of,
)
from sordino_analysis.optimisation.bounds.tuning import LARGEST_TYPES, MOST_ENUMERATED
from sordino_analysis.planning.tuning import OWN_TYPES
from sordino_analysis.progress import ProgressCallback, progress_of_steps
from sordino_analysis.questions.linear import Workload
from sordino_analysis.request_terms import Effort
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_shared.errors import InvalidValue


def own_types_certificate(work: SharedWork, progress: ProgressCallback) -> OwnTypesBound | None:
    """For the worst query, None where no thresholds are found or the bound would take more than its effort."""
    options, epsilon = work.request.options, work.request.guarantee.epsilon
    if options.objective != "max" or not _affordable(work) or work.deadline.passed():
        return None
    # A mechanism for all types is one for some of them, so a bound for these holds.
    dense = work.too_large_for_dense is None
    rows = find_thresholds(work.matrix, LARGEST_TYPES) if dense else spread_thresholds(work.request.workload)
    # The weights of a single query are common weights, with which the other bounds prove as much.
    if rows is None or len(rows.queries) < 2:
        return None
    types = len(rows.order)
    steps = _steps(types, options.effort)
    step, passed = progress_of_steps(progress, 4 * steps), work.deadline.sooner(OWN_TYPES.share_of_time)

    def should_stop() -> bool:
        step()
        return passed()

    bound = own_types_bound(
        rows.thresholds,
        types,
        epsilon,
        length=LONGEST_WINDOW if types <= MOST_ENUMERATED else OWN_TYPES.lengths[options.effort],
        steps=steps,
        most_states=OWN_TYPES.states[options.effort],
        should_stop=should_stop,
    )
    return OwnTypesBound(
        value=bound.value * float(least_height(rows, bound.weights)),
        order=array_of(rows.order, "<i4"),
        queries=array_of(rows.queries, "<i4"),
        weights=array_of(bound.weights, "<f8"),
        numerators=array_of(bound.numerators, "<f8"),
        multipliers=array_of(bound.multipliers, "<f8"),
    )


def spread_thresholds(workload: Workload, most: int = LARGEST_TYPES) -> ThresholdQueries | None:
    """The intervals from the first bin on that tell evenly spread types apart, of the part of a line that weighs most.

    None where no part has them.
    """
    beside = category_family_of(workload)
    if beside is not None:
        return _within_a_category(workload, beside, most)
    family = family_of(workload)
    if family is None:
        return None
    weights = family.shares if isinstance(family, StackFamily) else (1.0,)
    having = [place for place, part in enumerate(family.parts) if isinstance(part, (PrefixFamily, RangeFamily))]
    if not having:
        return None
    best = max(having, key=lambda place: weights[place])
    part = family.parts[best]
    assert isinstance(part, (PrefixFamily, RangeFamily))
    order = evenly_spaced(part.bins, most)
    named = [(0, int(stop)) for stop in order[1:]]
    queries = [family.place((best, *one) if isinstance(family, StackFamily) else one) for one in named]
    return ThresholdQueries(order, np.array(queries), np.arange(1, len(order)), np.full(len(named), weights[best]))


def _within_a_category(workload: Workload, family: CategoryFamily, most: int) -> ThresholdQueries | None:
    """The same of the first member of each attribute: a plan for all types is one for the bins of these."""
    having = [n for n, part in enumerate(family.parts) if isinstance(part.family, (PrefixFamily, RangeFamily))]
    number = max(having, key=lambda place: family.parts[place].weight)
    part = family.parts[number]
    bins = evenly_spaced(part.family.bins, most)
    members = (0,) * sum(part.apart)
    queries = [row_of(workload, family, Listed(number, members, (0, int(stop)))) for stop in bins[1:]]
    types = np.zeros((len(family.shape), len(bins)), dtype=np.int64)
    types[family.axis] = bins
    order = np.asarray(np.ravel_multi_index(tuple(types), family.shape), dtype=np.int64)
    return ThresholdQueries(order, np.array(queries), np.arange(1, len(bins)), np.full(len(queries), part.weight))


def recheck_own_types_certificate(bound: OwnTypesBound, workload: Workload, epsilon: float) -> float | None:
    """What the published numbers prove of the worst query; None where a row of W is no threshold in their order.

    Raises InvalidValue for numbers that are no certificate.
    """
    thresholds = published_thresholds(bound, workload)
    if thresholds is None:
        return None
    weights = ndarray(bound.weights)
    arrays = weights, ndarray(bound.numerators), ndarray(bound.multipliers)
    proved = recheck_own_types(thresholds.thresholds, len(thresholds.order), epsilon, *arrays)
    return proved * float(least_height(thresholds, weights))


def published_thresholds(bound: OwnTypesBound | MixedTypesBound, workload: Workload) -> ThresholdQueries | None:
    """The thresholds that a bound is about, None where a row of W is none in its order.

    Raises InvalidValue for an order or queries that the workload does not have.
    """
    order, queries = ndarray(bound.order).astype(np.int64), ndarray(bound.queries).astype(np.int64)
    if len(np.unique(order)) != len(order) or not 0 <= order.min() <= order.max() < workload.size:
        raise InvalidValue("the order of a bound has every type at most once", order)
    if not 0 <= queries.min() <= queries.max() < workload.queries:
        raise InvalidValue(f"the queries of a bound are from 0 to {workload.queries - 1}", queries)
    if len(order) > LARGEST_TYPES:
        raise InvalidValue(f"this bound is for at most {LARGEST_TYPES} types, not {len(order)}", order)
    # All intervals count once, and there may be too many of them for a list.
    once = workload.operator.intervals is not None
    roots = np.ones(len(queries)) if once else np.sqrt(workload.query_weights[queries])
    # One row at a time, of which there may be a million types.
    rows = np.vstack([workload.operator.take(queries[row : row + 1])[:, order] for row in range(len(queries))])
    thresholds, heights = steps_of(roots[:, None] * rows, np.arange(len(order)))
    if not thresholds.all() or not (np.diff(thresholds) > 0).all():
        return None
    return ThresholdQueries(order, queries, thresholds, heights)


def least_height(thresholds: ThresholdQueries, weights: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> float:
    """Of the queries that have weight: the worst of all variances is at least that many times the worst threshold's."""
    return float(thresholds.heights[weights.any(axis=1)].min())


def _steps(types: int, effort: Effort) -> int:
    """At each temperature."""
    steps = OWN_TYPES.steps[effort]
    if effort is Effort.THOROUGH:
        steps = max(steps, min(OWN_TYPES.thorough_steps // types, 4 * steps))
    return max(steps, OWN_TYPES.least_of_enumerated) if types <= MOST_ENUMERATED else steps


def _affordable(work: SharedWork) -> bool:
    """Whether the effort allows the bound."""
    size, epsilon = work.request.workload.size, work.request.guarantee.epsilon
    effort, types = work.request.options.effort, min(size, LARGEST_TYPES)
    allowed = (
        OWN_TYPES.least_epsilons
        if effort is not Effort.THOROUGH
        else ((LARGEST_TYPES, OWN_TYPES.least_epsilons[0][1]),)
    )
    least = next(one for most, one in allowed if types <= most) if types == size else OWN_TYPES.least_of_some_types
    if types < 2 or not least <= epsilon <= OWN_TYPES.largest_epsilon:
        return False
    return first_length(types, epsilon, OWN_TYPES.lengths[effort], OWN_TYPES.states[effort]) > 0
