"""The integers of the strategy of least Gaussian noise: R̂ = rint(2^b Σ^(−½)) W₀, with its decoder."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.strategy import EXACT, Integers, IntegerStrategy, squared_sensitivity
from sordino_analysis.curator.tuning import STRATEGY
from sordino_analysis.optimisation.gaussian.covariance import GaussianOptimum
from sordino_shared.errors import InvalidValue

# Rows of W become integers by a power of two up to this one.
_MAX_SCALE_BITS = 20


def integer_strategy(matrix: Floats, optimum: GaussianOptimum, query_weights: Floats | None = None) -> IntegerStrategy:
    """R̂ = rint(2^b Σ^(−½)) W₀ for the optimum of diag(√w) W; `matrix` (Q, k), `query_weights` (Q,) positive.

    b is 12, or more where rounding would cost more than .2 % of the standard error: sums of many rows add their
    rounding up. Raises InvalidValue where entries are no multiples of 2⁻²⁰, or where the rounded matrix does not
    decode.
    """
    weights = np.ones(len(matrix)) if query_weights is None else query_weights
    design = _Design(matrix, optimum, optimum.basis / np.sqrt(weights)[:, None])
    strategy = None
    for bits in STRATEGY.more_bits:
        try:
            strategy = design.rounded(bits)
        except np.linalg.LinAlgError:
            continue
        squares = weights @ (strategy.decoder**2).sum(axis=1) / len(matrix)
        if strategy.squared_sensitivity * squares <= ((1 + STRATEGY.rounding_loss) * optimum.upper) ** 2:
            break
    if strategy is None:
        raise InvalidValue(
            f"the rows of the workload differ too much in size: with {STRATEGY.more_bits[-1]} bits the integers of the "
            "strategy do not tell them apart; multiply the small rows, or release them in a plan of their own",
            matrix,
        )
    strategy.check_decodes(matrix)
    return strategy


class _Design:
    """Σ^(−½) on integer rows W₀ that span those of the workload."""

    def __init__(self, matrix: Floats, optimum: GaussianOptimum, left: Floats) -> None:
        chosen = _row_basis(optimum.basis)
        self._integer_rows, scale = as_integers(matrix[chosen])
        # W₀ = change·C up to constants, for the coordinates C of the optimum: W = left·C.
        self._change = left[chosen] * scale
        squares, vectors = np.linalg.eigh(self._change @ optimum.covariance @ self._change.T)
        if squares[0] <= 0:
            raise InvalidValue("the noise of the workload's rows is singular up to rounding: ask fewer similar queries")
        self._root = (vectors / np.sqrt(squares)) @ vectors.T
        self._matrix, self._left, self._neighbours = matrix, left, optimum.neighbours

    def rounded(self, bits: int) -> IntegerStrategy:
        rounded = np.rint(2**bits * self._root)
        rows = _exact_product(rounded, self._integer_rows)
        decoder = np.linalg.solve((rounded @ self._change).T, self._left.T).T
        centred = self._neighbours == "replace"
        offset = self._matrix.mean(axis=1) - decoder @ rows.mean(axis=1)
        return IntegerStrategy(
            neighbours=self._neighbours,
            rows=rows,
            squared_sensitivity=squared_sensitivity(rows, self._neighbours),
            decoder=decoder,
            offset=offset if centred else np.zeros(len(decoder)),
        )


def _row_basis(basis: Floats) -> NDArray[np.int64]:
    """Rows of U (Q, r) that span all others, as far apart as pivoting finds them, in order."""
    pivots = qr(basis.T, mode="r", pivoting=True)[1]
    return np.sort(pivots[: basis.shape[1]]).astype(np.int64)


def as_integers(rows: Floats) -> tuple[Floats, int]:
    """The rows (Q, k) times the least power of two that makes them whole; raises InvalidValue beyond 2²⁰."""
    for exponent in range(_MAX_SCALE_BITS + 1):
        scaled = rows * 2**exponent
        if np.array_equal(scaled, np.rint(scaled)):
            return scaled, 2**exponent
    raise InvalidValue(
        "a curator counts in integers: every entry of the workload must be a multiple of 2^-20; multiply or round the "
        "entries that are not",
        rows,
    )


def _exact_product(left: Floats, right: Floats) -> Integers:
    if (np.abs(left) @ np.abs(right)).max() >= EXACT:
        raise InvalidValue("the strategy's integers pass 2^52: the entries of the workload are too large", left)
    return (left @ right).astype(np.int64)
