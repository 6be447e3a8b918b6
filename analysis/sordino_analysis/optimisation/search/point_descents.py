"""What a point of the search is worth, and descents from it: of soft rows, or of weights and decoder alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.search.balanced_rows import balance
from sordino_analysis.optimisation.search.descent import Evaluate, Point, descend
from sordino_analysis.optimisation.search.images import Images
from sordino_analysis.optimisation.search.objectives import (
    AveragedVariance,
    SoftMaximum,
    averaged_by_type,
    gls_decoder,
    variances,
)
from sordino_analysis.optimisation.search.pace import Pace
from sordino_analysis.optimisation.search.tuning import DESCENT
from sordino_analysis.request_terms import Objective

# A query or type without weight could not get any again.
_LEAST_WEIGHT = 1e-9


@dataclass(kw_only=True)
class Descents:
    """For W = `matrix` (Q, k): variances at points, and points after a descent. `should_stop` may be replaced."""

    matrix: Floats
    epsilon: float
    objective: Objective
    images: Images
    pace: Pace
    should_stop: Callable[[], bool]

    def worst(self, point: Point) -> float:
        """Worst (objective max) or worst-type mean variance at `point`."""
        if self.objective == "mean":
            return float(self._by_type(point).max())
        return float(variances(self._kernel(point), self.decoder(point), self.matrix, self.images).max())

    def _kernel(self, point: Point) -> Floats:
        levels = balance(point.logits, point.weights, self.epsilon, self.images).levels
        return np.asarray(point.weights[:, None] * levels)

    def decoder(self, point: Point) -> Floats:
        """(Q, m) an unbiased decoder: GLS, or the free one with what it misses added by GLS."""
        kernel = self._kernel(point)
        if point.free is None:
            return gls_decoder(kernel, self.matrix, point.type_weights, self.images)
        missing = self.matrix - self.images.of_answers(point.free @ kernel)
        return np.asarray(point.free + gls_decoder(kernel, missing, point.type_weights, self.images))

    def _by_type(self, point: Point) -> Floats:
        gram, second_moments = self._moments(point)
        return averaged_by_type(self._kernel(point), gram, second_moments, point.type_weights, self.images)

    def _moments(self, point: Point) -> tuple[Floats, Floats]:
        """Wᵀ diag(ρ) W and the ρ-averaged squares of W's columns."""
        weighted = point.query_weights[:, None] * self.matrix
        return self.matrix.T @ weighted, np.einsum("qx,qx->x", weighted, self.matrix)

    def descend_averaged(self, point: Point, floor: float, evaluations: int, *, rows_move: bool) -> Point:
        """Down the variance averaged by π and ρ, which are then shifted to where it is large."""
        evaluate = AveragedVariance(*self._moments(point), point.type_weights, self.images)
        return self._reweighted(self._run(point, evaluate, floor, evaluations, rows_move))

    def descend(self, point: Point, sharpness: float, floor: float, evaluations: int, *, rows_move: bool) -> Point:
        """Down a soft maximum over queries and types; no weight goes below `floor`."""
        evaluate = SoftMaximum(self.matrix, point.type_weights, self.worst(point), sharpness, images=self.images)
        return self._run(point, evaluate, floor, evaluations, rows_move)

    def _run(self, point: Point, evaluate: Evaluate, floor: float, evaluations: int, rows_move: bool) -> Point:
        def counted(kernel: Floats, free: Floats | None) -> tuple[float, Floats, Floats | None]:
            self.pace.step()
            return evaluate(kernel, free)

        return descend(
            point, counted, self.epsilon, floor, evaluations, self.should_stop, self.images, rows_move=rows_move
        )

    def settled(self, point: Point, sharpness: float, evaluations: tuple[int, int]) -> Point:
        """Weights and decoder for the rows as they are, under a soft maximum and then a sharper one."""
        for sharper, most in zip((sharpness / 4, sharpness), evaluations, strict=True):
            if most:
                point = replace(point, free=self.decoder(point))
                point = self.descend(point, sharper, 0.0, most, rows_move=False)
        return point

    def _reweighted(self, point: Point) -> Point:
        """One multiplicative-weights update of π, and of ρ for max."""
        if self.objective == "mean":
            by_type = self._by_type(point)
            return replace(point, type_weights=_shifted(point.type_weights, by_type, 1.0))
        kernel = self._kernel(point)
        for _ in range(DESCENT.reweightings):
            decoder = gls_decoder(kernel, self.matrix, point.type_weights, self.images)
            variance = variances(kernel, decoder, self.matrix, self.images)
            point = replace(
                point,
                query_weights=_shifted(point.query_weights, variance @ point.type_weights, 2.0),
                type_weights=_shifted(point.type_weights, point.query_weights @ variance, 2.0),
            )
        return point


def _shifted(weights: Floats, variance: Floats, exponent: float) -> Floats:
    """Weights times (variance relative to its largest)^exponent, on the simplex and nowhere zero."""
    moved = np.maximum(weights * np.maximum(variance / variance.max(), 0.0) ** exponent, _LEAST_WEIGHT)
    return np.asarray(moved / moved.sum())
