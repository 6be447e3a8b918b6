"""The trace bound for a few of very many types, and few of the queries: any mechanism for all types is one for some.

For the worst query weights ρ of some queries and π of the types prove `recheck(W[S][:, T], ε, ρ, π)` of `trace.py`. For
the mean all queries count alike, and only G = Wᵀ diag(ρ) W of the chosen types is needed: with RᵀR = G the rows of R
in place of D_ρ^½ W have the same singular values.
"""

from __future__ import annotations

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.bounds.trace import ascended_weights, recheck
from sordino_analysis.optimisation.bounds.tuning import TRACE
from sordino_analysis.request_terms import Objective


def even_root(matrix: Floats, shares: Floats) -> Floats:
    """√r R (r, m) with RᵀR = Wᵀ diag(shares) W for W `matrix` (Q, m), `shares` (Q,), and r the smaller of Q and m.

    With even weights 1/r of its rows every bound is that of W with these shares.
    """
    queries, types = matrix.shape
    if queries <= types:
        return np.asarray(np.sqrt(queries * shares)[:, None] * matrix)
    gram = matrix.T @ (shares[:, None] * matrix)
    values, vectors = np.linalg.eigh(gram)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    return np.asarray(np.sqrt(len(root)) * root)


def some_types_weights(matrix: Floats, epsilon: float, objective: Objective) -> tuple[Floats, Floats]:
    """ρ (Q,) and π (m,) for W (Q, m), of the best of an ascent and of two types alone; ρ stays even for the mean.

    Small weights of queries are left out.
    """
    found = [_two_types(matrix, objective)]
    if matrix.shape[1] > 2:
        rows, columns = ascended_weights(matrix / np.ptp(matrix, axis=1).max(), epsilon, objective)
        if objective == "max":
            rows = np.where(rows < TRACE.least_share * rows.max(), 0.0, rows)
            rows /= rows.sum()
        found.append((rows, columns))
    return max(found, key=lambda weights: recheck(matrix, epsilon, *weights))


def _two_types(matrix: Floats, objective: Objective) -> tuple[Floats, Floats]:
    """Of two types a query has Var ≥ Δ²/(4 sinh²(ε/2)), which binary randomised response attains."""
    queries, types = matrix.shape
    rows, columns = np.full(queries, 1 / queries), np.zeros(types)
    query = int(np.argmax(np.ptp(matrix, axis=1)))
    ends = [int(matrix[query].argmin()), int(matrix[query].argmax())]
    if objective == "max":
        rows = np.zeros(queries)
        rows[query] = 1.0
    else:
        squares = (matrix**2).sum(axis=0)
        gram = matrix.T @ matrix
        apart = squares[:, None] + squares - 2 * gram
        ends = [int(place) for place in np.unravel_index(int(apart.argmax()), apart.shape)]
    columns[ends] = 0.5
    return rows, columns
