"""The lower bounds that a plan publishes: made with the request, and made again from what was published."""

from __future__ import annotations

from dataclasses import dataclass

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.analyst_part import ErrorFigures
from sordino_analysis.documents.certificate import (
    Bound,
    Certificate,
    CharacterBound,
    ListedRowsBound,
    LowerBound,
    OddBound,
    OddCharacterBound,
    PinnedBound,
    SubsetBound,
)
from sordino_analysis.evaluation.grids.category_families import category_family_of
from sordino_analysis.evaluation.grids.plane_families import plane_category_family_of
from sordino_analysis.evaluation.grids.plane_prefixes import plane_of
from sordino_analysis.evaluation.grids.stacked import family_of
from sordino_analysis.mechanisms.mechanism import MOST_DENSE_INTERVALS, SharedWork
from sordino_analysis.optimisation.bounds.odd import odd_bound
from sordino_analysis.optimisation.bounds.thresholds import find_thresholds
from sordino_analysis.optimisation.symmetry.character_bound import character_bound
from sordino_analysis.optimisation.symmetry.odd_characters import recheck_odd_characters
from sordino_analysis.optimisation.symmetry.pinned_bound import best_member_weight, recheck_pinned
from sordino_analysis.optimisation.symmetry.query_fourier_weights import query_fourier_weights
from sordino_analysis.optimisation.symmetry.subset_sizes import best_bound
from sordino_analysis.planning.interval_certificates import (
    categories_bound,
    interval_bound,
    plane_bound,
    plane_categories_bound,
)
from sordino_analysis.planning.listed_row_certificates import listed_rows_certificate
from sordino_analysis.planning.mixed_type_certificates import mixed_types_certificate
from sordino_analysis.planning.own_type_certificates import own_types_certificate
from sordino_analysis.planning.pair_certificates import pairs_certificate
from sordino_analysis.planning.some_type_certificates import some_types_certificate
from sordino_analysis.planning.stack_certificates import stack_bound
from sordino_analysis.planning.tuning import LISTED, SOME_TYPES
from sordino_analysis.progress import ProgressCallback, progress_of_part
from sordino_analysis.questions.linear.operators import Symmetry
from sordino_analysis.questions.linear.widths import CharacterMap
from sordino_analysis.request_terms import Objective
from sordino_analysis.vectorized.arrays import array_of
from sordino_shared.randomizers.orbit_kernel import MAX_ROWS

# Of the progress, with the bounds by ascents after it.
_SHARE_OF_FACTORIZATION = 0.5


def lower_bound(work: SharedWork, objective: Objective, progress: ProgressCallback) -> Bound:
    """The tightest certified bound that the symmetry and the size of the workload allow."""
    workload, epsilon = work.request.workload, work.request.guarantee.epsilon
    if workload.symmetry is Symmetry.TYPES:
        attained = best_bound(workload.size, epsilon, objective)
        return SubsetBound(attained.value, attained.own_weight)
    plane = plane_of(workload.operator)
    if plane is not None and workload.size > MOST_DENSE_INTERVALS:
        return plane_bound(plane, epsilon)
    beside = category_family_of(workload)
    if beside is not None and workload.size > MOST_DENSE_INTERVALS:
        return _or_own_types(categories_bound(beside, epsilon), work, objective, progress)
    both = plane_category_family_of(workload)
    if both is not None and workload.size > MOST_DENSE_INTERVALS:
        return plane_categories_bound(both, epsilon)
    if work.deadline.passed():
        return some_types_certificate(workload, epsilon, objective, SOME_TYPES.cut_short)
    if isinstance(workload.operator, CharacterMap) and workload.operator.invariant:
        symmetric = _of_characters(workload.operator, epsilon, _block_weights(work, workload.operator, objective))
        return _larger(symmetric, listed_rows_certificate(work, objective))
    if workload.operator.intervals is not None and workload.size > MOST_DENSE_INTERVALS:
        return _or_own_types(interval_bound(workload.operator.intervals, epsilon, objective), work, objective, progress)
    family = None if work.too_large_for_dense is None else family_of(workload)
    if family is not None:
        return _or_own_types(stack_bound(family, epsilon, objective), work, objective, progress)
    if work.too_large_for_dense is None:
        return _of_listed(work, objective, progress)
    if isinstance(workload.operator, CharacterMap) and workload.operator.invariant_but_pinned:
        return _but_pinned(workload.operator, epsilon, _block_weights(work, workload.operator, objective))
    return some_types_certificate(workload, epsilon, objective, SOME_TYPES.most_types)


def _or_own_types(bound: Bound, work: SharedWork, objective: Objective, progress: ProgressCallback) -> Bound:
    """The bound, or that of some thresholds with type weights of their own, if it is larger."""
    own = own_types_certificate(work, progress) if objective == "max" else None
    return bound if own is None or own.value <= bound.value else own


def _of_listed(work: SharedWork, objective: Objective, progress: ProgressCallback) -> Bound:
    """The largest of the bounds on queries whose matrix is listed: trace, odd, pairs, own types, mixed types."""
    work.factorization(objective, progress_of_part(progress, 0.0, _SHARE_OF_FACTORIZATION))
    trace = work.bound(objective)
    bound = LowerBound(trace.value, array_of(trace.query_weights, "<f8"), array_of(trace.type_weights, "<f8"))
    odd = _odd_bound(work, objective)
    share = (1 - _SHARE_OF_FACTORIZATION) / 3
    parts = [progress_of_part(progress, _SHARE_OF_FACTORIZATION + place * share, share) for place in range(3)]
    pairs = pairs_certificate(work, objective, parts[0])
    own, mixed = None, None
    if objective == "max":
        own, mixed = own_types_certificate(work, parts[1]), mixed_types_certificate(work, parts[2])
    proved: list[Bound] = [one for one in (bound, odd, pairs, own, mixed) if one is not None]
    best = max(proved, key=lambda one: one.value)
    thresholds = find_thresholds(work.matrix)
    if thresholds is not None and len(thresholds.queries) == work.matrix.shape[1] - 1:
        # All thresholds have `own_types`, whose windows hold nearly all that few types have.
        return best
    return _larger(best, listed_rows_certificate(work, objective))


def _larger(bound: Bound, listed: ListedRowsBound | None) -> Bound:
    """The bound over all rows where it gains on the other one."""
    return listed if listed is not None and listed.value > bound.value * (1 + LISTED.gain) else bound


def _of_characters(operator: CharacterMap, epsilon: float, weights: Floats) -> CharacterBound | OddCharacterBound:
    """The larger of the bounds for symmetric queries whose blocks have these weights (blocks,)."""
    block_weights, odd = array_of(weights, "<f8"), recheck_odd_characters(operator, epsilon, weights)
    bound = character_bound(operator, epsilon, weights)
    if odd is not None and odd > bound.value:
        return OddCharacterBound(odd, block_weights)
    return CharacterBound(
        value=bound.value,
        query_weights=block_weights,
        spectrum=array_of(bound.spectrum, "<f8"),
        multipliers=array_of(bound.multipliers, "<f8"),
        level=bound.level,
    )


def _but_pinned(operator: CharacterMap, epsilon: float, weights: Floats) -> PinnedBound:
    """The trace bound of queries that shifts of the pinned attribute do not take to one another."""
    member = best_member_weight(operator, epsilon, weights)
    return PinnedBound(recheck_pinned(operator, epsilon, weights, member), array_of(weights, "<f8"), member)


def _odd_bound(work: SharedWork, objective: Objective) -> OddBound | None:
    bound = odd_bound(work.matrix, work.request.guarantee.epsilon, objective, work.factorization(objective))
    if bound is None:
        return None
    return OddBound(bound.value, array_of(bound.query_weights, "<f8"), array_of(bound.type_weights, "<f8"))


def _block_weights(work: SharedWork, operator: CharacterMap, objective: Objective) -> Floats:
    """Those of the worst blocks; any are valid, so where orbits are too many to be designed for, one a query."""
    if objective == "mean" or len(operator.characters.orbits) > MAX_ROWS:
        return query_fourier_weights(operator).shares
    return work.orbit_design(objective).block_weights


@dataclass(frozen=True)
class BoundsSummary:
    """Both bounds and the variances over them; no ratio where nothing above 0 was proved."""

    lower_bound_max: float
    lower_bound_mean: float
    ratio_max: float | None
    ratio_mean: float | None


def bounds_summary(figures: ErrorFigures, certificate: Certificate) -> BoundsSummary:
    """The bounds of a plan, and its variances over them."""

    def ratio(variance: float, bound: float) -> float | None:
        return variance / bound if bound > 0 else None

    return BoundsSummary(
        lower_bound_max=certificate.max.value,
        lower_bound_mean=certificate.mean.value,
        ratio_max=ratio(figures.max_variance, certificate.max.value),
        ratio_mean=ratio(figures.mean_variance, certificate.mean.value),
    )
