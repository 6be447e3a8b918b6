"""The nearest answers that some histogram really has: simplex-constrained least squares, free of privacy cost."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sordino_server.design.arrays import Floats
from sordino_server.design.workloads import LinearMap

# The excess over the least squared error, proved by the gap, as a share of the noise in the answers.
RELATIVE_GAP = 1e-4
_MAX_ITERATIONS = 20_000
_GAP_EVERY = 10
_DENSE_GRAM_TYPES = 2048
_POWER_ITERATIONS = 30

Gram = Callable[[Floats], Floats]


def nearest_histogram(operator: LinearMap, answers: Floats, tolerance: float) -> Floats:
    """argmin ‖W h − answers‖² over the simplex, to within `tolerance` of the least squared error, (k,).

    Plain least squares, not weighted by the answers' covariance: the true answers lie in the convex set W·Δ, and its
    Euclidean projection is never farther from them than the unbiased answers were, whatever the noise; a weighted one
    promises that only in its own norm. (Nikolov–Talwar–Zhang 2013 project onto the same set.) Accelerated projected
    gradient with restarts; it stops when the gap max_x ⟨∇f, h − e_x⟩, which bounds the excess, is small enough.
    """
    gram, pulled = _gram(operator), operator.rmatvec(answers)
    size = operator.shape[1]
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


def _gram(operator: LinearMap) -> Gram:
    if operator.shape[1] > _DENSE_GRAM_TYPES:
        return lambda histogram: operator.rmatvec(operator.matvec(histogram))
    dense: Floats = operator.rmatvec(operator.matvec(np.eye(operator.shape[1])))
    return lambda histogram: np.asarray(dense @ histogram)


def _largest_eigenvalue(gram: Gram, size: int) -> float:
    """An upper estimate of the largest eigenvalue of WᵀW, by power iteration from a fixed start."""
    vector = np.random.Generator(np.random.PCG64(0)).standard_normal(size)
    value = 1.0
    for _ in range(_POWER_ITERATIONS):
        image = gram(vector / np.linalg.norm(vector))
        value, vector = float(np.linalg.norm(image)), image
    return 1.02 * value
