"""A lower bound for the prefix sums of two attributes at once, from products of singular values in closed form.

It is the trace bound ‖A‖_*²/sinh²(ε/2) − ‖A‖_F² of `trace.recheck` with even weights and A = (W − W̄1ᵀ)/√(kQ).
"""

from __future__ import annotations

import math

import numpy as np

from sordino_analysis.arrays import Floats


def even_plane_bound(first: int, second: int, epsilon: float, queries: int | None = None) -> float:
    """For the prefix sums [0, a) × [0, b) of first × second types, ρ and π even; `queries` are counted.

    Prefix sums of n types have the singular values 1/(2 sin((2j − 1)π/(4n + 2))), j = 1 … n, and those of two
    attributes the products of these. To take off the means W̄1ᵀ is a change of rank one, so that the nuclear norm falls
    by ‖W̄‖·‖1‖ at most. The query of all these types adds nothing, since without its mean it is 0; it is counted where
    there are further types, which have no weight.
    """
    types = first * second
    counted = types - 1 if queries is None else queries
    if not counted:
        return 0.0
    nuclear = float(_singular_values(first).sum() * _singular_values(second).sum())
    means = _even_means(first) * _even_means(second)
    squares = types * (_whole_squares(first) * _whole_squares(second) - means)
    centred = max(0.0, nuclear - types * math.sqrt(means))
    value = (centred**2 / math.sinh(epsilon / 2) ** 2 / types - squares) / counted
    return max(0.0, value)


def _singular_values(types: int) -> Floats:
    odd = 2 * np.arange(1, types + 1) - 1
    return np.asarray(1 / (2 * np.sin(odd * np.pi / (4 * types + 2))))


def _even_means(types: int) -> float:
    """The mean over a = 1 … n of (a/n)²: that of the squares of a query's mean over even types."""
    return (types + 1) * (2 * types + 1) / (6 * types**2)


def _whole_squares(types: int) -> float:
    """The mean over a = 1 … n of a/n: that of the mean square of a query over even types."""
    return (types + 1) / (2 * types)
