"""Factorizations known in closed form: exact where they are optimal, quick starts and test cases elsewhere."""

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.factorization.certificate import (
    Factorization,
    FactorizationError,
    counted_rows,
    dual_value,
    primal_value,
)
from sordino_analysis.request_terms import Objective

# How much closer to the leaves a level of the tree is weighed, in the proof of the Lipschitz bound.
_LEVEL_RATIO = 5 / 6


def histogram(size: int, objective: Objective = "max", centred: bool = True) -> Factorization:
    """W = I: both γ are 1, and (k−1)/k with the free centre c = 1/k, where L = R is the centring projector."""
    _at_least_two(size)
    uniform = np.full(size, 1 / size)
    factor = np.eye(size) - (1 / size if centred else 0.0)
    value = 1 - 1 / size if centred else 1.0
    centre = uniform if centred else np.zeros(size)
    return Factorization(
        left=factor,
        right=factor,
        centre=centre,
        row_weights=uniform,
        column_weights=uniform,
        objective=objective,
        centred=centred,
        lower=value,
        upper=value,
        iterations=0,
    )


def prefix_square_root(size: int, objective: Objective = "max") -> Factorization:
    """The k−1 prefix sums over k bins by the square root of the triangular all-ones matrix, without a centre.

    The square root is the Toeplitz matrix of the coefficients of (1 − x)^-½, so γ₂ ≤ Σ bⱼ² ~ ln(k)/π + O(1)
    (Henzinger–Upadhyay–Upadhyay 2023 and Fichtenberger et al. 2022 use it for counting over time). The lower
    bound is the mean of the singular values 1/(2 sin((2j−1)π/(4m+2))), j = 1…m = k−1, at uniform weights.
    """
    _at_least_two(size)
    m = size - 1
    coefficients = np.cumprod(np.concatenate([[1.0], 1 - 0.5 / np.arange(1, m)]))
    lag = np.subtract.outer(np.arange(m), np.arange(m))
    root = np.where(lag >= 0, coefficients[np.maximum(lag, 0)], 0.0)
    left, right = root.T.copy(), np.column_stack([root, np.zeros(m)])
    odd = 2 * np.arange(1, m + 1) - 1
    lower = float(np.mean(0.5 / np.sin(odd * np.pi / (4 * m + 2))))
    upper = primal_value(left, right, objective, np.ones(m, dtype=bool))
    rows, columns = np.full(m, 1 / m), np.append(np.full(m, 1 / m), 0.0)
    return _uncentred((left, right), (rows, columns), objective, (lower, upper))


def gini(size: int, objective: Objective = "max") -> Factorization:
    """W = 11ᵀ − I (two users differ), without a centre: both γ are exactly 2(k−1)/k."""
    _at_least_two(size)
    uniform = np.full(size, 1 / size)
    constant = np.full((1, size), np.sqrt((size - 1) / size))
    projector = np.eye(size) - 1 / size
    left, right = np.vstack([constant, -projector]), np.vstack([constant, projector])
    value = 2 * (size - 1) / size
    return _uncentred((left, right), (uniform, uniform), objective, (value, value))


def kronecker(first: Factorization, second: Factorization) -> Factorization:
    """W₁ ⊗ W₂ by L₁ ⊗ L₂ and R₁ ⊗ R₂: values and certificates multiply, since singular values do.

    Raises FactorizationError for centred factors, because W − c1ᵀ is no Kronecker product, and for two objectives.
    """
    if first.centred or second.centred:
        raise FactorizationError("a centred factorization has no Kronecker product: factorize without centring")
    if first.objective != second.objective:
        raise FactorizationError(f"objectives {first.objective} and {second.objective} do not multiply", second)
    return _uncentred(
        (_product(first.left, second.left), _product(first.right, second.right)),
        (_product(first.row_weights, second.row_weights), _product(first.column_weights, second.column_weights)),
        first.objective,
        (first.lower * second.lower, first.upper * second.upper),
    )


def lipschitz_tree(matrix: Floats, objective: Objective = "max", centred: bool = True) -> Factorization:
    """Rows that are Lipschitz along the bins, by differences along a binary search tree: γ₂ = O(G·k).

    R_ix = (5/6)^depth(i) for i on the path from x to the root, L_iq = (6/5)^depth(i) (W_qi − W_q,parent(i))
    (Ghazi et al., Lemma 17). With `centred` the root's own value is the centre and costs nothing. Any matrix is
    factorized exactly; only the quality needs the rows to be smooth. `matrix` W (Q, k).
    Raises FactorizationError where every query is constant.
    """
    counted = counted_rows(matrix, centred)
    if not counted.any():
        raise FactorizationError("every query is constant: its answer is known and nothing is left to factorize")
    queries, size = matrix.shape
    parents, depths = _search_tree(size)
    root = int(np.flatnonzero(parents < 0)[0])
    on_path = np.eye(size)
    for node in np.argsort(depths, kind="stable"):
        if parents[node] >= 0:
            on_path[:, node] += on_path[:, parents[node]]
    inherited = np.where(parents >= 0, matrix[:, parents], 0.0)
    weights = _LEVEL_RATIO ** depths[:, None]
    left, right, centre = (matrix - inherited).T / weights, on_path * weights, np.zeros(queries)
    if centred:
        centre = matrix[:, root].copy()
        left, right = np.delete(left, root, axis=0), np.delete(right, root, axis=0)
    rows, columns = counted / counted.sum(), np.full(size, 1 / size)
    lower = dual_value(matrix, rows, columns, centred)
    upper = primal_value(left, right, objective, counted)
    return Factorization(
        left=left,
        right=right,
        centre=centre,
        row_weights=rows,
        column_weights=columns,
        objective=objective,
        centred=centred,
        lower=lower,
        upper=upper,
        iterations=0,
    )


def _product(first: Floats, second: Floats) -> Floats:
    return np.asarray(np.kron(first, second), dtype=float)


def _uncentred(
    factors: tuple[Floats, Floats], weights: tuple[Floats, Floats], objective: Objective, bounds: tuple[float, float]
) -> Factorization:
    """LᵀR without a centre, from L and R, the certificate's weights of rows and columns, and both ends of γ."""
    left, right = factors
    return Factorization(
        left=left,
        right=right,
        centre=np.zeros(left.shape[1]),
        row_weights=weights[0],
        column_weights=weights[1],
        objective=objective,
        centred=False,
        lower=bounds[0],
        upper=bounds[1],
        iterations=0,
    )


def _search_tree(size: int) -> tuple[np.ndarray[tuple[int], np.dtype[np.intp]], Floats]:
    """Parent (−1 for the root) and depth of every bin in the balanced binary search tree over them."""
    parents, depths = np.full(size, -1), np.zeros(size)
    open_intervals = [(0, size, -1, 0)]
    while open_intervals:
        start, stop, parent, depth = open_intervals.pop()
        if start == stop:
            continue
        middle = (start + stop) // 2
        parents[middle], depths[middle] = parent, depth
        open_intervals += [(start, middle, middle, depth + 1), (middle + 1, stop, middle, depth + 1)]
    return parents, depths


def _at_least_two(size: int) -> None:
    if size < 2:
        raise FactorizationError(f"a domain needs at least two types, not {size}", size)
