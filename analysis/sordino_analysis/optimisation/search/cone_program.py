"""The best weights and decoder of given staircase rows by a cone program; with all rows, the optimum.

With row weights θ and f_qy = V_qy·θ_y the second moment Σ_y v_yx f_qy²/θ_y is convex in (θ, f) together, so the least
maximum over types, of every query or of their mean, is a second-order cone program: no type weights have to be guessed.
"""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.reshape import reshape
from cvxpy.atoms.affine.vstack import vstack

from sordino_analysis.arrays import Floats, Mask
from sordino_analysis.optimisation.search.balanced_rows import balanced_weights
from sordino_analysis.request_terms import Objective
from sordino_shared.errors import SordinoError

# The optimum has many supports, and beyond these the solver stalls on that.
_TOLERANCES = {"tol_gap_abs": 1e-7, "tol_gap_rel": 1e-6, "tol_feas": 1e-8}
# Rows of less than this share of the weight are the solver's zeros.
_NEGLIGIBLE = 1e-7


class ConeProgramFailed(SordinoError):
    """The solver found no weights; the message has its word for it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ConeDesign:
    """Sets `members` (m, k) at the upper level under weights `low` (m,) that balance, and the decoder (Q, m) of W.

    `type_weights` π (k,) are what the types weigh in the worst case. Λ (·, k) and λ (k,) price the rows for "mean": one
    that is not among the sets lowers the worst variance iff ‖Λv‖²/(πᵀv) > λᵀv.
    """

    members: Mask
    low: Floats
    decoder: Floats
    type_weights: Floats
    answer_prices: Floats
    column_prices: Floats


def all_sets(types: int) -> Mask:
    """(2^k − 1, k) every set but the empty one; the full set is the uninformative row."""
    return np.asarray((np.arange(1, 2**types)[:, None] >> np.arange(types)) & 1, dtype=bool)


def solve_cone_program(matrix: Floats, members: Mask, epsilon: float, objective: Objective) -> ConeDesign:
    """min over θ ≥ 0 with Σ_y θ_y v_y = 1 and decoders VK = W of the worst variance, for W (Q, k) and sets (m, k).

    "max" is over queries and types, "mean" over types of the mean over queries. Raises ConeProgramFailed.
    """
    levels = np.where(members, np.exp(epsilon), 1.0)
    units = levels.mean(axis=1)
    # A constant added to a query changes no variance, and the solver likes its numbers near one.
    middle, scale = matrix.mean(axis=1, keepdims=True), float(np.ptp(matrix, axis=1).max())
    turn, target = np.eye(len(matrix)), (matrix - middle) / scale
    if objective == "mean" and len(matrix) > len(matrix.T):
        # The mean depends on W through WᵀW alone.
        turn, target = np.linalg.qr(target)
    found = _solved(target, levels / units[:, None], objective)
    weights, decoded = found.weights, found.decoded
    kept = weights > _NEGLIGIBLE * weights.sum()
    try:
        low = balanced_weights(levels[kept], weights[kept] / units[kept])
    except (ValueError, np.linalg.LinAlgError) as error:
        raise ConeProgramFailed(f"what the solver found does not balance ({error})") from error
    decoder = turn @ (decoded[:, kept] / weights[kept]) * scale + middle
    return ConeDesign(
        members=members[kept],
        low=low,
        decoder=decoder,
        type_weights=found.by_type / found.by_type.sum(),
        answer_prices=-found.by_answer / 2,
        column_prices=found.by_column,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _Solution:
    """θ (m,) and f (Q, m) for rows of mean one, and the multipliers of types, of VK = W and of the columns."""

    weights: Floats
    decoded: Floats
    by_type: Floats
    by_answer: Floats
    by_column: Floats


def _solved(target: Floats, rows: Floats, objective: Objective) -> _Solution:
    queries, outputs = len(target), len(rows)
    weights, decoded, worst = cp.Variable(outputs), cp.Variable((queries, outputs)), cp.Variable()
    balance, unbiased = rows.T @ weights == 1, decoded @ rows == target
    constraints = [balance, unbiased]
    if objective == "max":
        squares = cp.Variable((queries, outputs))
        for query in range(queries):
            sides = vstack([2 * decoded[query], squares[query] - weights])
            constraints.append(cp.SOC(squares[query] + weights, sides, axis=0))
        by_type = squares @ rows - target**2 <= worst
    else:
        sums = cp.Variable(outputs)
        sides = vstack([2 * decoded, reshape(sums - weights, (1, outputs), order="C")])
        constraints.append(cp.SOC(sums + weights, sides, axis=0))
        by_type = sums @ rows - (target**2).sum(axis=0) <= worst
    problem = cp.Problem(cp.Minimize(worst), [*constraints, by_type])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with contextlib.suppress(cp.SolverError):
            problem.solve(solver="CLARABEL", **_TOLERANCES)
    found = [weights.value, decoded.value, by_type.dual_value, unbiased.dual_value, balance.dual_value]
    if any(value is None or not np.isfinite(value).all() for value in found):
        raise ConeProgramFailed(f"the cone program for the rows' weights ended {problem.status}")
    by_type_weights = np.maximum(found[2], 1e-12).reshape(-1, target.shape[1]).sum(axis=0)
    return _Solution(
        weights=np.maximum(found[0], 0.0),
        decoded=found[1],
        by_type=by_type_weights,
        by_answer=found[3],
        by_column=found[4],
    )
