"""Lower bounds for several families of queries about one line of types together, each with a share of the weight.

They are the trace bound of A = D_ρ^½ (W − Wπ1ᵀ) D_π^½, see `trace.recheck`, whose AᵀA is a sum over the families.
"""

from __future__ import annotations

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.bounds.information import information_limits, least_variance


def cosine_bound(types: int, epsilon: float, prefix: float, cells: float) -> float:
    """For all prefix sums but the constant one and all cells, that weigh `prefix` and `cells` a query; π even.

    Taken about the mean both are diagonal in cos(πj(x + ½)/k), j = 1 … k − 1, with the eigenvalues 1/(2 sin(πj/2k))²
    and 1. Raises ValueError for fewer than two types.
    """
    if types < 2:
        raise ValueError(f"{types} types have no prefix sum that varies")
    squares = prefix / (2 * np.sin(np.pi * np.arange(1, types) / (2 * types))) ** 2 + cells
    return least_variance(np.sqrt(squares / types), information_limits(epsilon))


def gram_bound(gram: Floats, epsilon: float) -> float:
    """For queries with the Gram matrix Σ ρ_q v_q v_qᵀ over some types, `gram` (m, m); π is even over these.

    A mechanism for all types is one for some of them.
    """
    types = len(gram)
    centred = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
    values = np.linalg.eigvalsh(centred / types)
    # What rounding leaves below 0, and as much above it, proves nothing.
    values[values < types * np.finfo(float).eps * values[-1]] = 0.0
    return least_variance(np.sqrt(values), information_limits(epsilon))


def row_bound(rows: Floats, epsilon: float) -> float:
    """For weighted rows √ρ_q v_q, `rows` (r, k), π even over all k types."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    squares = np.linalg.eigvalsh(centred @ centred.T) / rows.shape[1]
    return least_variance(np.sqrt(np.maximum(squares, 0.0)), information_limits(epsilon))
