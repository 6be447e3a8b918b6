"""A sharper lower bound for odd workloads: an involution σ of the types takes every centred query to its negative.

Labels y = ±1 make such workloads: σ(x, y) = (x, −y) for queries y·c(x). Thresholds and intervals with their
complements, parities of odd sets and one-way marginals of two members are others.

With type weights π that σ keeps, queries see only the odd part u⁻ = (u(x) − u(σx))/2 of an output's likelihood ratios
u ∈ [a, a·e^ε], E_π u = 1. Where m is the mean of a pair, (u⁻)² ≤ min(m − a, a·e^ε − m)². Its concave envelope at
E m = 1 is ½(e^ε − 1)a·min(1 − a, a·e^ε − 1), whose maximum over a is

    s²(ε) = tanh²(ε/2) for ε ≤ ln 3, and (e^ε − 1)/8 above.

So the odd block of the information matrix has a trace of at most s², where the trace bound has sinh²(ε/2) for all of
it, and its eigenvalues are at most tanh²(ε/2) as those of the whole are. The inverse's odd block is at least the
inverse of the odd block (Schur), and the rest is as in the trace bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.bounds.information import InformationLimits, information_limits, least_variance
from sordino_analysis.optimisation.bounds.trace import Ascent, check_weights
from sordino_analysis.optimisation.bounds.tuning import ODD
from sordino_analysis.optimisation.factorization import Factorization, counted_rows
from sordino_analysis.questions.linear.operators import Indices
from sordino_analysis.request_terms import Objective
from sordino_shared.errors import InvalidValue

# Of the largest entry: what two centred columns may differ by and still be negatives of each other.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Oddness:
    """c (Q,) and σ as `partner` (k,): W_qx − c_q = −(W_qσ(x) − c_q) for every query and type."""

    centre: Floats
    partner: Indices


def oddness(matrix: Floats) -> Oddness | None:
    """The centre and an involution of the types under which W (Q, k) is odd; None where there is none.

    σ permutes the types, so c is the plain mean of the columns, and the centred columns and their negatives are the
    same up to order: sorted by their products with one random vector they meet.
    """
    centre = matrix.mean(axis=1)
    centred = matrix - centre[:, None]
    scale = float(np.abs(centred).max())
    if scale == 0:
        return None
    probe = np.random.Generator(np.random.PCG64(0)).uniform(0.5, 1.0, len(matrix))
    keys = np.rint((probe / np.linalg.norm(probe)) @ centred / (_ROUNDING * scale))
    there, back = np.argsort(keys, kind="stable"), np.argsort(-keys, kind="stable")
    partner = np.empty_like(there)
    partner[back] = there
    if (partner[partner] != np.arange(len(partner))).any():
        return None
    fits = np.abs(centred + centred[:, partner]).max() <= 10 * _ROUNDING * scale
    return Oddness(centre, partner) if fits else None


def largest_odd_trace(epsilon: float) -> float:
    """s²(ε), the most that an ε-LDP kernel's odd information has as its trace."""
    return math.tanh(epsilon / 2) ** 2 if epsilon <= math.log(3) else math.expm1(epsilon) / 8


def recheck_odd(matrix: Floats, epsilon: float, query_weights: Floats, type_weights: Floats) -> float | None:
    """Σ σ_i²(1/x_i − 1) of the singular values σ of A = D_ρ^½ (W − c1ᵀ) D_π^½; None where W is not odd.

    x_i = min(tanh²(ε/2), μσ_i) with Σx_i ≤ s²(ε): where no x_i is at its limit, ‖A‖_*²/s²(ε) − ‖A‖_F². π is averaged
    with its reflection under σ first. Raises InvalidValue for weights that are negative or do not sum to 1.
    `matrix` W (Q, k), `query_weights` ρ (Q,), `type_weights` π (k,).
    """
    check_weights(query_weights, type_weights)
    odd = oddness(matrix)
    if odd is None:
        return None
    types = (type_weights + type_weights[odd.partner]) / 2
    scaled = np.sqrt(query_weights)[:, None] * (matrix - odd.centre[:, None]) * np.sqrt(types)
    return least_variance(np.asarray(np.linalg.svd(scaled, compute_uv=False)), odd_limits(epsilon))


def odd_limits(epsilon: float) -> InformationLimits:
    """Those of the odd block of an ε-LDP kernel's information matrix."""
    return information_limits(epsilon, largest_odd_trace(epsilon))


@dataclass(frozen=True, eq=False, kw_only=True)
class FoundOddBound:
    """`value` ≤ Σ ρ_q π_x Var_q(x) for the mechanisms that the trace bound speaks of; `recheck_odd` makes it again."""

    value: float
    query_weights: Floats
    type_weights: Floats


def odd_bound(matrix: Floats, epsilon: float, objective: Objective, start: Factorization) -> FoundOddBound | None:
    """The bound of `recheck_odd`, maximised over π and, for "max", over ρ; None where W (Q, k) is not odd.

    It begins at the dual weights of `start` and ascends as the trace bound does. Raises InvalidValue where `start` is
    no centred factorization for the same objective.
    """
    odd = oddness(matrix)
    if odd is None:
        return None
    if start.objective != objective or not start.centred:
        raise InvalidValue(f'start the "{objective}" bound at a centred factorization of the same matrix', start)
    counted = counted_rows(matrix, centred=True)
    scale = float(np.ptp(matrix, axis=1).max())
    centred = (matrix - odd.centre[:, None])[counted] / scale
    columns = (start.column_weights + start.column_weights[odd.partner]) / 2
    ascent = Ascent(centred, odd_limits(epsilon), objective)
    best = ascent.run(start.row_weights[counted], columns, ODD.most_iterations, lambda: False)
    weights = np.zeros(len(matrix))
    weights[counted] = best.rows
    types = (best.columns + best.columns[odd.partner]) / 2
    value = recheck_odd(matrix, epsilon, weights, types / types.sum())
    assert value is not None, "the workload is odd"
    return FoundOddBound(value=value, query_weights=weights, type_weights=types / types.sum())
