"""The lower bounds that a plan publishes: made with the request, and made again from what was published."""

from __future__ import annotations

import numpy as np

from sordino_server.design.bounds import recheck
from sordino_server.design.candidates.base import Progress, SharedWork
from sordino_server.design.factorization import Objective
from sordino_server.design.symmetry.character_bound import character_bound, recheck_characters
from sordino_server.design.symmetry.energies import energies
from sordino_server.design.symmetry.subset_sizes import best_mixture, recheck_subset_sizes
from sordino_server.design.workloads import Workload
from sordino_server.design.workloads.operators import Symmetry
from sordino_server.design.workloads.widths import CharacterMap
from sordino_shared.arrays import Array
from sordino_shared.protocol import Bound, CharacterBound, LowerBound, SubsetBound


def lower_bound(work: SharedWork, objective: Objective, progress: Progress) -> Bound:
    """The tightest certified bound that the symmetry and the size of the workload allow."""
    workload, epsilon = work.request.workload, work.request.guarantee.epsilon
    if workload.symmetry is Symmetry.TYPES:
        mixture = best_mixture(workload.size, epsilon, objective)
        return SubsetBound(mixture.value, mixture.own_weight)
    if work.deadline.passed():
        return _nothing_proved()
    if isinstance(workload.operator, CharacterMap):
        weights = work.orbit_design(objective).block_weights
        found = character_bound(workload.operator, epsilon, weights)
        spectrum, multipliers = Array.of(found.spectrum, "<f8"), Array.of(found.multipliers, "<f8")
        return CharacterBound(found.value, Array.of(weights, "<f8"), spectrum, multipliers, found.level)
    if work.too_large_for_dense is not None:
        return _nothing_proved()
    work.factorization(objective, progress)
    bound = work.bound(objective)
    return LowerBound(bound.value, Array.of(bound.query_weights, "<f8"), Array.of(bound.type_weights, "<f8"))


def _nothing_proved() -> LowerBound:
    """Variances are not negative: 0 is a bound that needs no weights, and arrays on the wire are not empty."""
    anything = Array.of(np.ones(1), "<f8")
    return LowerBound(0.0, anything, anything)


def recheck_bound(bound: Bound, workload: Workload, epsilon: float, objective: Objective) -> float | None:
    """The value that the published weights prove for the objective; None where they prove nothing about it.

    Raises InvalidValue for weights that are not a certificate.
    """
    if isinstance(bound, SubsetBound):
        whose = bound.own_weight if objective == "max" else 1 / workload.size
        fits = workload.symmetry is Symmetry.TYPES and np.isclose(bound.own_weight, whose, rtol=1e-9)
        return recheck_subset_sizes(workload.size, epsilon, bound.own_weight) if fits else None
    if isinstance(bound, CharacterBound):
        operator, weights = workload.operator, bound.query_weights.numpy()
        if not isinstance(operator, CharacterMap):
            return None
        if objective == "mean" and not _close(weights, energies(operator).shares):
            return None
        arrays = (bound.spectrum.numpy(), bound.multipliers.numpy())
        return recheck_characters(operator, epsilon, weights, *arrays, bound.level)
    rows, columns = bound.query_weights.numpy(), bound.type_weights.numpy()
    if (len(rows), len(columns)) != workload.operator.shape:
        return None
    if objective == "mean" and not _close(rows, _uniform(workload)):
        return None
    return recheck(workload.operator.dense(), epsilon, rows, columns)


def _uniform(workload: Workload) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    weights = np.zeros(workload.queries)
    weights[workload.varying_rows] = 1 / len(workload.varying_rows)
    return weights


def _close(weights: np.ndarray[tuple[int], np.dtype[np.float64]], expected: np.ndarray) -> bool:
    return weights.shape == expected.shape and bool(np.allclose(weights, expected, rtol=1e-9, atol=0))
