"""Weights of queries under which the least mean variance is that of the worst query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.gaussian.covariance import GaussianOptimum, optimal_covariance
from sordino_analysis.optimisation.gaussian.tuning import WORST_QUERY


@dataclass(frozen=True, eq=False)
class WorstQueryOptimum:
    """`optimum` is of diag(√u) W for u = `query_weights` (Q,), 1 on average; its noise has the least worst variance.

    The standard error of the worst query is at most 1 + `gap` times the least there is, as u proves.
    """

    query_weights: Floats
    optimum: GaussianOptimum
    gap: float


def weigh_worst_query(
    matrix: Floats,
    weights: Floats,
    start: GaussianOptimum,
    gap: float = WORST_QUERY.gap,
    rounds: int = WORST_QUERY.rounds,
    should_stop: Callable[[], bool] = lambda: False,
) -> WorstQueryOptimum:
    """u ← u·Var_q/mean from u = `weights` (Q,), 1 on average, of which `start` is the optimum; `matrix` (Q, k).

    Every u proves that the worst variance is at least the best mean under u. Stops where the two are within 1 + gap in
    standard deviation, after `rounds`, or once `should_stop()`, with the least worst variance so far.
    """
    best, least, proved = WorstQueryOptimum(weights, start, gap=np.inf), np.inf, 0.0
    optimum = start
    for _ in range(rounds):
        variances = np.einsum("ij,jk,ik->i", optimum.basis, optimum.covariance, optimum.basis, optimize=True) / weights
        if variances.max() < least:
            best, least = WorstQueryOptimum(weights, optimum, gap=np.inf), float(variances.max())
        proved = max(proved, optimum.lower)
        if least <= ((1 + gap) * proved) ** 2 or should_stop():
            break
        weights = np.maximum(weights * variances / (weights @ variances / len(weights)), WORST_QUERY.least_weight)
        weights *= len(weights) / weights.sum()
        weighted = np.sqrt(weights)[:, None] * matrix
        optimum = optimal_covariance(weighted, start.neighbours, gap / 2, should_stop=should_stop, near=optimum.weights)
    return replace(best, gap=float(np.sqrt(least) / proved - 1))
