"""The doubly non-negative bound as plans publish it: where it proves more than the trace bound."""

from __future__ import annotations

from itertools import count

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.certificate import PairBound
from sordino_analysis.mechanisms.mechanism import SharedWork
from sordino_analysis.optimisation.bounds import doubly_nonnegative_bound, recheck_doubly_nonnegative
from sordino_analysis.optimisation.bounds.thresholds import evenly_spaced
from sordino_analysis.optimisation.bounds.tuning import LARGEST_TYPES
from sordino_analysis.planning.tuning import PAIRS
from sordino_analysis.progress import Progress, ProgressCallback
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.operators import Indices
from sordino_analysis.request_terms import Effort, Objective
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_shared.errors import InvalidValue


def pairs_certificate(work: SharedWork, objective: Objective, progress: ProgressCallback) -> PairBound | None:
    """For some types, evenly spaced, where there are many; None where the trace bound proves as much.

    A mechanism for all types is one for some of them, so a bound for these holds.
    """
    if not _gains(work, objective):
        return None
    workload, epsilon = work.request.workload, work.request.guarantee.epsilon
    types = evenly_spaced(workload.size, LARGEST_TYPES)
    matrix, evaluations = work.matrix[:, types], PAIRS.evaluations[work.request.options.effort]
    weighed = np.arange(len(matrix)) if objective == "mean" or len(types) == workload.size else _distinct(matrix)
    steps, passed = count(1), work.deadline.sooner(PAIRS.share_of_time)

    def should_stop() -> bool:
        progress(Progress(min(1.0, next(steps) / evaluations)))
        return passed()

    bound = doubly_nonnegative_bound(
        matrix[weighed],
        epsilon,
        objective,
        work.factorization(objective) if len(types) == workload.size else None,
        evaluations=evaluations,
        should_stop=should_stop,
    )
    rows = np.zeros(len(matrix))
    rows[weighed] = bound.query_weights
    if objective == "mean":
        # Queries that are constant on these types count, and nothing is proved of them.
        rows = workload.shares_of_mean
    return PairBound(
        value=recheck_doubly_nonnegative(matrix, epsilon, rows, bound.type_weights, bound.levels, bound.pairs),
        query_weights=array_of(rows, "<f8"),
        types=array_of(types, "<i4"),
        type_weights=array_of(bound.type_weights, "<f8"),
        levels=array_of(bound.levels, "<f8"),
        pairs=array_of(bound.pairs[np.triu_indices(len(types), 1)], "<f8"),
    )


def recheck_pairs_certificate(
    bound: PairBound, workload: Workload, epsilon: float, objective: Objective
) -> float | None:
    """What the published numbers prove of the objective; None where they are about other queries.

    Raises InvalidValue for numbers that are no certificate.
    """
    rows, types = ndarray(bound.query_weights), ndarray(bound.types).astype(np.int64)
    if len(rows) != workload.queries or (objective == "mean" and not workload.are_shares_of_mean(rows)):
        return None
    if len(np.unique(types)) != len(types) or not 0 <= types.min() <= types.max() < workload.size:
        raise InvalidValue(f"the types of a bound differ and are from 0 to {workload.size - 1}", types)
    if len(types) > LARGEST_TYPES:
        raise InvalidValue(f"this bound is for at most {LARGEST_TYPES} types, not {len(types)}", types)
    # Multipliers of pairs are the upper triangle of a matrix.
    pairs = np.zeros((len(types), len(types)))
    pairs[np.triu_indices(len(types), 1)] = ndarray(bound.pairs)
    matrix, columns, levels = workload.weighted_matrix()[:, types], ndarray(bound.type_weights), ndarray(bound.levels)
    return recheck_doubly_nonnegative(matrix, epsilon, rows, columns, levels, pairs)


def _distinct(matrix: Floats) -> Indices:
    """The first of rows (Q, m) that differ by a constant only, as thresholds between the same two types do; (d,)."""
    first = np.unique(matrix - matrix[:, :1], axis=0, return_index=True)[1]
    return np.sort(first)


def _gains(work: SharedWork, objective: Objective) -> bool:
    """Whether the bound is worth its seconds; a quick plan has it for its own objective only, of few types.

    So has a plan of several measures of numbers, whose mean over rows of several units nobody asks for.
    """
    request = work.request
    types, epsilon = request.workload.size, request.guarantee.epsilon
    least = next((one for most, one in PAIRS.least_epsilons if types <= most), PAIRS.least_of_some_types)
    is_own = request.options.objective == objective
    several_measures = request.workload.has_units and request.workload.queries > 1
    wanted = is_own if several_measures else request.options.effort is not Effort.QUICK or is_own
    if request.options.effort is Effort.QUICK:
        wanted = wanted and types <= LARGEST_TYPES
    return least < epsilon <= PAIRS.largest_epsilon and wanted and not work.deadline.passed()
