"""The bound over all extreme rows of few types as plans publish it: the least variance that a kernel has, if found."""

from __future__ import annotations

import numpy as np

from sordino_analysis.arrays import SUM_TOLERANCE, Floats
from sordino_analysis.documents.certificate import ListedRowsBound
from sordino_analysis.mechanisms.mechanism import SharedWork
from sordino_analysis.optimisation.bounds.listed_rows import ListedRows, centred_rows, recheck_listed_rows
from sordino_analysis.optimisation.bounds.listed_rows_program import ListedRowsProblem, solve_listed_rows
from sordino_analysis.optimisation.bounds.row_orbits import row_orbits
from sordino_analysis.optimisation.bounds.tuning import LARGEST_EPSILON, LISTED_ROWS
from sordino_analysis.planning.tuning import LISTED
from sordino_analysis.questions.linear import Workload
from sordino_analysis.request_terms import Objective
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_shared.errors import InvalidValue


def listed_rows_certificate(work: SharedWork, objective: Objective) -> ListedRowsBound | None:
    """For a workload of few types whose symmetry leaves few numbers; None for others, and once the time is over."""
    workload, epsilon = work.request.workload, work.request.guarantee.epsilon
    queries, types = workload.operator.shape
    too_many = types > LISTED_ROWS.most_types or queries * types > LISTED.most_entries
    if too_many or types < 2 or epsilon > LARGEST_EPSILON or work.deadline.passed():
        return None
    matrix, scale = _centred(workload)
    if scale == 0:
        return None
    factors = np.ones_like(matrix)
    if objective == "mean":
        factors *= workload.shares_of_mean[:, None]
    orbits = row_orbits(matrix / scale, factors, workload.domain.shape)
    if len(orbits.rows) > LISTED.most_rows or orbits.entries.max() >= LISTED.most_numbers:
        return None
    groups = orbits.entries if objective == "max" else np.broadcast_to(orbits.types, matrix.shape)
    problem = ListedRowsProblem(matrix=matrix / scale, epsilon=epsilon, factors=factors, groups=groups, orbits=orbits)
    numbers = solve_listed_rows(problem, work.deadline.sooner(LISTED.share_of_time))
    if numbers is None:
        return None
    return ListedRowsBound(
        value=scale**2 * recheck_listed_rows(matrix / scale, epsilon, numbers),
        weights=array_of(numbers.weights, "<f8"),
        numerators=array_of(scale * numbers.numerators, "<f8"),
        multipliers=array_of(scale**2 * numbers.multipliers, "<f8"),
    )


def recheck_listed_rows_certificate(
    bound: ListedRowsBound, workload: Workload, epsilon: float, objective: Objective
) -> float | None:
    """What the published numbers prove of the objective; None where they are about other queries.

    Raises InvalidValue for numbers that are no certificate.
    """
    numbers = ListedRows(
        weights=ndarray(bound.weights),
        numerators=ndarray(bound.numerators),
        multipliers=ndarray(bound.multipliers),
    )
    if numbers.weights.shape != workload.operator.shape:
        return None
    if not abs(float(numbers.weights.sum()) - 1) <= SUM_TOLERANCE:
        raise InvalidValue("the weights of a bound sum to 1", numbers.weights)
    if objective == "mean" and not _about_the_mean(numbers.weights, workload):
        return None
    return recheck_listed_rows(_centred(workload)[0], epsilon, numbers)


def _about_the_mean(weights: Floats, workload: Workload) -> bool:
    """Whether Λ = ρπᵀ for the shares ρ of the queries in the mean."""
    product = np.outer(weights.sum(axis=1), weights.sum(axis=0))
    same = float(np.abs(weights - product).max()) <= SUM_TOLERANCE * float(product.max())
    return same and workload.are_shares_of_mean(weights.sum(axis=1))


def _centred(workload: Workload) -> tuple[Floats, float]:
    """W (Q, k) without the middle of each row, and the largest entry of what is left."""
    matrix = centred_rows(workload.weighted_matrix())
    return matrix, float(np.abs(matrix).max())
