"""The nearest answers that some histogram really has: simplex-constrained least squares, free of privacy cost."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sordino_server.design.arrays import Floats
from sordino_server.design.workloads import LinearMap

# The excess over the least squared error, proved by the gap, as a share of the noise in the answers.
RELATIVE_GAP = 1e-4
_DENSE_GRAM_TYPES = 2048
_MOST_ACTIVE_SETS = 50
_MOST_VERTEX_STEPS, _ENTERING = 400, 8
_MAX_ITERATIONS = 20_000
_GAP_EVERY = 10
_POWER_ITERATIONS = 30
# Keeps the Gram matrix of a support factorable where queries do not tell its types apart.
_RIDGE = 1e-13

Gram = Callable[[Floats], Floats]


def nearest_histogram(operator: LinearMap, answers: Floats, tolerance: float) -> Floats:
    """argmin ‖W h − answers‖² over the simplex, to within `tolerance` of the least squared error, (k,).

    Plain least squares, not weighted by the answers' covariance: the true answers lie in the convex set W·Δ, and its
    Euclidean projection is never farther from them than the unbiased answers were, whatever the noise; a weighted one
    promises that only in its own norm. (Nikolov–Talwar–Zhang 2013 project onto the same set.) Supports are guessed
    and corrected, a handful of times from nothing known; types too many for a Gram matrix are taken in a few at a time.
    Where neither ends, gradients find the point.
    """
    pulled, size = operator.rmatvec(answers), operator.shape[1]
    if size > _DENSE_GRAM_TYPES:
        few = _by_vertices(operator, answers, tolerance)
        return few if few is not None else _by_gradients(_gram(operator), pulled, tolerance)
    matrix = operator.rmatvec(operator.matvec(np.eye(size)))
    found = _by_active_sets(matrix, pulled, tolerance)
    return _by_gradients(lambda point: np.asarray(matrix @ point), pulled, tolerance) if found is None else found


def _gram(operator: LinearMap) -> Gram:
    return lambda point: operator.rmatvec(operator.matvec(point))


def _by_active_sets(matrix: Floats, pulled: Floats, tolerance: float) -> Floats | None:
    """Solve on a support, drop types that came out negative, add those that would lower the error, until none does.

    The primal–dual active set method of Hintermüller, Ito and Kunisch (2003); None where the gap is not proved.
    """
    size = len(pulled)
    support = np.ones(size, dtype=bool)
    for _ in range(_MOST_ACTIVE_SETS):
        held = np.flatnonzero(support)
        system = matrix[np.ix_(held, held)] + _RIDGE * np.trace(matrix) * np.eye(len(held))
        solved = np.linalg.solve(system, np.column_stack([pulled[held], np.ones(len(held))]))
        price = (solved[:, 0].sum() - 1) / solved[:, 1].sum()
        histogram = np.zeros(size)
        histogram[held] = solved[:, 0] - price * solved[:, 1]
        feasible = np.maximum(histogram, 0.0)
        feasible /= feasible.sum()
        if _gap(matrix @ feasible - pulled, feasible) <= tolerance:
            return np.asarray(feasible)
        slope = matrix @ histogram - pulled + price
        support = np.where(support, histogram > 0, slope < 0)
    return None


def _by_vertices(operator: LinearMap, answers: Floats, tolerance: float) -> Floats | None:
    """Histograms on few types: solve on these, add the types that would lower the error most, drop those unused.

    The fully corrective method of Frank and Wolfe on the polytope of all answers: the nearest point needs at most one
    type more than the answers have dimensions. None where that many steps do not prove the gap.
    """
    size = operator.shape[1]
    types = np.zeros(0, dtype=np.intp)
    columns = np.zeros((len(answers), 0))
    fitted, shares = np.zeros(len(answers)), np.zeros(0)
    for _ in range(_MOST_VERTEX_STEPS):
        slope = operator.rmatvec(fitted - answers)
        entering = np.setdiff1d(np.argpartition(slope, _ENTERING)[:_ENTERING], types)
        if len(types):
            # ⟨∇f, h⟩ is over the types in use alone.
            gap = 2.0 * float(slope[types] @ shares - slope.min())
            if gap <= tolerance:
                histogram = np.zeros(size)
                histogram[types] = shares
                return histogram
            if not len(entering):
                return None
        types = np.concatenate([types, entering])
        columns = np.column_stack([columns, *(operator.column(int(cell)) for cell in entering)])
        found = _on_simplex(columns, answers, tolerance)
        kept = np.flatnonzero(found > 0)
        types, columns, shares = types[kept], columns[:, kept], found[kept]
        fitted = columns @ shares
    return None


def _on_simplex(columns: Floats, answers: Floats, tolerance: float) -> Floats:
    """The best mixture of a few columns, to a tenth of the tolerance."""
    matrix, pulled = columns.T @ columns, columns.T @ answers
    found = _by_active_sets(matrix, pulled, tolerance / 10)
    if found is None:
        return _by_gradients(lambda point: np.asarray(matrix @ point), pulled, tolerance / 10)
    return found


def _by_gradients(gram: Gram, pulled: Floats, tolerance: float) -> Floats:
    """Accelerated projected gradient with restarts, until the gap is small enough or the iterations are used up."""
    size = len(pulled)
    step = 1.0 / _largest_eigenvalue(gram, size)
    current = ahead = np.full(size, 1.0 / size)
    momentum = 1.0
    for iteration in range(_MAX_ITERATIONS):
        if iteration % _GAP_EVERY == 0 and _gap(gram(current) - pulled, current) <= tolerance:
            break
        moved = project_onto_simplex(ahead - step * (gram(ahead) - pulled))
        if (ahead - moved) @ (moved - current) > 0:
            # The momentum points uphill: begin again without it.
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = moved + (momentum - 1) / following * (moved - current)
        current, momentum = moved, following
    return current


def project_onto_simplex(point: Floats) -> Floats:
    """The nearest vector with entries ≥ 0 and sum 1: (point − τ)₊ for the τ that makes the sum right."""
    ordered = np.sort(point)[::-1]
    excess = np.cumsum(ordered) - 1.0
    kept = np.flatnonzero(ordered * np.arange(1, len(point) + 1) > excess)[-1]
    projected: Floats = np.maximum(point - excess[kept] / (kept + 1), 0.0)
    return projected


def _gap(gradient: Floats, histogram: Floats) -> float:
    """⟨∇f, h⟩ − min_x ∂f/∂h_x for f = ½‖Wh − y‖², doubled: a bound on the excess squared error, by convexity."""
    return 2.0 * float(gradient @ histogram - gradient.min())


def _largest_eigenvalue(gram: Gram, size: int) -> float:
    """An upper estimate of the largest eigenvalue of WᵀW, by power iteration from a fixed start."""
    vector = np.random.Generator(np.random.PCG64(0)).standard_normal(size)
    value = 1.0
    for _ in range(_POWER_ITERATIONS):
        image = gram(vector / np.linalg.norm(vector))
        value, vector = float(np.linalg.norm(image)), image
    return 1.02 * value
