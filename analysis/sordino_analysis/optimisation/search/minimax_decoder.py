"""The unbiased decoder of a fixed kernel with the least worst variance, by descents over the queries that matter.

The generalised least-squares decoder has one set of type weights for all queries; for the worst case every query needs
its own. But only queries that are worst somewhere need one: the others keep what least squares gave them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.search.objectives import information, variances

_FIRST_ACTIVE = 64
_ROUNDS = 8
_SHARPNESS = (50.0, 400.0)
# A query this close to the worst one is given a decoder of its own before it becomes the worst.
_MARGIN = 0.98


def minimax_decoder(
    kernel: Floats, matrix: Floats, type_weights: Floats, evaluations: int, should_stop: Callable[[], bool]
) -> Floats:
    """V (Q, m) with VK = W; `evaluations` for each of the few descents; none starts once `should_stop()`."""
    rebuild = information(kernel, type_weights).reconstruction()
    decoder: Floats = matrix @ rebuild
    worst = variances(kernel, decoder, matrix).max(axis=1)
    active = np.argsort(-worst)[:_FIRST_ACTIVE]
    for _ in range(_ROUNDS):
        for sharpness in _SHARPNESS:
            if should_stop():
                return decoder
            own = _descended(kernel, matrix[active], decoder[active], rebuild, sharpness, evaluations)
            improved = variances(kernel, own, matrix[active]).max(axis=1)
            if improved.max() <= worst[active].max():
                decoder[active], worst[active] = own, improved
        added = np.setdiff1d(np.flatnonzero(worst > _MARGIN * worst[active].max()), active)
        if not len(added):
            break
        active = np.concatenate([active, added])
    return decoder


def _descended(
    kernel: Floats, matrix: Floats, start: Floats, rebuild: Floats, sharpness: float, evaluations: int
) -> Floats:
    """The decoder after a descent on the soft maximum: V = F + (W − FK)N for the free F."""
    scale = float(variances(kernel, start, matrix).max())
    unit = float(np.sqrt((start**2).mean()))
    squares = matrix * matrix

    def unbiased(free: Floats) -> Floats:
        return np.asarray(free + (matrix - free @ kernel) @ rebuild)

    def objective(values: Floats) -> tuple[float, Floats]:
        decoder = unbiased(values.reshape(start.shape) * unit)
        variance = (decoder * decoder) @ kernel - squares
        top = float(variance.max())
        weights = np.exp(sharpness * (variance - top) / scale)
        total = float(weights.sum())
        by_decoder = 2.0 * decoder * ((weights / (total * scale)) @ kernel.T)
        by_free = by_decoder - (by_decoder @ rebuild.T) @ kernel.T
        return top / scale + np.log(total) / sharpness, by_free.ravel() * unit

    options = {"maxfun": evaluations, "maxiter": evaluations, "ftol": 0.0, "gtol": 0.0}
    found = minimize(objective, start.ravel() / unit, jac=True, method="L-BFGS-B", options=options)
    return unbiased(found.x.reshape(start.shape) * unit)
