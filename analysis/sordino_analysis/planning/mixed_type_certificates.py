"""The bound with mixtures of two type weights, as plans publish it: for many thresholds where ε is not large."""

from __future__ import annotations

import numpy as np

from sordino_analysis.documents.certificate import MixedTypesBound
from sordino_analysis.mechanisms.mechanism import SharedWork
from sordino_analysis.optimisation.bounds.mixed_types import MixedTypes, recheck_mixed_types
from sordino_analysis.optimisation.bounds.mixed_types_ascent import mixed_types_bound
from sordino_analysis.optimisation.bounds.thresholds import find_thresholds
from sordino_analysis.planning.own_type_certificates import least_height, published_thresholds
from sordino_analysis.planning.tuning import MIXED_TYPES
from sordino_analysis.progress import ProgressCallback, progress_of_steps
from sordino_analysis.questions.linear import Workload
from sordino_analysis.vectorized.arrays import array_of, ndarray


def mixed_types_certificate(work: SharedWork, progress: ProgressCallback) -> MixedTypesBound | None:
    """For the worst query, None where thresholds are not found or others prove more."""
    options, epsilon, types = work.request.options, work.request.guarantee.epsilon, work.request.workload.size
    largest = next((one for most, one in MIXED_TYPES.largest_epsilons if types <= most), 0.0)
    if options.objective != "max" or options.effort not in MIXED_TYPES.intervals or work.deadline.passed():
        return None
    if types < MIXED_TYPES.fewest_types or not MIXED_TYPES.least_epsilon <= epsilon <= largest:
        return None
    rows = find_thresholds(work.matrix)
    if rows is None or not np.array_equal(rows.thresholds, (types - rows.thresholds)[::-1]):
        return None
    step, passed = progress_of_steps(progress, MIXED_TYPES.steps), work.deadline.sooner(MIXED_TYPES.share_of_time)
    many = types > MIXED_TYPES.many_types

    def should_stop() -> bool:
        step()
        return passed()

    numbers = mixed_types_bound(
        rows.thresholds,
        types,
        epsilon,
        intervals=MIXED_TYPES.intervals[options.effort][many],
        growth=MIXED_TYPES.growth[options.effort][many],
        should_stop=should_stop,
    )
    proved = recheck_mixed_types(rows.thresholds, epsilon, numbers)
    arrays = {name: array_of(array, "<i4" if name == "knots" else "<f8") for name, array in vars(numbers).items()}
    return MixedTypesBound(
        value=proved * float(least_height(rows, numbers.shares)),
        order=array_of(rows.order, "<i4"),
        queries=array_of(rows.queries, "<i4"),
        **arrays,
    )


def recheck_mixed_types_certificate(bound: MixedTypesBound, workload: Workload, epsilon: float) -> float | None:
    """What the published numbers prove of the worst query; None where a row of W is no threshold in their order.

    Raises InvalidValue for numbers that are no certificate.
    """
    thresholds = published_thresholds(bound, workload)
    if thresholds is None:
        return None
    numbers = MixedTypes(
        type_weights=ndarray(bound.type_weights),
        shares=ndarray(bound.shares),
        knots=ndarray(bound.knots).astype(np.int64),
        numerators=ndarray(bound.numerators),
        multipliers=ndarray(bound.multipliers),
        nodes=ndarray(bound.nodes),
        slopes=ndarray(bound.slopes),
        levels=ndarray(bound.levels),
        spans=ndarray(bound.spans),
        pairs=ndarray(bound.pairs),
    )
    return recheck_mixed_types(thresholds.thresholds, epsilon, numbers) * float(
        least_height(thresholds, numbers.shares)
    )
