"""Lower bounds for prefix sums and ranges over any number of types, with spectra in closed form or of tridiagonals.

They are the trace bound of A = D_ρ^½ (W − Wπ1ᵀ) D_π^½, see `trace.recheck`.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import lapack

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.bounds.information import information_limits, least_variance
from sordino_analysis.optimisation.bounds.trace import ascended_weights
from sordino_analysis.optimisation.bounds.tuning import INTERVALS
from sordino_analysis.request_terms import Objective
from sordino_shared.errors import InvalidValue

# All eigenvalues of a tridiagonal matrix of so many rows take a third of a second.
MOST_SEARCHED = 4096


def even_prefix_bound(types: int, epsilon: float) -> float:
    """For all prefix sums but the constant one, ρ and π even: singular values 1/(2 sin(πj/2k)), j = 1 … k − 1."""
    values = 1 / (2 * np.sin(np.pi * np.arange(1, types) / (2 * types)))
    return least_variance(values / math.sqrt(types * (types - 1)), information_limits(epsilon))


def even_range_bound(types: int, queries: int, epsilon: float) -> float:
    """For all ranges of k `types`, of which `queries` are counted, ρ and π even.

    The Gram matrix of the ranges is k + 1 times the inverse of the second difference with zeros at both ends. Taken
    about the mean its roots are √(k + 1)/(2 sin θ) for θ = πi/(k + 1), i = 1 … ⌊k/2⌋, whose vectors are odd, and for
    θ = πj/k, j = 1 … ⌈k/2⌉ − 1, whose vectors are cosines that sum to 0.
    """
    odd = np.pi * np.arange(1, types // 2 + 1) / (types + 1)
    even = np.pi * np.arange(1, (types + 1) // 2) / types
    values = math.sqrt((types + 1) / (types * queries)) / (2 * np.sin(np.concatenate([odd, even])))
    return least_variance(values, information_limits(epsilon))


def prefix_bound(types: int, epsilon: float, query_density: Floats, type_density: Floats) -> float:
    """For all prefix sums but the constant one, ρ and π from densities, see `spread`; O(k²) unless both are even.

    A Aᵀ is the inverse of a tridiagonal matrix: that of the covariance of the indicators has 1/π_q + 1/π_{q+1} on its
    diagonal and −1/π_{q+1} next to it. `query_density` (m,), `type_density` (n,). Raises InvalidValue for densities
    that are not positive.
    """
    if len(query_density) == len(type_density) == 1:
        return even_prefix_bound(types, epsilon)
    rows, columns = spread(query_density, types - 1), spread(type_density, types)
    diagonal = (1 / columns[:-1] + 1 / columns[1:]) / rows
    off_diagonal = -1 / (columns[1:-1] * np.sqrt(rows[:-1] * rows[1:]))
    # Eigenvalues of a positive tridiagonal matrix to high relative accuracy, the small ones too: these count most.
    values, _, _, failed = lapack.dpteqr(diagonal, off_diagonal, np.zeros((1, 1)), compute_z=0)
    if failed:
        raise InvalidValue("the weights of a bound have no spectrum", query_density)
    return least_variance(values**-0.5, information_limits(epsilon))


def spread(density: Floats, count: int) -> Floats:
    """Weights (count,) that sum to 1: item i of n lies at (i + ½)/n, and the density is linear between its points.

    `density` (m,). Raises InvalidValue unless it is positive.
    """
    if not (density > 0).all():
        raise InvalidValue("the densities of a bound are above 0", density)
    if len(density) == 1:
        return np.full(count, 1 / count)
    places = (np.arange(count) + 0.5) / count
    weights = np.interp(places, (np.arange(len(density)) + 0.5) / len(density), density)
    return np.asarray(weights / weights.sum())


def best_prefix_densities(types: int, epsilon: float, objective: Objective) -> tuple[float, Floats, Floats]:
    """The bound and its densities of queries and types: even ones, or the best of those found at a few hundred types.

    Densities are (m,) and (n,). For the mean the queries' density is even.
    """
    even = np.ones(1)
    bounds = [(even_prefix_bound(types, epsilon), even, even)]
    if types <= MOST_SEARCHED:
        few = min(types, INTERVALS.searched_at)
        matrix = np.tril(np.ones((few, few)))[:-1]
        rows, columns = ascended_weights(matrix, epsilon, objective)
        queries = [rows] if objective == "max" else []
        bounds += [(prefix_bound(types, epsilon, one, columns), one, columns) for one in [even, *queries]]
    return max(bounds, key=lambda one: one[0])


def even_plane_bound(first: int, second: int, epsilon: float, queries: int | None = None) -> float:
    """For the prefix sums [0, a) × [0, b) of first × second types, ρ and π even; `queries` are counted.

    Prefix sums of n types have the singular values 1/(2 sin((2j − 1)π/(4n + 2))), j = 1 … n, and those of two
    attributes, W, the products of these. To take off the means W̄1ᵀ is a change of rank one, so that the nuclear norm
    falls by ‖W̄‖·‖1‖ at most. The least second moment f of `information.py` is the square of a norm, too, as
    tr(A X⁻¹ Aᵀ) is convex in both: √f falls by ‖W̄‖·‖1‖/tanh(ε/2) at most. All eigenvalues at their limit leave
    ‖A‖_F²/sinh²(ε/2). The largest of the three is the bound. The query of all these types adds nothing, since without
    its mean it is 0; it is counted where there are further types, which have no weight.
    """
    types = first * second
    counted = types - 1 if queries is None else queries
    if not counted:
        return 0.0
    limits = information_limits(epsilon)
    values = np.outer(_singular_values(first), _singular_values(second)).ravel()
    means = _even_means(first) * _even_means(second)
    squares = types * (_whole_squares(first) * _whole_squares(second) - means)
    of_means = types * math.sqrt(means)
    nuclear = max(0.0, float(values.sum()) - of_means) / math.sqrt(limits.trace)
    moment = math.sqrt(least_variance(values, limits) + float(values @ values))
    least = max(nuclear, moment - of_means / math.sqrt(limits.eigenvalue))
    return max(least**2 / types - squares, squares * limits.least_excess) / counted


def _singular_values(types: int) -> Floats:
    odd = 2 * np.arange(1, types + 1) - 1
    return np.asarray(1 / (2 * np.sin(odd * np.pi / (4 * types + 2))))


def _even_means(types: int) -> float:
    """The mean over a = 1 … n of (a/n)²: that of the squares of a query's mean over even types."""
    return (types + 1) * (2 * types + 1) / (6 * types**2)


def _whole_squares(types: int) -> float:
    """The mean over a = 1 … n of a/n: that of the mean square of a query over even types."""
    return (types + 1) / (2 * types)
