"""A certified lower bound on the variance of every unbiased one-round ε-LDP mechanism for a workload."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import SUM_TOLERANCE, Floats
from sordino_analysis.optimisation.bounds.information import (
    InformationLimits,
    information_limits,
    least_excesses,
    least_variance,
)
from sordino_analysis.optimisation.bounds.tuning import TRACE
from sordino_analysis.optimisation.factorization import Factorization, counted_rows, factorize
from sordino_analysis.optimisation.factorization.weighted import weighted_spectrum
from sordino_analysis.request_terms import Objective
from sordino_shared.errors import InvalidValue

# Of an even weight: one that falls to nothing could not come back.
_WEIGHT_FLOOR = 1e-8
# Squares of e^ε stay in double precision below it.
_LARGEST_EPSILON = 500.0


@dataclass(frozen=True, eq=False, kw_only=True)
class TraceBound:
    """`value` ≤ Σ ρ_q π_x Var_q(x) for every mechanism that the bound speaks of, so ≤ its objective.

    It speaks of all mechanisms, finite or not, in which every user runs the same ε-LDP randomizer once and the
    estimator is a sum of unbiased per-user terms. For "mean" ρ is uniform over the queries that vary. The weights
    are the certificate: `recheck(W, ε, query_weights, type_weights)` is the value again.
    """

    value: float
    query_weights: Floats
    type_weights: Floats
    objective: Objective
    epsilon: float


def recheck(matrix: Floats, epsilon: float, query_weights: Floats, type_weights: Floats) -> float:
    """Σ σ_i²(1/x_i − 1) of the singular values σ of A = D_ρ^½ (W − Wπ1ᵀ) D_π^½: above 0 unless A is 0.

    ρ and π must be on the simplex. x_i = min(tanh²(ε/2), μσ_i) with Σx_i ≤ sinh²(ε/2) are the eigenvalues of the most
    informative matrix that an ε-LDP kernel can have about A; `information.py` has the proof. Where no x_i is at the
    first limit the value is ‖A‖_*²/sinh²(ε/2) − ‖A‖_F².
    `matrix` W (Q, k), `query_weights` ρ (Q,), `type_weights` π (k,).
    Raises InvalidValue for weights that are negative or do not sum to 1.
    """
    check_weights(query_weights, type_weights)
    spread = matrix - (matrix @ type_weights)[:, None]
    scaled = np.sqrt(query_weights)[:, None] * spread * np.sqrt(type_weights)
    return least_variance(np.asarray(np.linalg.svd(scaled, compute_uv=False)), information_limits(epsilon))


def check_weights(query_weights: Floats, type_weights: Floats) -> None:
    """Raise InvalidValue unless ρ (Q,) and π (k,) are not negative and each sum to 1."""
    for weights in (query_weights, type_weights):
        if not (weights >= 0).all() or not abs(weights.sum() - 1.0) <= SUM_TOLERANCE:
            raise InvalidValue("the weights of a bound are non-negative and sum to 1", weights)


def trace_bound(
    matrix: Floats,
    epsilon: float,
    objective: Objective = "max",
    start: Factorization | None = None,
    max_iterations: int = TRACE.steps,
    should_stop: Callable[[], bool] = lambda: False,
) -> TraceBound:
    """The bound of `recheck`, maximised over type weights π and, for "max", query weights ρ.

    Starts at the dual weights of `start`, a centred factorization for the same objective (found where not given),
    and ascends multiplicatively; the best weights met are returned, so more iterations never give less;
    there are `max_iterations` at most, and none begins once `should_stop()`.
    Constant queries have no weight. Raises InvalidValue for ε ≤ 0 and FactorizationError for a bad matrix.
    `matrix` W (Q, k).
    """
    if not 0 < epsilon < _LARGEST_EPSILON:
        raise InvalidValue(f"ε must be positive and below {_LARGEST_EPSILON:g}, got {epsilon}", epsilon)
    if start is None:
        start = factorize(matrix, objective, TRACE.start_gap)
    same = matrix.shape == (len(start.row_weights), len(start.column_weights))
    if not same or not start.centred or start.objective != objective:
        raise InvalidValue(f'start the "{objective}" bound at a centred factorization of the same matrix', start)
    counted = counted_rows(matrix, centred=True)
    scale = float(np.ptp(matrix, axis=1).max())
    ascent = Ascent(matrix[counted] / scale, information_limits(epsilon), objective)
    best = ascent.run(start.row_weights[counted], start.column_weights, max_iterations, should_stop)
    best = max(best, ascent.of_two_types(best), key=lambda point: point.value)
    weights = np.zeros(len(matrix))
    weights[counted] = best.rows
    value = best.value * scale**2
    return TraceBound(
        value=value, query_weights=weights, type_weights=best.columns, objective=objective, epsilon=epsilon
    )


def ascended_weights(matrix: Floats, epsilon: float, objective: Objective) -> tuple[Floats, Floats]:
    """ρ (Q,) and π (k,) of a bound on W (Q, k), ascended from even weights; ρ stays even for the mean."""
    queries, types = matrix.shape
    ascent = Ascent(matrix, information_limits(epsilon), objective)
    best = ascent.run(np.full(queries, 1 / queries), np.full(types, 1 / types), TRACE.ascents, lambda: False)
    return best.rows, best.columns


@dataclass(frozen=True, eq=False, kw_only=True)
class AscentPoint:
    rows: Floats
    columns: Floats
    value: float
    row_slopes: Floats
    column_slopes: Floats


class Ascent:
    """The bound of `recheck` over weights of the rows and columns of a matrix (Q, k); for the mean rows keep theirs."""

    def __init__(self, matrix: Floats, limits: InformationLimits, objective: Objective) -> None:
        self.matrix, self.objective, self.limits = matrix, objective, limits

    def run(self, rows: Floats, columns: Floats, max_iterations: int, should_stop: Callable[[], bool]) -> AscentPoint:
        """The best point within `max_iterations`; a step that loses ground is taken back and shortened.

        `rows` (Q,), `columns` (k,).
        """
        best, exponent, idle = self._evaluate(rows, columns), TRACE.largest_exponent, 0
        for _ in range(max_iterations - 1):
            if should_stop():
                break
            point = self._step(best, exponent)
            if point.value <= best.value:
                exponent /= 2
                if exponent < TRACE.smallest_exponent:
                    break
                continue
            idle = idle + 1 if point.value - best.value <= TRACE.gain * abs(best.value) else 0
            best, exponent = point, min(TRACE.recovery * exponent, TRACE.largest_exponent)
            if idle >= TRACE.patience:
                break
        return best

    def of_two_types(self, point: AscentPoint) -> AscentPoint:
        """The point of two types alone, even, and for the maximum of the query that differs most between its two.

        Where ε is large every x_i is at its limit, and no other weights prove more of a maximum.
        """
        query, rows = int(np.argmax(np.ptp(self.matrix, axis=1))), point.rows
        if self.objective == "max":
            rows = _few(len(rows), [query])
        chosen = self.matrix[query]
        return self._evaluate(rows, _few(len(chosen), [int(np.argmin(chosen)), int(np.argmax(chosen))]))

    def _evaluate(self, rows: Floats, columns: Floats) -> AscentPoint:
        """The bound and its slopes: those of Σσ²(1/x − 1) for fixed x, as x is the best; up to a constant for π."""
        spectrum = weighted_spectrum(self.matrix - (self.matrix @ columns)[:, None], rows, columns)
        values = spectrum.least_singular_values
        excesses = least_excesses(values, self.limits)
        moments = spectrum.singular_values**2 * excesses
        return AscentPoint(
            rows=rows,
            columns=columns,
            value=float(values**2 @ excesses),
            row_slopes=spectrum.row_squares(moments),
            column_slopes=spectrum.column_squares(moments),
        )

    def _step(self, point: AscentPoint, exponent: float) -> AscentPoint:
        columns = _reweighted(point.columns, point.column_slopes, exponent)
        rows = point.rows
        if self.objective == "max":
            rows = _reweighted(rows, point.row_slopes, exponent)
        return self._evaluate(rows, columns)


def _reweighted(weights: Floats, slopes: Floats, exponent: float) -> Floats:
    positive = slopes + np.finfo(float).tiny
    moved = weights * (positive / positive.max()) ** exponent
    floored = np.maximum(moved / moved.sum(), _WEIGHT_FLOOR / len(moved))
    return np.asarray(floored / floored.sum())


def _few(count: int, chosen: list[int]) -> Floats:
    """Weights (count,) that sum to 1: equal ones of those chosen, and the floor for all others."""
    weights = np.full(count, _WEIGHT_FLOOR / count)
    weights[chosen] = 1.0
    return np.asarray(weights / weights.sum())
