"""What a published bound proves: its value again, from its weights and the queries; a function for each kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sordino_analysis.arrays import SUM_TOLERANCE, Floats
from sordino_analysis.documents.certificate import (
    Bound,
    CharacterBound,
    IntervalBound,
    ListedRowsBound,
    LowerBound,
    MixedTypesBound,
    OddBound,
    OddCharacterBound,
    OwnTypesBound,
    PairBound,
    PinnedBound,
    SomeTypesBound,
    StackBound,
    SubsetBound,
)
from sordino_analysis.evaluation.grids.category_families import category_family_of
from sordino_analysis.evaluation.grids.plane_families import plane_category_family_of
from sordino_analysis.evaluation.grids.plane_prefixes import plane_of
from sordino_analysis.optimisation.bounds import recheck
from sordino_analysis.optimisation.bounds.odd import recheck_odd
from sordino_analysis.optimisation.symmetry.character_bound import recheck_characters
from sordino_analysis.optimisation.symmetry.odd_characters import recheck_odd_characters
from sordino_analysis.optimisation.symmetry.pinned_bound import recheck_pinned
from sordino_analysis.optimisation.symmetry.query_fourier_weights import query_fourier_weights
from sordino_analysis.optimisation.symmetry.subset_sizes import recheck_subset_sizes
from sordino_analysis.planning.interval_certificates import (
    recheck_categories,
    recheck_intervals,
    recheck_plane,
    recheck_plane_categories,
)
from sordino_analysis.planning.listed_row_certificates import recheck_listed_rows_certificate
from sordino_analysis.planning.mixed_type_certificates import recheck_mixed_types_certificate
from sordino_analysis.planning.own_type_certificates import recheck_own_types_certificate
from sordino_analysis.planning.pair_certificates import recheck_pairs_certificate
from sordino_analysis.planning.some_type_certificates import recheck_some_types_certificate
from sordino_analysis.planning.stack_certificates import recheck_stack
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.operators import Symmetry
from sordino_analysis.questions.linear.widths import CharacterMap
from sordino_analysis.request_terms import Objective
from sordino_analysis.vectorized.arrays import ndarray


def recheck_bound(bound: Bound, workload: Workload, epsilon: float, objective: Objective) -> float | None:
    """The value that the published weights prove for the objective; None where they prove nothing about it.

    Raises InvalidValue for weights that are not a certificate.
    """
    return _RECHECKS[bound.kind](bound, workload, epsilon, objective)


def _subset_sizes(bound: SubsetBound, workload: Workload, epsilon: float, objective: Objective) -> float | None:
    whose = bound.own_weight if objective == "max" else 1 / workload.size
    fits = workload.symmetry is Symmetry.TYPES and np.isclose(bound.own_weight, whose, rtol=SUM_TOLERANCE)
    return recheck_subset_sizes(workload.size, epsilon, bound.own_weight) if fits else None


def _intervals(bound: IntervalBound, workload: Workload, epsilon: float, objective: Objective) -> float | None:
    plane = plane_of(workload.operator)
    if plane is not None:
        return recheck_plane(bound, plane, epsilon)
    beside = category_family_of(workload)
    if beside is not None:
        return recheck_categories(bound, beside, epsilon)
    both = plane_category_family_of(workload)
    if both is not None:
        return recheck_plane_categories(bound, both, epsilon)
    return recheck_intervals(bound, workload.operator.intervals, epsilon, objective)


def _characters(bound: CharacterBound, workload: Workload, epsilon: float, objective: Objective) -> float | None:
    operator = workload.operator
    if not isinstance(operator, CharacterMap) or not _about(bound, operator, objective):
        return None
    arrays = (ndarray(bound.query_weights), ndarray(bound.spectrum), ndarray(bound.multipliers))
    return recheck_characters(operator, epsilon, *arrays, bound.level) if operator.invariant else None


def _pinned(bound: PinnedBound, workload: Workload, epsilon: float, objective: Objective) -> float | None:
    operator = workload.operator
    if not isinstance(operator, CharacterMap) or not _about(bound, operator, objective):
        return None
    if not operator.invariant_but_pinned:
        return None
    return recheck_pinned(operator, epsilon, ndarray(bound.query_weights), bound.member_weight)


def _odd_characters(bound: OddCharacterBound, workload: Workload, epsilon: float, objective: Objective) -> float | None:
    operator = workload.operator
    if not isinstance(operator, CharacterMap) or not operator.invariant or not _about(bound, operator, objective):
        return None
    return recheck_odd_characters(operator, epsilon, ndarray(bound.query_weights))


def _about(
    bound: CharacterBound | OddCharacterBound | PinnedBound, operator: CharacterMap, objective: Objective
) -> bool:
    """Whether the weights of the blocks of queries are about the objective."""
    return objective == "max" or _close(ndarray(bound.query_weights), query_fourier_weights(operator).shares)


def _own_types(bound: OwnTypesBound, workload: Workload, epsilon: float, objective: Objective) -> float | None:
    return recheck_own_types_certificate(bound, workload, epsilon) if objective == "max" else None


def _mixed_types(bound: MixedTypesBound, workload: Workload, epsilon: float, objective: Objective) -> float | None:
    return recheck_mixed_types_certificate(bound, workload, epsilon) if objective == "max" else None


def _trace(bound: LowerBound, workload: Workload, epsilon: float, objective: Objective) -> float | None:
    arrays = _dense(bound, workload, objective)
    return None if arrays is None else recheck(arrays[0], epsilon, *arrays[1:])


def _odd(bound: OddBound, workload: Workload, epsilon: float, objective: Objective) -> float | None:
    arrays = _dense(bound, workload, objective)
    return None if arrays is None else recheck_odd(arrays[0], epsilon, *arrays[1:])


def _dense(
    bound: LowerBound | OddBound, workload: Workload, objective: Objective
) -> tuple[Floats, Floats, Floats] | None:
    """W, ρ and π, if they fit and ρ is about the objective."""
    rows, columns = ndarray(bound.query_weights), ndarray(bound.type_weights)
    if (len(rows), len(columns)) != workload.operator.shape:
        return None
    if objective == "mean" and not workload.are_shares_of_mean(rows):
        return None
    return workload.weighted_matrix(), rows, columns


def _close(weights: Floats, expected: Floats) -> bool:
    return weights.shape == expected.shape and bool(np.allclose(weights, expected, rtol=SUM_TOLERANCE, atol=0))


_RECHECKS: Mapping[str, Callable[[Any, Workload, float, Objective], float | None]] = {
    SubsetBound.kind: _subset_sizes,
    IntervalBound.kind: _intervals,
    StackBound.kind: recheck_stack,
    CharacterBound.kind: _characters,
    OddCharacterBound.kind: _odd_characters,
    PinnedBound.kind: _pinned,
    LowerBound.kind: _trace,
    OddBound.kind: _odd,
    PairBound.kind: recheck_pairs_certificate,
    OwnTypesBound.kind: _own_types,
    MixedTypesBound.kind: _mixed_types,
    ListedRowsBound.kind: recheck_listed_rows_certificate,
    SomeTypesBound.kind: recheck_some_types_certificate,
}
