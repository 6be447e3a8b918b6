"""One descent of the search: L-BFGS over logits, row weights and, for the maximum, the decoder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import Bounds, minimize

from sordino_analysis.arrays import TINY, Floats
from sordino_analysis.optimisation.search.balanced_rows import balance, balanced_weights
from sordino_analysis.optimisation.search.images import NO_IMAGES, Images
from sordino_analysis.optimisation.search.tuning import DESCENT

# From so many variables on L-BFGS keeps half of its memory: 32 MiB for each step.
_LARGE = 1 << 22
# From so many variables on bounds cost more than the descent.
_MANY = 1 << 18
# The floor of a weight that may come to nothing: its logarithm stays finite.
_LEAST_WEIGHT = 1e-9
# The value outside of the domain: above every objective.
_WALL = 1e10

# Value and derivatives by kernel and by decoder.
Evaluate = Callable[[Floats, Floats | None], tuple[float, Floats, Floats | None]]


@dataclass(frozen=True, eq=False, kw_only=True)
class Point:
    """Where a search stands: logits (m, k), the weights (m,) that balance them, π (k,) and ρ (Q,).

    `free` is the decoder F (Q, m) once kernel and decoder move together; before that the GLS decoder stands for it.
    """

    logits: Floats
    weights: Floats
    free: Floats | None
    type_weights: Floats
    query_weights: Floats


def descend(
    point: Point,
    evaluate: Evaluate,
    epsilon: float,
    floor: float,
    evaluations: int,
    should_stop: Callable[[], bool],
    images: Images = NO_IMAGES,
    *,
    rows_move: bool,
) -> Point:
    """The point after `evaluations` of the objective, or at the first step after which `should_stop()`.

    Every row weight stays at least `floor`; rows stay as they are unless they move.
    """
    variables = _Variables(point, rows_move, floor)

    def objective(values: Floats) -> tuple[float, Floats]:
        logits, weights, free = variables.parts(values)
        rows = balance(logits, weights, epsilon, images)
        if rows.row_weights.min() <= 0:
            # Infeasible (a row weight ≤ 0): return +large so the line search backs off.
            return _WALL, np.zeros_like(values)
        value, by_kernel, by_free = evaluate(rows.kernel, free)
        by_logits, by_weights = rows.gradient(by_kernel)
        return value, variables.gradient(values, by_logits, by_weights, by_free)

    def stop_when_late(_: Floats) -> None:
        if should_stop():
            raise StopIteration

    memory = DESCENT.past_steps if variables.start.size < _LARGE else DESCENT.past_steps // 2
    options = {"maxfun": evaluations, "maxiter": evaluations, "maxcor": memory, "ftol": 0.0, "gtol": 0.0}
    bounds = variables.bounds()
    optimum = minimize(
        objective, variables.start, jac=True, method="L-BFGS-B", bounds=bounds, options=options, callback=stop_when_late
    )
    logits, weights, free = variables.parts(optimum.x)
    rows = balance(logits, weights, epsilon, images)
    settled = balanced_weights(rows.levels, np.maximum(rows.row_weights, TINY), images)
    return replace(point, logits=logits, weights=settled, free=free)


class _Variables:
    """The optimiser's vector: logits (if the rows move), weights, decoder (if it is free), each on its own scale.

    Of many variables, weights above a floor f are f + (u + √(u² + c²))/2, so that the optimiser needs no bounds: it
    spends microseconds on each in every call, and there may be millions of logits. With bounds, rows come to the floor
    itself.
    """

    def __init__(self, point: Point, rows_move: bool, floor: float) -> None:
        self.logits = point.logits
        self.rows_move = rows_move
        self.moving = point.logits.size if rows_move else 0
        self.weight_scale = float(point.weights.mean())
        self.floor = max(floor / self.weight_scale, _LEAST_WEIGHT)
        self.bend = min(DESCENT.bend, self.floor) if floor > 0 else DESCENT.unfloored_bend
        self.free_shape = None if point.free is None else point.free.shape
        self.free_scale = 1.0 if point.free is None else float(np.sqrt((point.free**2).mean()))
        self._bounded = self.moving + point.weights.size + (0 if point.free is None else point.free.size) < _MANY
        self.start = self._joined(
            point.logits / DESCENT.logit_scale,
            self._lifted(point.weights / self.weight_scale),
            None if point.free is None else point.free / self.free_scale,
        )

    def _lifted(self, weights: Floats) -> Floats:
        """u of the weights, which are at least the floor."""
        if self._bounded:
            return weights
        above = np.maximum(weights - self.floor, DESCENT.least_above * self.bend)
        return np.asarray(above - self.bend**2 / (4 * above))

    def _weights(self, values: Floats) -> tuple[Floats, Floats]:
        """The weights, on the optimiser's scale, and their derivatives."""
        if self._bounded:
            return values, np.ones_like(values)
        root = np.hypot(values, self.bend)
        return self.floor + (values + root) / 2, (1 + values / root) / 2

    def _joined(self, logits: Floats, weights: Floats, free: Floats | None) -> Floats:
        parts = [logits.ravel()] if self.rows_move else []
        parts.append(weights)
        if free is not None:
            parts.append(free.ravel())
        return np.concatenate(parts)

    def parts(self, values: Floats) -> tuple[Floats, Floats, Floats | None]:
        end = self.moving + len(self.logits)
        moved = (
            values[: self.moving].reshape(self.logits.shape) * DESCENT.logit_scale if self.rows_move else self.logits
        )
        free = None if self.free_shape is None else values[end:].reshape(self.free_shape) * self.free_scale
        return moved, self._weights(values[self.moving : end])[0] * self.weight_scale, free

    def gradient(self, values: Floats, by_logits: Floats, by_weights: Floats, by_free: Floats | None) -> Floats:
        scaled = None if by_free is None else by_free * self.free_scale
        slopes = self._weights(values[self.moving : self.moving + len(self.logits)])[1]
        return self._joined(by_logits * DESCENT.logit_scale, by_weights * slopes * self.weight_scale, scaled)

    def bounds(self) -> Bounds | None:
        """Of the weights, where variables are few."""
        if not self._bounded:
            return None
        lower = np.full(len(self.start), -np.inf)
        lower[self.moving : self.moving + len(self.logits)] = self.floor
        return Bounds(lower, np.inf)
