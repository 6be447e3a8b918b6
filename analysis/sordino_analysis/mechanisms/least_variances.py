"""What mechanisms cannot fall below, by formulas: candidates that cannot win are not built."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

from sordino_analysis.mechanisms.mechanism import SharedWork
from sordino_analysis.optimisation.bounds import recheck
from sordino_analysis.optimisation.bounds.intervals import even_prefix_bound, even_range_bound
from sordino_analysis.optimisation.factorization.approximation import tangent
from sordino_analysis.optimisation.symmetry.character_bound import recheck_characters
from sordino_analysis.optimisation.symmetry.query_fourier_weights import query_fourier_weights
from sordino_analysis.questions.linear.operators import Prefix, Ranges, Symmetry
from sordino_analysis.questions.linear.widths import CharacterMap


def least_of_equal_types(work: SharedWork) -> float:
    """V·((k − 1)/sinh²(ε/2) − 1): the least variance of a mechanism that treats all k types alike.

    V is the variance of a query over evenly spread types, weighted: the largest of the queries or their mean, as the
    objective is. All k − 1 directions are told alike then, and what a report tells in all is at most sinh²(ε/2).
    """
    workload, worst = work.request.workload, work.request.options.objective == "max"
    intervals = workload.operator.intervals
    if intervals is None:
        even = np.full(workload.size, 1.0 / workload.size)
        operator = workload.operator
        spreads = operator.squared_matvec(even) - operator.matvec(even) ** 2
        counted = (workload.query_weights * spreads)[workload.varying_rows]
        spread = float(counted.max() if worst else counted.mean())
    else:
        spread = _spread_of_intervals(intervals, worst=worst)
    information = math.sinh(work.request.guarantee.epsilon / 2) ** 2
    return max(0.0, spread * ((workload.size - 1) / information - 1))


def _spread_of_intervals(intervals: Prefix | Ranges, *, worst: bool) -> float:
    """L/k·(1 − L/k) by the lengths L of the intervals that vary."""
    lengths = np.arange(1, intervals.bins + (intervals.bins < intervals.size))
    shares = lengths / intervals.size
    counts = intervals.bins - lengths + 1 if isinstance(intervals, Ranges) else np.ones(len(lengths))
    spreads = shares * (1 - shares)
    return float(spreads.max() if worst else np.average(spreads, weights=counts))


def half_sphere_spread(dimension: int, epsilon: float) -> float:
    """B²/d of the half-sphere randomizer: the second moment of an answer is ‖l‖²·max‖r‖²·B²/d whatever the type.

    B = coth(ε/2)·√π·Γ((d + 1)/2)/Γ(d/2); B²/d rises with d to (π/2)·coth²(ε/2). Edmonds, Nikolov, Ullman 2020, Lemma 9.
    """
    ratio = math.exp(2 * float(gammaln((dimension + 1) / 2) - gammaln(dimension / 2)))
    return math.pi * ratio / dimension / math.tanh(epsilon / 2) ** 2


def least_of_half_spheres(work: SharedWork) -> float | None:
    """(B²/d)·‖A‖_*² − ‖A‖_F²: the least variance of the vector mechanism, whatever the factors; None if not known.

    No factors have a smaller product of norms than ‖A‖_*, A being the weighted, centred workload of the trace bound.
    So this is the trace bound at the ε′ with 1/sinh²(ε′/2) = B²/d, for the same weights.
    """
    workload, epsilon = work.request.workload, work.request.guarantee.epsilon
    if workload.symmetry is Symmetry.TYPES:
        share = (workload.size - 1) / workload.size
        return half_sphere_spread(workload.size - 1, epsilon) * share**2 - share / workload.size
    if isinstance(workload.operator, CharacterMap):
        return _for_characters(workload.operator, epsilon)
    if work.too_large_for_dense is not None:
        return _for_intervals(workload.operator.intervals, epsilon)
    bound = work.bound(work.request.options.objective)
    equivalent = _equivalent_epsilon(work.factorization(bound.objective).rank, epsilon)
    return recheck(work.matrix, equivalent, bound.query_weights, bound.type_weights)


def _for_characters(operator: CharacterMap, epsilon: float) -> float:
    sizes, shares = operator.characters.orbit_sizes, query_fourier_weights(operator).shares
    equivalent = _equivalent_epsilon(int(sizes.sum()), epsilon)
    return recheck_characters(operator, equivalent, shares, np.ones(len(sizes)), np.ones(1), 0.0)


def _for_intervals(intervals: Prefix | Ranges | None, epsilon: float) -> float | None:
    if intervals is None:
        return None
    equivalent = _equivalent_epsilon(intervals.bins - 1, epsilon)
    if isinstance(intervals, Prefix):
        return even_prefix_bound(intervals.bins, equivalent)
    return even_range_bound(intervals.bins, intervals.shape[0] - (intervals.size == intervals.bins), equivalent)


def least_of_approximations(work: SharedWork, users: int) -> float:
    """n·min over α of [(B²/d − 1)·γ(W; α)²/n + α²], with the line γ − α‖U‖₁ of a dual matrix U below γ(W; α).

    The second moment of an answer is at most (B²/d)·‖l‖²·‖r‖², of which the square of its mean is at most ‖l‖²·‖r‖².
    The least of a·(γ − αs)² + α² is a·γ²/(1 + a·s²).
    """
    exact = work.factorization(work.request.options.objective)
    witness = tangent(work.matrix, exact)
    level = witness.value(work.matrix, 0.0)
    slope = level - witness.value(work.matrix, 1.0)
    share = (half_sphere_spread(2, work.request.guarantee.epsilon) - 1) / users
    return users * share * level**2 / (1 + share * slope**2) if share > 0 else 0.0


def _equivalent_epsilon(dimension: int, epsilon: float) -> float:
    """ε′ with 1/sinh²(ε′/2) = B²/d."""
    return 2 * math.asinh(1 / math.sqrt(half_sphere_spread(dimension, epsilon)))
