"""A certified lower bound on the variance of every unbiased one-round ε-LDP mechanism for a workload."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import SUM_TOLERANCE, Floats
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
    """‖A‖_*² / sinh²(ε/2) − ‖A‖_F² with A = D_ρ^½ (W − Wπ1ᵀ) D_π^½, or 0 where that is negative.

    ρ and π must be on the simplex. Why it is a bound: with X = D_π^½ KᵀD⁻¹K D_π^½, D = diag(Kπ), the least averaged
    second moment is tr(A X⁺ Aᵀ); each output's likelihood ratios lie in [a, a·e^ε] around a mean of 1, hence
    tr X − 1 ≤ max_a (1 − a)(a·e^ε − 1) = sinh²(ε/2), where the 1 belongs to √π, which A does not see; and
    tr(A X⁺ Aᵀ) ≥ ‖A‖_*² / tr X on the rest, by Cauchy–Schwarz.
    `matrix` W (Q, k), `query_weights` ρ (Q,), `type_weights` π (k,).
    Raises InvalidValue for weights that are negative or do not sum to 1.
    """
    check_weights(query_weights, type_weights)
    spread = matrix - (matrix @ type_weights)[:, None]
    scaled = np.sqrt(query_weights)[:, None] * spread * np.sqrt(type_weights)
    nuclear = np.linalg.svd(scaled, compute_uv=False).sum()
    return max(0.0, float(nuclear**2 / np.sinh(epsilon / 2) ** 2 - (scaled**2).sum()))


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
    ascent = Ascent(matrix[counted] / scale, _most(epsilon), objective)
    best = ascent.run(start.row_weights[counted], start.column_weights, max_iterations, should_stop)
    weights = np.zeros(len(matrix))
    weights[counted] = best.rows
    value = max(0.0, best.value) * scale**2
    return TraceBound(
        value=value, query_weights=weights, type_weights=best.columns, objective=objective, epsilon=epsilon
    )


def ascended_weights(matrix: Floats, epsilon: float, objective: Objective) -> tuple[Floats, Floats]:
    """ρ (Q,) and π (k,) of a bound on W (Q, k), ascended from even weights; ρ stays even for the mean."""
    queries, types = matrix.shape
    ascent = Ascent(matrix, _most(epsilon), objective)
    best = ascent.run(np.full(queries, 1 / queries), np.full(types, 1 / types), TRACE.ascents, lambda: False)
    return best.rows, best.columns


@dataclass(frozen=True, eq=False, kw_only=True)
class AscentPoint:
    rows: Floats
    columns: Floats
    value: float
    row_slopes: Floats
    column_slopes: Floats


def _most(epsilon: float) -> float:
    """The most that tr X − 1 can be."""
    return float(np.sinh(epsilon / 2) ** 2)


class Ascent:
    """‖A‖_*²/most − ‖A‖_F² over weights of the rows and columns of a matrix; for the mean rows keep theirs."""

    def __init__(self, matrix: Floats, most: float, objective: Objective) -> None:
        self.matrix, self.objective, self.most = matrix, objective, most

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

    def _evaluate(self, rows: Floats, columns: Floats) -> AscentPoint:
        """The bound and its slopes: ∂‖A‖_*²/∂ρ_q = ‖A‖_*‖L_q‖², likewise for π, up to a constant on the simplex."""
        spread = self.matrix - (self.matrix @ columns)[:, None]
        spectrum = weighted_spectrum(spread, rows, columns)
        nuclear, squares = spectrum.nuclear_norm, spread**2
        row_slopes = nuclear * spectrum.row_squares() / self.most - squares @ columns
        column_slopes = nuclear * spectrum.column_squares() / self.most - rows @ squares
        value = nuclear**2 / self.most - float(rows @ squares @ columns)
        return AscentPoint(rows=rows, columns=columns, value=value, row_slopes=row_slopes, column_slopes=column_slopes)

    def _step(self, point: AscentPoint, exponent: float) -> AscentPoint:
        columns = _reweighted(point.columns, point.column_slopes, exponent)
        rows = point.rows
        if self.objective == "max":
            rows = _reweighted(rows, point.row_slopes, exponent)
        return self._evaluate(rows, columns)


def _reweighted(weights: Floats, slopes: Floats, exponent: float) -> Floats:
    # A constant added to all slopes changes nothing on the simplex, and makes them positive where ε is large.
    positive = slopes + max(0.0, -2.0 * float(slopes.min())) + np.finfo(float).tiny
    moved = weights * (positive / positive.max()) ** exponent
    floored = np.maximum(moved / moved.sum(), _WEIGHT_FLOOR / len(moved))
    return np.asarray(floored / floored.sum())
