"""The decoder of a fixed kernel with the least worst variance, as type weights for groups of queries.

For one query, min over unbiased decoders and max over type weights π of Σ π_x Var(x) is a saddle: the decoder is least
squares under the best π, and that is a concave problem in k numbers. The worst query's value is what no decoder is
below; other queries need to be no worse than it, so most share the common weights or a neighbour's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.search.objectives import gls_decoder, information
from sordino_analysis.optimisation.search.tuning import MINIMAX_WEIGHTS

# Queries that new weights are tried on, the worst ones first, and those whose variances are found at once.
# Queries whose variances are found at once: megabytes of doubles.
_BLOCK = 1 << 10
# A weight whose variance is below the decoder's does not die in one step.
_LEAST_SLOPE = 1e-6


@dataclass(frozen=True, eq=False, kw_only=True)
class MinimaxWeights:
    """Query q is answered by least squares under `type_weights[groups[q]]`; `worst` (Q,) are its largest variances.

    `type_weights` (g, k), `groups` (Q,). No unbiased decoder of the kernel has a largest variance below `least`.
    """

    type_weights: Floats
    groups: NDArray[np.int64]
    worst: Floats
    least: float

    def decoder(self, kernel: Floats, matrix: Floats) -> Floats:
        """V (Q, m) with VK = W, for `kernel` K (m, k) and `matrix` W (Q, k)."""
        rows = np.empty((len(matrix), len(kernel)))
        for group, weights in enumerate(self.type_weights):
            queries = np.flatnonzero(self.groups == group)
            rows[queries] = gls_decoder(kernel, matrix[queries], weights)
        return rows


def minimax_weights(
    kernel: Floats,
    matrix: Floats,
    type_weights: Floats,
    should_stop: Callable[[], bool] = lambda: False,
    enough: float = 0.0,
) -> MinimaxWeights:
    """Weights under which the worst variance is within 2 per mille of the kernel's least, or at most `enough`.

    Begins with the common `type_weights` π (k,) for all queries, and keeps what it has once `should_stop()`, which it
    asks for every query that gets weights of its own. `kernel` K (m, k), `matrix` W (Q, k).
    """
    fit = _Fit(kernel, matrix, type_weights, enough)
    while (query := fit.unsettled()) is not None and not should_stop():
        fit.add_group(query)
    return MinimaxWeights(
        type_weights=np.array(fit.weights), groups=fit.groups, worst=fit.worst, least=max(0.0, fit.least)
    )


class _Fit:
    """Groups of type weights so far, each query's group, and its worst variance under that."""

    def __init__(self, kernel: Floats, matrix: Floats, type_weights: Floats, enough: float) -> None:
        self.kernel, self.matrix, self.enough = kernel, matrix, enough
        self.weights = [type_weights]
        self.groups: NDArray[np.int64] = np.zeros(len(matrix), dtype=np.int64)
        blocks = [np.arange(start, min(start + _BLOCK, len(matrix))) for start in range(0, len(matrix), _BLOCK)]
        self.worst = np.concatenate([self._worst(type_weights, block) for block in blocks])
        self.settled = np.zeros(len(matrix), dtype=bool)
        self.least = -np.inf

    @property
    def allowed(self) -> float:
        return max(self.enough, (1 + MINIMAX_WEIGHTS.gap) * self.least)

    def unsettled(self) -> int | None:
        """The worst query that has no weights of its own, unless it is good enough."""
        query = int(np.where(self.settled, -np.inf, self.worst).argmax())
        return None if self.settled[query] or self.worst[query] <= self.allowed else query

    def add_group(self, query: int) -> None:
        """The best weights for a query, given to all bad ones that they serve better."""
        self.settled[query] = True
        reached, weights = self._ascended(self.matrix[query], self.weights[self.groups[query]])
        tried = np.argsort(-self.worst, kind="stable")[: MINIMAX_WEIGHTS.tried]
        tried = tried[(self.worst[tried] > self.allowed) & (tried != query)]
        worst = self._worst(weights, tried)
        better = worst < self.worst[tried]
        served, variance = tried[better], worst[better]
        if reached < self.worst[query]:
            served, variance = np.append(served, query), np.append(variance, reached)
        if len(served):
            self.weights.append(weights)
            self.groups[served], self.worst[served] = len(self.weights) - 1, variance

    def _ascended(self, row: Floats, start: Floats) -> tuple[float, Floats]:
        """The least largest variance met and its weights, ascending Σ π_x Var(x) over π until it will do.

        The envelope theorem gives the slopes: they are the variances. What each π proves raises `least`.
        """
        weights = (1 - MINIMAX_WEIGHTS.share_of_common) * start + MINIMAX_WEIGHTS.share_of_common * self.weights[0]
        reached, best = np.inf, weights
        proved, from_, slopes, power = -np.inf, weights, weights, MINIMAX_WEIGHTS.first_power
        for _ in range(MINIMAX_WEIGHTS.steps):
            row_information = information(self.kernel, weights)
            variance = (row_information.scaled @ row_information.solve(row)) ** 2 @ self.kernel - row**2
            if variance.max() < reached:
                reached, best = float(variance.max()), weights
            value = float(weights @ variance)
            if value > proved:
                proved, from_, slopes = value, weights, variance
                power = min(power * MINIMAX_WEIGHTS.growth, MINIMAX_WEIGHTS.largest_power)
            else:
                power *= MINIMAX_WEIGHTS.retreat
            self.least = max(self.least, proved)
            if reached <= self.allowed:
                break
            weights = from_ * np.maximum(slopes / slopes.max(), _LEAST_SLOPE) ** power
            weights /= weights.sum()
        return reached, best

    def _worst(self, weights: Floats, queries: NDArray[np.intp]) -> Floats:
        """The queries' largest variances by least squares under the weights."""
        row_information, rows = information(self.kernel, weights), self.matrix[queries]
        decoder = (row_information.scaled @ row_information.solve(rows.T)).T
        return np.asarray((decoder**2 @ self.kernel - rows**2).max(axis=1))
