"""The best weights and decoder of given staircase rows by a cone program; with all rows, the optimum.

With row weights θ and f_qy = V_qy·θ_y the second moment Σ_y v_yx f_qy²/θ_y is convex in (θ, f) together, so the least
maximum over types, of every query or of their mean, is a second-order cone program: no type weights have to be guessed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sordino_analysis.arrays import NEARLY_ZERO, Floats, Mask
from sordino_analysis.optimisation.conic_program import Affine, ConicProgram
from sordino_analysis.optimisation.search.balanced_rows import balanced_weights
from sordino_analysis.optimisation.search.tuning import CONE_COLUMNS
from sordino_analysis.request_terms import Objective
from sordino_shared.errors import SordinoError

# Rows of less than this share of the weight are the solver's zeros.
_NEGLIGIBLE = 1e-7


class ConeProgramFailed(SordinoError):
    """The solver found no weights; the message has its word for it."""

    code = "cone-program-failed"
    advice = "plan with another mechanism, or with another ε"


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
    solution = _solved(target, levels / units[:, None], objective)
    weights, decoded = solution.weights, solution.decoded
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
        type_weights=solution.by_type / solution.by_type.sum(),
        answer_prices=solution.by_answer / 2,
        column_prices=-solution.by_column,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _Solution:
    """θ (m,) and f (Q, m) for rows of mean one, and the prices of types, of VK = W and of the columns."""

    weights: Floats
    decoded: Floats
    by_type: Floats
    by_answer: Floats
    by_column: Floats


def _solved(target: Floats, rows: Floats, objective: Objective) -> _Solution:
    (queries, types), outputs = target.shape, len(rows)
    identity = sparse.eye_array(outputs)
    # Queries whose squares have one variable a row: "max" compares them, "mean" adds them.
    groups = [[query] for query in range(queries)] if objective == "max" else [list(range(queries))]
    sizes = {"weights": outputs, "decoded": queries * outputs, "squares": len(groups) * outputs, "worst": 1}
    program = ConicProgram(sizes, {"worst": np.ones(1)})
    balance = program.zero(Affine({"weights": rows.T}, -1.0))
    unbiased = program.zero(Affine({"decoded": sparse.kron(np.eye(queries), rows.T)}, -target.ravel()))
    for number, group in enumerate(groups):
        # Σ f² ≤ square · θ
        square = _places(number, len(groups), outputs)
        decoded = [Affine({"decoded": 2 * _places(query, queries, outputs)}) for query in group]
        above, below = ({"squares": square, "weights": sign * identity} for sign in (1, -1))
        program.second_order([Affine(above), *decoded, Affine(below)])
    moments = sparse.kron(np.eye(len(groups)), rows.T)
    means = np.array([(target[group] ** 2).sum(axis=0) for group in groups]).ravel()
    by_type = program.not_negative(Affine({"squares": -moments, "worst": np.ones((len(means), 1))}, means))
    solution = program.solve(**CONE_COLUMNS.tolerances)
    if not solution.values:
        raise ConeProgramFailed(f"the cone program for the rows' weights ended {solution.status}")
    return _Solution(
        weights=np.maximum(solution.values["weights"], 0.0),
        decoded=solution.values["decoded"].reshape(queries, outputs),
        by_type=np.maximum(solution.prices[by_type], NEARLY_ZERO).reshape(-1, types).sum(axis=0),
        by_answer=solution.prices[unbiased].reshape(queries, types),
        by_column=solution.prices[balance],
    )


def _places(number: int, count: int, size: int) -> sparse.csr_array:
    """(size, count · size) picks the part of this number out of `count` parts."""
    return sparse.kron(np.eye(count)[number : number + 1], sparse.eye_array(size), format="csr")
