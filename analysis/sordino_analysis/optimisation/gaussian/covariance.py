"""The least total variance of Gaussian noise under which every pair of neighbours is at distance at most 1.

Noise of covariance Σ/2ρ on the answers W·counts is ρ-zCDP iff yᵀΣ⁻¹y ≤ 1 for every difference y of neighbouring
answers. The least tr Σ is Q·γ², and by duality (Edmonds, Nikolov and Ullman 2020, Sections 2.5 and 5)

    √Q γ = max over P of tr (W L_P Wᵀ)^½,

with L_P = Σ P_xx′ (e_x − e_x′)(e_x − e_x′)ᵀ and P on pairs of types for `replace`, and L_P = diag(P) with P on the
types for `add-remove`. Every P proves its value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import SUM_TOLERANCE, Floats, Mask
from sordino_analysis.optimisation.gaussian.tuning import COVARIANCE
from sordino_analysis.request_terms import Neighbours
from sordino_shared.errors import InvalidValue

Indices = NDArray[np.int64]

# Singular values below this share of the largest are zero up to rounding; a Gram matrix squares it.
_RANK_TOLERANCE = 1e-10
# The same of the roots that a Gram matrix gives.
_GRAM_RANK_TOLERANCE = 1e-6
# Of the largest: smaller eigenvalues are rounding, and roots of negative ones are none.
_EIGENVALUE_FLOOR = 1e-13


@dataclass(frozen=True, eq=False, kw_only=True)
class GaussianOptimum:
    """lower ≤ γ(W) ≤ upper, where upper²·Q is the trace of `covariance`.

    `covariance` (r, r) is of the coordinates U ᵀ(W − centre) for the orthonormal `basis` U (Q, r). `weights` P proves
    `lower` alone, by `dual_value`: (k, k) and symmetric with sum 2 for `replace`, (k,) with sum 1 for `add-remove`.
    """

    neighbours: Neighbours
    basis: Floats
    covariance: Floats
    weights: Floats
    lower: float
    upper: float
    iterations: int

    @property
    def gap(self) -> float:
        """upper/lower − 1, the proved distance from the best noise."""
        return self.upper / self.lower - 1


def optimal_covariance(
    matrix: Floats,
    neighbours: Neighbours = "replace",
    gap: float = COVARIANCE.gap,
    max_iterations: int = COVARIANCE.most_steps,
    should_stop: Callable[[], bool] = lambda: False,
    near: Floats | None = None,
) -> GaussianOptimum:
    """The covariance of least mean variance, to within 1 + gap in standard deviation; `matrix` (Q, k).

    The search starts `near` weights P that were best for a similar matrix, or from equal ones.

    P ← P·(D/tr S^½)^η with S = W L_P Wᵀ and D_xx′ = (w_x−w_x′)ᵀ S^(−½) (w_x−w_x′); S^½·max D is feasible. Stops at the
    gap, or after `max_iterations` or once `should_stop()`, with the gap proved by then. Raises InvalidValue for a
    matrix that is not finite, or where no neighbours have different answers.
    """
    _check(matrix, gap, max_iterations)
    basis, reduced = reduced_rows(matrix, neighbours)
    size = matrix.shape[1]
    start = np.full(size, 1 / size) if neighbours == "add-remove" else _equal(~np.eye(size, dtype=bool))
    if near is not None:
        # Weights that are zero stay zero, so that all get some.
        start = COVARIANCE.near * near + (1 - COVARIANCE.near) * start
    best, lowest, iterations = _ascended(reduced, start, gap, max_iterations, should_stop)
    scale = 1 / np.sqrt(len(matrix))
    proof = _sparse(reduced, best)
    return GaussianOptimum(
        neighbours=neighbours,
        basis=basis,
        covariance=lowest.covariance(),
        weights=proof.weights,
        lower=proof.trace * scale,
        upper=lowest.upper * scale,
        iterations=iterations,
    )


def proof_from_types(
    matrix: Floats,
    present: Indices,
    gap: float = COVARIANCE.gap,
    max_iterations: int = COVARIANCE.most_steps,
    should_stop: Callable[[], bool] = lambda: False,
) -> Floats:
    """(k, k) weights P of pairs with a member in `present` (m,), whose `dual_value` is nearly the most there is.

    Once `should_stop()` they are the best so far, and prove what their `dual_value` says.

    Raises InvalidValue for a matrix that is not finite, or where no such pair has different answers.
    """
    _check(matrix, gap, max_iterations)
    _, reduced = reduced_rows(matrix, "replace")
    allowed = np.zeros((matrix.shape[1],) * 2, dtype=bool)
    allowed[present, :] = allowed[:, present] = True
    np.fill_diagonal(allowed, False)
    if not allowed.any():
        raise InvalidValue("no pair of types has a member among those present", present)
    return _ascended(reduced, _equal(allowed), gap, max_iterations, should_stop)[0].weights


def dual_value(matrix: Floats, weights: Floats) -> float:
    """tr (W L_P Wᵀ)^½/√Q ≤ γ(W), from the matrix (Q, k) and P alone: (k, k) on pairs, or (k,) on types.

    Raises InvalidValue for weights that are negative, asymmetric or of another sum.
    """
    on_pairs = weights.ndim == 2
    size = matrix.shape[1]
    if weights.shape != ((size, size) if on_pairs else (size,)) or not (weights >= 0).all():
        raise InvalidValue("the weights of a proof are not negative, one for each type or pair of types", weights)
    if on_pairs and not (np.array_equal(weights, weights.T) and (np.diag(weights) == 0).all()):
        raise InvalidValue("the weights of pairs are symmetric, and zero where a type is paired with itself", weights)
    if abs(weights.sum() - (2 if on_pairs else 1)) > SUM_TOLERANCE:
        raise InvalidValue("the weights of a proof sum to 1", weights)
    if on_pairs:
        matrix = matrix - matrix.mean(axis=1, keepdims=True)
        gram = np.diag(weights.sum(axis=1)) - weights
    else:
        gram = np.diag(weights)
    roots = np.linalg.eigvalsh(gram)
    if len(matrix) <= size:
        squares = np.linalg.eigvalsh(matrix @ gram @ matrix.T)
    else:
        values, vectors = np.linalg.eigh(gram)
        half = vectors * np.sqrt(values.clip(0))
        squares = np.linalg.eigvalsh(half.T @ (matrix.T @ matrix) @ half)
    # Rounding of an eigenvalue is a share of the largest: what it may add is taken away.
    rounding = len(roots) * np.finfo(float).eps * squares.max()
    return float(np.sqrt((squares - rounding).clip(0)).sum() / np.sqrt(len(matrix)))


def _ascended(
    reduced: Floats, start: Floats, gap: float, max_iterations: int, should_stop: Callable[[], bool]
) -> tuple[_Point, _Point, int]:
    """The point that proves most, the one whose noise is least, and how many there were; pairs of weight 0 stay."""
    allowed = start > 0
    exponent = largest = COVARIANCE.exponents["replace" if start.ndim == 2 else "add-remove"]
    best = lowest = _Point(reduced, start, allowed)
    iterations = 1
    while lowest.upper > (1 + gap) * best.trace and iterations < max_iterations and not should_stop():
        moved = _normalised(best.weights * (best.distances / best.trace) ** exponent)
        point = _Point(reduced, moved, allowed)
        iterations += 1
        lowest = min(lowest, point, key=lambda one: one.upper)
        if point.trace > best.trace:
            best, exponent = point, min(COVARIANCE.recovery * exponent, largest)
        else:
            exponent /= 2
    return best, lowest, iterations


class _Point:
    """Weights P with S^½ there: what they prove, and the distances D that say where to move."""

    def __init__(self, reduced: Floats, weights: Floats, allowed: Mask) -> None:
        self.weights, self.allowed = weights, allowed
        gram = -weights if weights.ndim == 2 else np.diag(weights)
        if weights.ndim == 2:
            gram[np.diag_indices(len(gram))] = weights.sum(axis=1)
        squares, self._vectors = np.linalg.eigh(reduced @ gram @ reduced.T)
        self._roots = np.sqrt(np.maximum(squares, _EIGENVALUE_FLOOR * squares[-1]))
        self.trace = float(self._roots.sum())
        whitened = (self._vectors / np.sqrt(self._roots)).T @ reduced
        self.distances = _distances(whitened, weights.ndim == 2) * allowed
        self._largest = float(self.distances.max())
        self.upper = float(np.sqrt(self.trace * self._largest))

    def covariance(self) -> Floats:
        return np.asarray((self._vectors * (self._roots * self._largest)) @ self._vectors.T)


def _distances(whitened: Floats, on_pairs: bool) -> Floats:
    squares = (whitened**2).sum(axis=0)
    if not on_pairs:
        return np.asarray(squares)
    return np.asarray((squares[:, None] + squares - 2 * whitened.T @ whitened).clip(0))


def _equal(allowed: Mask) -> Floats:
    return np.asarray(allowed * (2 / allowed.sum()))


def _normalised(weights: Floats) -> Floats:
    if weights.ndim == 1:
        return np.asarray(weights / weights.sum())
    weights = weights + weights.T
    np.fill_diagonal(weights, 0)
    return np.asarray(2 * weights / weights.sum())


def _sparse(reduced: Floats, point: _Point) -> _Point:
    """The point without its lightest weights: a proof speaks of fewer data sets the more pairs it needs."""
    kept = point.weights >= COVARIANCE.least_share * point.weights.sum() / point.weights.size
    pruned = _Point(reduced, _normalised(np.where(kept, point.weights, 0)), point.allowed)
    return pruned if pruned.trace >= (1 - COVARIANCE.largest_loss) * point.trace else point


def reduced_rows(matrix: Floats, neighbours: Neighbours) -> tuple[Floats, Floats]:
    """U (Q, r) and C (r, k) with W = UC, up to constants of rows where only differences count; `matrix` (Q, k).

    Raises InvalidValue where all neighbours have the same answers.
    """
    if neighbours == "replace":
        matrix = matrix - matrix.mean(axis=1, keepdims=True)
    queries, size = matrix.shape
    if queries <= 2 * size:
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
        kept = values > _RANK_TOLERANCE * values.max(initial=0)
        basis, reduced = left[:, kept], values[kept, None] * right[kept]
    else:
        squares, vectors = np.linalg.eigh(matrix.T @ matrix)
        values = np.sqrt(squares.clip(0))
        kept = values > _GRAM_RANK_TOLERANCE * values.max(initial=0)
        reduced = values[kept, None] * vectors[:, kept].T
        basis = matrix @ vectors[:, kept] / values[kept]
    if not kept.any():
        raise InvalidValue("all neighbours have the same answers: no noise is needed, ask a query that varies")
    return basis, reduced


def _check(matrix: Floats, gap: float, max_iterations: int) -> None:
    if matrix.ndim != 2 or min(matrix.shape) < 1 or not np.isfinite(matrix).all():
        raise InvalidValue("a workload matrix is queries × types with finite entries", matrix)
    if not gap > 0 or max_iterations < 1:
        raise InvalidValue(f"gap ({gap}) and max_iterations ({max_iterations}) must be positive", gap)
