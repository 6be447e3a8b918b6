"""Weights of queries under which the least mean variance is that of the worst query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.gaussian.covariance import GaussianOptimum, optimal_covariance
from sordino_analysis.request_terms import Neighbours

# No weight falls below this share of an equal one: strategies divide by its square root.
_LEAST = 1e-4


@dataclass(frozen=True, eq=False)
class WorstQueryOptimum:
    """`optimum` is of diag(√u) W for u = `query_weights` (Q,), 1 on average; its noise has the least worst variance."""

    query_weights: Floats
    optimum: GaussianOptimum


def weigh_worst_query(
    matrix: Floats,
    neighbours: Neighbours = "replace",
    gap: float = 0.01,
    rounds: int = 40,
    should_stop: Callable[[], bool] = lambda: False,
) -> WorstQueryOptimum:
    """u ← u·Var_q/mean from equal weights; `matrix` (Q, k).

    Every u proves that the worst variance is at least the best mean under u. Stops where the two are within 1 + gap in
    standard deviation, after `rounds`, or once `should_stop()`, with the least worst variance so far.
    """
    weights = np.ones(len(matrix))
    best, least = None, np.inf
    for _ in range(rounds):
        weighted = np.sqrt(weights)[:, None] * matrix
        optimum = optimal_covariance(weighted, neighbours, gap=gap / 2, should_stop=should_stop)
        variances = np.einsum("ij,jk,ik->i", optimum.basis, optimum.covariance, optimum.basis, optimize=True) / weights
        if variances.max() < least:
            best, least = WorstQueryOptimum(weights, optimum), float(variances.max())
        if least <= ((1 + gap) * optimum.lower) ** 2 or should_stop():
            break
        weights = np.maximum(weights * variances / (weights @ variances / len(weights)), _LEAST)
        weights *= len(weights) / weights.sum()
    assert best is not None, "the first round has finite variances"
    return best
