"""A factorization W = LᵀR + c1ᵀ together with the weights that prove how good it is."""

from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import NEARLY_ZERO, Floats, Mask, varying_rows
from sordino_analysis.request_terms import Objective
from sordino_shared.errors import InvalidValue

# Certificates are sums of at most a few thousand singular values: their rounding is far below this.
CERTIFICATE_TOLERANCE = 1e-9


class FactorizationError(InvalidValue):
    """The matrix cannot be factorized, or a factorization fails its certificate; the message names the check."""

    code = "factorization-error"
    advice = "plan again; do not use this factorization"


@dataclass(frozen=True, eq=False, kw_only=True)
class Factorization:
    """W = LᵀR + c1ᵀ with lower ≤ γ(W) ≤ upper, where γ is γ₂ for "max" and γ_F for "mean".

    `left` L is r×Q, `right` R is r×k, `centre` c has one entry a query (zero where nothing was centred).
    `upper` is max‖L_q‖·max‖R_x‖, or for "mean" the root mean square of ‖L_q‖ over the counted queries times
    max‖R_x‖. `row_weights` u and `column_weights` v are the dual point: `dual_value(W, u, v, centred)` is at
    least `lower`, and no factorization (whatever its centre, when `centred`) attains less than that.
    """

    left: Floats
    right: Floats
    centre: Floats
    row_weights: Floats
    column_weights: Floats
    objective: Objective
    centred: bool
    lower: float
    upper: float
    iterations: int

    def __post_init__(self) -> None:
        rank, queries, size = self.left.shape[0], self.left.shape[1], self.right.shape[1]
        if self.right.shape[0] != rank:
            raise FactorizationError(f"L has {rank} rows and R has {self.right.shape[0]}: they must agree", self)
        if self.centre.shape != (queries,) or self.row_weights.shape != (queries,):
            raise FactorizationError(f"centre and row weights need an entry for each of {queries} queries", self)
        if self.column_weights.shape != (size,):
            raise FactorizationError(f"the column weights need an entry for each of {size} types", self)
        if not 0.0 < self.lower <= self.upper * (1 + CERTIFICATE_TOLERANCE):
            raise FactorizationError(f"bounds {self.lower} and {self.upper} enclose no positive value", self)

    @property
    def rank(self) -> int:
        """The number r of rows of L and R, the dimension of what a device reports."""
        return int(self.left.shape[0])

    @property
    def gap(self) -> float:
        """upper / lower − 1, the certified distance from the best factorization."""
        return self.upper / self.lower - 1.0

    def product(self) -> Floats:
        """LᵀR + c1ᵀ, which is W up to floating-point rounding. Shape (Q, k)."""
        return self.left.T @ self.right + self.centre[:, None]


def counted_rows(matrix: Floats, centred: bool) -> Mask:
    """The rows that cost something: not constant when a centre is free, not zero otherwise. `matrix` (Q, k) → (Q,)."""
    return varying_rows(matrix) if centred else np.asarray(matrix.any(axis=1))


def dual_value(matrix: Floats, row_weights: Floats, column_weights: Floats, centred: bool) -> float:
    """‖D_u^½ (W − Wv1ᵀ) D_v^½‖_*: for any u, v on the simplex a lower bound on γ₂ of W with a free centre.

    Without `centred` the matrix is W itself. With u uniform over the counted rows it bounds γ_F. The centre
    c = Wv is the best one against (u, v): removing √v from the row space never adds to the norm.
    """
    centre = matrix @ column_weights if centred else np.zeros(len(matrix))
    scaled = np.sqrt(row_weights)[:, None] * (matrix - centre[:, None]) * np.sqrt(column_weights)
    return float(np.linalg.svd(scaled, compute_uv=False).sum())


def primal_value(left: Floats, right: Floats, objective: Objective, counted: Mask) -> float:
    """max‖L_q‖·max‖R_x‖, or for "mean" the root mean square of ‖L_q‖ over counted rows times max‖R_x‖.

    `left` L (r, Q), `right` R (r, k), `counted` (Q,).
    """
    rows = (left[:, counted] ** 2).sum(axis=0)
    spent = rows.max() if objective == "max" else rows.mean()
    return float(np.sqrt(spent * (right**2).sum(axis=0).max()))


def check_certificate(matrix: Floats, factorization: Factorization) -> None:
    """Raise FactorizationError unless LᵀR + c1ᵀ = W, (u, v) proves `lower` and (L, R) attains `upper`."""
    f = factorization
    if matrix.shape != (f.left.shape[1], f.right.shape[1]):
        raise FactorizationError(f"the matrix is {matrix.shape}, the factors are of another workload", f)
    counted = counted_rows(matrix, f.centred)
    _check_weights(f, counted)
    if not f.centred and f.centre.any():
        raise FactorizationError("the factorization claims to have no centre and carries one", f)
    error = np.abs(f.product() - matrix).max()
    if not error <= CERTIFICATE_TOLERANCE * np.abs(matrix).max():
        raise FactorizationError(f"LᵀR + c1ᵀ differs from W by {error}", f)
    lower = dual_value(matrix, f.row_weights, f.column_weights, f.centred)
    if not lower >= f.lower * (1 - CERTIFICATE_TOLERANCE):
        raise FactorizationError(f"the weights prove {lower}, less than the lower bound {f.lower} claimed", f)
    upper = primal_value(f.left, f.right, f.objective, counted)
    if not upper <= f.upper * (1 + CERTIFICATE_TOLERANCE):
        raise FactorizationError(f"the factors attain {upper}, more than the upper bound {f.upper} claimed", f)


def _check_weights(f: Factorization, counted: Mask) -> None:
    for weights in (f.row_weights, f.column_weights):
        if not (weights >= 0).all() or not abs(weights.sum() - 1.0) <= CERTIFICATE_TOLERANCE:
            raise FactorizationError("the dual weights are not non-negative with sum 1", f)
    uniform = counted / counted.sum()
    if f.objective == "mean" and not np.allclose(f.row_weights, uniform, rtol=NEARLY_ZERO, atol=0):
        raise FactorizationError('for "mean" the row weights are uniform over the rows that cost something', f)
