"""A lower bound from the doubly non-negative relaxation of the rows of a kernel: tighter than the trace bound.

Let u be an output's likelihood ratios under type weights π: πᵀu = 1 and, over the outputs, E u = 1. Take a symmetric
R′ with uᵀR′u ≤ 0 for every row of an ε-LDP kernel and zᵀR′z ≥ 0 whenever πᵀz = 0. With u = 1 + z, E z = 0 gives
0 ≥ E uᵀR′u = 1ᵀR′1 + E zᵀR′z, so the spread E zᵀR′z of the ratios is at most t = −1ᵀR′1. The best unbiased decoder
of A = D_ρ^½ (W − Wπ1ᵀ) has the averaged second moment tr(A X⁺ Aᵀ), X = E zzᵀ, and by Cauchy–Schwarz
tr(A X⁺ Aᵀ)·tr(R′X) ≥ (tr (A R′ Aᵀ)^½)². Hence

    Σ ρ_q π_x Var_q(x)  ≥  (tr (A R′ Aᵀ)^½)² / t − ‖A D_π^½‖_F².

R′ = D_π − cosh²(ε/2) ππᵀ is the trace bound without its limit on eigenvalues. Here R′ comes from non-negative
multipliers of products of the bounds a ≤ u_x ≤ e^ε·a (see `row_forms`): the dual of a doubly non-negative relaxation of
the moments E (u,a)(u,a)ᵀ.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sordino_analysis.arrays import SUM_TOLERANCE, Floats
from sordino_analysis.optimisation.bounds.dual_ascent import DualAscent, DualPoint
from sordino_analysis.optimisation.bounds.row_forms import RowForm, row_form
from sordino_analysis.optimisation.bounds.trace import recheck, trace_bound
from sordino_analysis.optimisation.bounds.tuning import LARGEST_EPSILON, LARGEST_TYPES, PAIR_BOUND
from sordino_analysis.optimisation.factorization import Factorization, counted_rows, factorize
from sordino_analysis.request_terms import Objective
from sordino_shared.errors import InvalidValue

# What double precision loses in sums of a few thousand terms, relative to the largest of them.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, kw_only=True)
class DoublyNonnegativeBound:
    """`value` ≤ Σ ρ_q π_x Var_q(x) for every mechanism that the bound speaks of, so ≤ its objective.

    It speaks of the mechanisms of `TraceBound`. The four arrays are the certificate: `recheck_doubly_nonnegative`
    makes the value of them again, whatever solver found them. `levels` (k,) and `pairs` (k, k) multiply
    products of bounds; only x < y is used of the pairs.
    """

    value: float
    query_weights: Floats
    type_weights: Floats
    levels: Floats
    pairs: Floats
    objective: Objective
    epsilon: float


def recheck_doubly_nonnegative(
    matrix: Floats,
    epsilon: float,
    query_weights: Floats,
    type_weights: Floats,
    levels: Floats,
    pairs: Floats,
) -> float:
    """The bound that these weights and multipliers prove, or that of `trace.recheck` for the weights if it is larger.

    Any weights on the simplex and any non-negative multipliers do. R′ is lifted until it is non-negative on
    πᵀz = 0 with the rounding of its eigenvalues counted in: a lift of δ costs δ·k(e^ε − 1) of spread, since u_x ≤ e^ε
    and E u_x = 1. Raises InvalidValue for numbers that are not a certificate.
    `matrix` W (Q, k), `query_weights` ρ (Q,), `type_weights` π (k,), `levels` (k,), `pairs` (k, k).
    """
    _check_epsilon(epsilon)
    _check_weights(matrix, query_weights, type_weights)
    _check_multipliers(matrix.shape[1], levels, pairs)
    of_form = _of_form(matrix, row_form(levels, pairs, epsilon), epsilon, query_weights, type_weights)
    return max(of_form, recheck(matrix, epsilon, query_weights, type_weights))


def _of_form(matrix: Floats, form: RowForm, epsilon: float, query_weights: Floats, type_weights: Floats) -> float:
    """The bound that R′ proves, or 0 where it proves nothing."""
    if form.level <= 0:
        return 0.0
    reduced, rounding = form.reduced(), _ROUNDING * form.magnitude()
    centring = np.eye(len(reduced)) - np.outer(np.ones(len(reduced)), type_weights)
    eigenvalues, basis = np.linalg.eigh(centring.T @ reduced @ centring)
    lift = max(0.0, -float(eigenvalues[0])) + rounding * float((centring**2).sum())
    spread = -reduced.sum() + len(reduced) * (rounding + lift * float(np.expm1(epsilon)))
    scaled = np.sqrt(query_weights)[:, None] * (matrix @ centring.T)
    nuclear = np.linalg.svd(scaled @ basis * np.sqrt(np.maximum(eigenvalues, 0.0)), compute_uv=False).sum()
    second, first = nuclear**2 / spread, float((scaled**2).sum(axis=0) @ type_weights)
    return max(0.0, float(second - first - _ROUNDING * (second + first)))


def doubly_nonnegative_bound(
    matrix: Floats,
    epsilon: float,
    objective: Objective = "max",
    start: Factorization | None = None,
    *,
    tolerance: float = PAIR_BOUND.tolerance,
    evaluations: int = PAIR_BOUND.most_evaluations,
    should_stop: Callable[[], bool] = lambda: False,
) -> DoublyNonnegativeBound:
    """The bound of `recheck_doubly_nonnegative`, maximised over multipliers, π and, for "max", ρ; up to 128 types.

    Climbs from near the weights of `start`, a centred factorization for the objective (found where not given), then
    of its trace bound, and is never below that. A climb ends when it gains less than `tolerance` of the value over
    some dozens of steps, after its share of `evaluations`, or once `should_stop()`; every step is a bound, and the
    best is returned. For "max" it is the best over product weights ρ_q·π_x; the worst type of each query may differ.

    Raises InvalidValue for more than 128 types or ε outside (0, 16]. `matrix` W (Q, k).
    """
    _check_epsilon(epsilon)
    types = matrix.shape[1]
    if types > LARGEST_TYPES:
        raise InvalidValue(f"this bound is for at most {LARGEST_TYPES} types: use the trace bound", matrix.shape)
    if start is None:
        start = factorize(matrix, objective, PAIR_BOUND.start_gap)
    trace = trace_bound(matrix, epsilon, objective, start)
    points = [DualPoint(trace.type_weights, np.zeros((types, types)), trace.query_weights, trace.type_weights)]
    # The bound is not concave in π: each start is the better one of some workloads.
    starts = [
        (
            _mixed(start.row_weights, PAIR_BOUND.factorization_share),
            _mixed(start.column_weights, PAIR_BOUND.factorization_share),
        )
    ]
    # Weights that prove nothing are no start: climbs from there never came to a bound above 0.
    if trace.value > 0:
        starts.append(
            (_mixed(trace.query_weights, PAIR_BOUND.trace_share), _mixed(trace.type_weights, PAIR_BOUND.trace_share))
        )
    for begun in starts:
        allowed = evaluations // len(starts)
        points.append(_ascend(matrix, epsilon, objective, *begun, tolerance, allowed, should_stop))
    bounds = [_proved(matrix, epsilon, objective, point) for point in points]
    return max(bounds, key=lambda bound: bound.value)


def _ascend(
    matrix: Floats,
    epsilon: float,
    objective: Objective,
    rows: Floats,
    columns: Floats,
    tolerance: float,
    evaluations: int,
    should_stop: Callable[[], bool],
) -> DualPoint:
    """The best point for the queries that vary, scaled; for "mean" no more queries than types stand for them."""
    counted = counted_rows(matrix, centred=True)
    scaled = matrix[counted] - matrix[counted].mean(axis=1, keepdims=True)
    scaled /= float(np.ptp(scaled, axis=1).max())
    queries, types = scaled.shape
    if objective == "mean" and queries > types:
        scaled = np.linalg.qr(scaled, mode="r") * np.sqrt(types / queries)
    inner = rows[counted] if objective == "max" else np.ones(len(scaled))
    optimum = DualAscent(scaled, epsilon, objective).run(
        inner / inner.sum(), columns, tolerance, evaluations, should_stop
    )
    weights = np.zeros(len(matrix))
    weights[counted] = optimum.rows if objective == "max" else 1.0 / queries
    return replace(optimum, rows=weights)


def _proved(matrix: Floats, epsilon: float, objective: Objective, point: DualPoint) -> DoublyNonnegativeBound:
    value = recheck_doubly_nonnegative(matrix, epsilon, point.rows, point.columns, point.levels, point.pairs)
    return DoublyNonnegativeBound(
        value=value,
        query_weights=point.rows,
        type_weights=point.columns,
        levels=point.levels,
        pairs=point.pairs,
        objective=objective,
        epsilon=epsilon,
    )


def _mixed(weights: Floats, share: float) -> Floats:
    return np.asarray((1 - share) * weights + share / len(weights))


def _check_epsilon(epsilon: float) -> None:
    if not 0 < epsilon <= LARGEST_EPSILON:
        raise InvalidValue(f"ε must be positive and at most {LARGEST_EPSILON:g} for this bound, got {epsilon}", epsilon)


def _check_weights(matrix: Floats, query_weights: Floats, type_weights: Floats) -> None:
    if matrix.shape != (len(query_weights), len(type_weights)):
        raise InvalidValue("a bound has one weight for every query and one for every type", matrix.shape)
    for weights in (query_weights, type_weights):
        if not (weights >= 0).all() or not abs(weights.sum() - 1.0) <= SUM_TOLERANCE:
            raise InvalidValue("the weights of a bound are non-negative and sum to 1", weights)


def _check_multipliers(types: int, levels: Floats, pairs: Floats) -> None:
    if levels.shape != (types,) or pairs.shape != (types, types):
        raise InvalidValue(f"multipliers are {types} for the levels and {types}×{types} for the pairs", pairs.shape)
    for array in (levels, pairs):
        if not (np.isfinite(array).all() and (array >= 0).all()):
            raise InvalidValue("multipliers are finite and not negative", array)
