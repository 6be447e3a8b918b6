"""The least mean variance of Laplace noise, by descent over strategies whose columns have ℓ₁ norm 1.

Rows R measured with Laplace noise of scale 1 give answers with covariance 2 (RᵀR)⁻¹ of the histogram. Two columns of
norm 1 are at most 2 apart, so the noise is private for ε = 2 under `replace` and for ε = 1 under `add-remove`. With
`replace` the number of people is known, as if a row of ones were measured without noise. The problem is not convex:
what is found is the best that was met. (Li, Hay, Miklau, Wang and McGregor 2014; McKenna et al. 2018 descend without
signs.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.linalg import LinAlgError, inv
from scipy.optimize import minimize

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.laplace.starts import starts
from sordino_analysis.optimisation.laplace.tuning import DESCENT
from sordino_analysis.request_terms import Neighbours

# The seed is part of the method: the same workload has the same strategy on every machine.
_SEED = 20_261_127
Stop = Callable[[], bool]


@dataclass(frozen=True, eq=False)
class LaplaceObjective:
    """tr(G (RᵀR)⁻¹) for the Gram matrix G = Σ u_q w_q w_qᵀ/Q of the queries (k, k), and its gradient.

    With `replace` G and R are centred, and the inverse is that on vectors of sum 0.
    """

    gram: Floats
    neighbours: Neighbours

    @classmethod
    def of(cls, matrix: Floats, weights: Floats, neighbours: Neighbours) -> LaplaceObjective:
        """Of queries (Q, k) with weights (Q,)."""
        rows = matrix - matrix.mean(axis=1, keepdims=True) if neighbours == "replace" else matrix
        return cls((rows * weights[:, None]).T @ rows / len(rows), neighbours)

    def value(self, rows: Floats) -> float:
        """Of rows (p, k); infinite where they do not tell the queries apart."""
        return self.with_gradient(rows)[0]

    def with_gradient(self, rows: Floats) -> tuple[float, Floats]:
        """The value and its derivative by the entries of R (p, k)."""
        size = rows.shape[1]
        if self.neighbours == "replace":
            rows = rows - rows.mean(axis=1, keepdims=True)
            information = rows.T @ rows + 1 / size
        else:
            information = rows.T @ rows
        try:
            inverse = inv(information)
        except LinAlgError:
            return np.inf, np.zeros_like(rows)
        spread = inverse @ self.gram
        value = float(np.trace(spread))
        return (value if value > 0 else np.inf), -2 * rows @ spread @ inverse


def best_starts(objective: LaplaceObjective, should_stop: Stop = lambda: False) -> list[Floats]:
    """Rows (p, k) of columns with norm 1: the best starts, each with the best weights of its levels, best first."""
    size = len(objective.gram)
    found = [_weighted(levels, objective, should_stop) for levels in starts(size).values()]
    kept = DESCENT.starts if size <= DESCENT.free_types else 1
    return sorted(found, key=objective.value)[:kept]


def descend(
    objective: LaplaceObjective, start: Floats, steps: Sequence[int], should_stop: Stop = lambda: False
) -> Floats:
    """Rows (p, k) with columns of norm 1 and a value that is at most that of `start`."""
    best, lowest = start, objective.value(start)
    rows = start
    for smoothing, most in zip(DESCENT.smoothings, steps, strict=True):
        if most == 0 or should_stop():
            continue
        rows = normalised(_descended(objective, rows, smoothing / rows.shape[1], most, should_stop))
        value = objective.value(rows)
        if value < lowest:
            best, lowest = rows, value
    return best


def with_room(rows: Floats) -> Floats:
    """The start (p, k) with a small copy of the cells below it and noise on it, to descend from."""
    size = rows.shape[1]
    grown = np.vstack([rows, DESCENT.copy * np.eye(size)])
    noise = np.random.default_rng(_SEED).standard_normal(grown.shape)
    return normalised(grown + DESCENT.noise * noise / size)


def steps_for(size: int) -> list[int]:
    """Steps at each smoothing for so many types."""
    share = min(1.0, max(DESCENT.least_share, DESCENT.free_types / size))
    return [round(share * most) for most in DESCENT.steps]


def round_steps_for(size: int) -> int:
    """Steps of a round of weights for so many types."""
    return round(min(1.0, max(DESCENT.least_share, DESCENT.free_types / size)) * DESCENT.round_steps)


def normalised(rows: Floats) -> Floats:
    """The rows (p, k) with columns of ℓ₁ norm 1."""
    return np.asarray(rows / np.abs(rows).sum(axis=0))


def _descended(objective: LaplaceObjective, rows: Floats, smoothing: float, steps: int, should_stop: Stop) -> Floats:
    shape = rows.shape

    def smoothed(flat: Floats) -> tuple[float, Floats]:
        free = flat.reshape(shape)
        sizes = np.sqrt(free**2 + smoothing**2)
        norms = sizes.sum(axis=0)
        unit = free / norms
        value, slope = objective.with_gradient(unit)
        return value, ((slope - (slope * unit).sum(axis=0) * (free / sizes)) / norms).ravel()

    def stop(intermediate_result: object) -> None:
        if should_stop():
            raise StopIteration

    options = {"maxiter": steps, "maxfun": 2 * steps}
    found = minimize(smoothed, rows.ravel(), jac=True, method="L-BFGS-B", callback=stop, options=options)
    return np.asarray(found.x).reshape(shape)


def _weighted(levels: Sequence[Floats], objective: LaplaceObjective, should_stop: Stop) -> Floats:
    """The rows of all levels, each times the weight that is best for the objective."""
    rows, counts = np.vstack(levels), [len(level) for level in levels]
    places = np.repeat(np.arange(len(counts)), counts)

    def value(logs: Floats) -> tuple[float, Floats]:
        free = rows * np.exp(logs)[places][:, None]
        norms = np.abs(free).sum(axis=0)
        unit = free / norms
        found, slope = objective.with_gradient(unit)
        by_entry = (slope - (slope * unit).sum(axis=0) * np.sign(free)) / norms * free
        return found, np.asarray(np.bincount(places, by_entry.sum(axis=1), len(counts)), dtype=float)

    def stop(intermediate_result: object) -> None:
        if should_stop():
            raise StopIteration

    even = np.zeros(len(counts))
    if len(counts) > 1 and not should_stop():
        options = {"maxiter": DESCENT.weight_steps}
        even = minimize(value, even, jac=True, method="L-BFGS-B", callback=stop, options=options).x
    return normalised(rows * np.exp(even)[places][:, None])
