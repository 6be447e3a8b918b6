"""What a curator measures: an integer matrix R̂ times the counts, whose sensitivity is a whole number.

R̂ = B W₀ with W₀ integer rows that span those of W and B = rint(2^b Σ^(−½)). Measuring R̂·counts + N_Z(0, σ²)^r with
σ² = Δ²/2ρ is exactly ρ-zCDP (Canonne, Kamath and Steinke 2020, in several dimensions), because Δ² is computed from the
integers that are measured. Floats occur before, where Σ is designed, and after, where answers are decoded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.optimize import lsq_linear, nnls

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.tuning import STRATEGY
from sordino_analysis.documents.curator_part import CharacterScales, IntegerRows
from sordino_analysis.estimation.consistency import RELATIVE_GAP, NearestHistogram, nearest_histogram
from sordino_analysis.estimation.intervals import simultaneous_quantile
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.optimisation.gaussian.covariance import GaussianOptimum
from sordino_analysis.questions.linear.operators import Dense
from sordino_analysis.questions.linear.workload import Workload
from sordino_analysis.request_terms import Neighbours
from sordino_analysis.vectorized.arrays import array_of
from sordino_shared.errors import InvalidValue

Integers = NDArray[np.int64]
# Sums of products of integers below 2⁵² are exact in double precision, in any order.
_EXACT = 2**52
# Rows of W become integers by a power of two up to this one.
_MAX_SCALE_BITS = 20
# Decoded rows may miss W by this share of its largest entry: rounding alone.
_DECODING_TOLERANCE = 1e-8
# The number of people may be secret, so that what overflows is decided by this cap alone.
MAX_PEOPLE = 2**32
_WORD = 2**62
# Quantiles that are kept, each with its strategy of some megabytes.
_KEPT = 1 << 2


@dataclass(frozen=True, eq=False)
class Nearest:
    """Answers of the nearest histogram, (Q,), the mean squares of its people's own answers, (Q,), and what is wrong."""

    answers: Floats
    squares: Floats
    warnings: tuple[str, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Strategy(ABC):
    """A linear measurement of counts in whole numbers, and how m answers follow from it: decode(y) + known_part·n.

    `squared_sensitivity` Δ² is the largest squared distance of what neighbours measure. With `add-remove` the last
    answer is the number of people.
    """

    neighbours: Neighbours
    squared_sensitivity: int

    def noise_variance(self, guarantee: Zcdp) -> Fraction:
        """σ² = Δ²/2ρ of each coordinate's discrete Gaussian; raises InvalidValue for ρ = 0."""
        if guarantee.nano_rho == 0:
            raise InvalidValue("ρ = 0 releases nothing: plan with ρ of at least 1e-9", guarantee)
        return self.squared_sensitivity / (2 * guarantee.exact)

    @property
    @abstractmethod
    def measured(self) -> int:
        """r, how many numbers are measured."""

    @abstractmethod
    def known_part(self) -> Floats:
        """(m,) what of each answer, as a share, needs no measurement; zeros where the number of people is secret."""

    @abstractmethod
    def published(self) -> IntegerRows | CharacterScales:
        """The whole numbers that it is made of."""

    @abstractmethod
    def variances(self, guarantee: Zcdp) -> Floats:
        """(m,) variances of the unbiased answers, in squared counts.

        The variance of the discrete Gaussian is at most σ², and at σ² ≥ 10 equal to it in every digit of a float.
        """

    @abstractmethod
    def exact(self, counts: Integers) -> Integers:
        """(k,) → (r,) what is measured of these counts, before noise."""

    @abstractmethod
    def decode(self, noisy: Floats) -> Floats:
        """(r,) → (m,) answers in counts, without their known part."""

    @abstractmethod
    def total_covariances(self) -> Floats:
        """(m − 1,) covariances of the answers with the last one, the number of people, at σ² = 1."""

    @abstractmethod
    def band_quantile(self, level: float) -> float:
        """How many standard errors all answers stay within at once with this chance."""

    @abstractmethod
    def nearest(self, workload: Workload, noisy: Floats, deviation: float, users: int) -> Nearest:
        """The shares of so many users that are nearest to a measurement (r,) with noise of this deviation."""

    @abstractmethod
    def nearest_counts(self, workload: Workload, noisy: Floats, deviation: float) -> Floats:
        """(Q,) the answers of the nearest counts of at least 0 to a measurement (r,)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerStrategy(Strategy):
    """W = decoder·R̂ + offset 1ᵀ, with R̂ `rows` (r, k), `decoder` (m, r) and `offset` (m,).

    Δ² is max ‖R̂(e_x − e_x′)‖² over pairs, or max ‖R̂ e_x‖² for `add-remove`. Raises InvalidValue for a Δ² that the rows
    do not have.
    """

    rows: Integers
    decoder: Floats
    offset: Floats

    def __post_init__(self) -> None:
        check_sensitivity(self.squared_sensitivity, squared_sensitivity(self.rows, self.neighbours))

    @property
    def measured(self) -> int:
        return len(self.rows)

    def published(self) -> IntegerRows:
        return IntegerRows(array_of(self.rows, "<i8"))

    def variances(self, guarantee: Zcdp) -> Floats:
        return np.asarray(float(self.noise_variance(guarantee)) * (self.decoder**2).sum(axis=1))

    def exact(self, counts: Integers) -> Integers:
        # The number of people may be secret: how sums are formed depends on the cap of it alone.
        if int(np.abs(self.rows).max()) * MAX_PEOPLE < _WORD:
            return np.asarray(self.rows @ counts.astype(np.int64))
        return np.asarray(self.rows.astype(object) @ counts.astype(object))

    def known_part(self) -> Floats:
        return self.offset

    def decode(self, noisy: Floats) -> Floats:
        return self.decoder @ noisy

    def total_covariances(self) -> Floats:
        return np.asarray(self.decoder[:-1] @ self.decoder[-1])

    def band_quantile(self, level: float) -> float:
        return _band_quantile(self, level)

    def nearest(self, workload: Workload, noisy: Floats, deviation: float, users: int) -> Nearest:
        """argmin ‖R̂·users·h − measurement‖ over histograms h: of greatest likelihood, as the noise is spherical there.

        `noisy` (r,). Nikolov, Talwar and Zhang 2013, Section 3, in the measurement instead of the answers.
        """
        scaled = Dense(np.asarray(self.rows * (users / deviation), dtype=float))
        nearest = nearest_histogram(scaled, noisy / deviation, RELATIVE_GAP * self.measured)
        operator = workload.operator
        return Nearest(
            operator.matvec(nearest.histogram), operator.squared_matvec(nearest.histogram), _unfinished(nearest)
        )

    def nearest_counts(self, workload: Workload, noisy: Floats, deviation: float) -> Floats:
        """Those of argmin ‖R̂x − measurement‖ over x ≥ 0, of greatest likelihood; `noisy` (r,)."""
        return workload.operator.matvec(_nearest_people(self.rows / deviation, noisy / deviation))

    def check_decodes(self, matrix: Floats) -> None:
        """Raise InvalidValue unless decoder·R̂ + offset 1ᵀ is the matrix (Q, k), up to rounding."""
        error = np.abs(self.decoder @ self.rows + self.offset[:, None] - matrix).max()
        if self.neighbours == "add-remove" and self.offset.any():
            raise InvalidValue("with a secret number of people no query has a known part", self.offset)
        if not error <= _DECODING_TOLERANCE * max(1.0, np.abs(matrix).max()):
            raise InvalidValue(f"the decoder misses the workload by {error:.2g}: its answers would be biased", error)


# The quantile is drawn from the decoder alone: releases of one plan share it.
@lru_cache(maxsize=_KEPT)
def _band_quantile(strategy: IntegerStrategy, level: float) -> float:
    return simultaneous_quantile(strategy.decoder, level)


def check_sensitivity(stated: int, counted: int) -> None:
    """Raise InvalidValue unless the stated Δ² is that of the integers, and positive."""
    if counted != stated or counted <= 0:
        raise InvalidValue(f"the strategy states Δ² = {stated}, its integers have {counted}: do not run it", stated)


def squared_sensitivity(rows: Integers, neighbours: Neighbours) -> int:
    """The exact Δ² of an integer matrix (r, k) between neighbours; 0 where all columns agree."""
    columns = rows.astype(object) if _sums_overflow(rows) else rows.astype(float)
    if neighbours == "add-remove":
        return int((columns * columns).sum(axis=0).max())
    columns = columns - columns[:, :1]
    gram = columns.T @ columns
    squares = np.diag(gram)
    return int((squares[:, None] + squares - 2 * gram).max())


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
        self._integer_rows, scale = _as_integers(matrix[chosen])
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


def _as_integers(rows: Floats) -> tuple[Floats, int]:
    """The rows times the least power of two that makes them whole."""
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
    if (np.abs(left) @ np.abs(right)).max() >= _EXACT:
        raise InvalidValue("the strategy's integers pass 2^52: the entries of the workload are too large", left)
    return (left @ right).astype(np.int64)


def _nearest_people(rows: Floats, noisy: Floats) -> Floats:
    try:
        return np.asarray(nnls(rows, noisy, maxiter=STRATEGY.most_pivots * rows.shape[1])[0])
    except RuntimeError:
        # An interior point method ends whatever the rows are, within a share of 10⁻¹⁰ of the least error.
        return np.asarray(np.maximum(lsq_linear(rows, noisy, bounds=(0, np.inf)).x, 0))


def _unfinished(nearest: NearestHistogram) -> tuple[str, ...]:
    if nearest.converged:
        return ()
    return (
        "the consistent answers are feasible but not the nearest: their squared distance to the measurement exceeds "
        f"the least by up to {nearest.excess:.3g} of the noise's variance",
    )


def _sums_overflow(rows: Integers) -> bool:
    """Whether the squared distances of columns might pass what double precision holds exactly."""
    largest = 2 * max(abs(int(rows.max())), abs(int(rows.min())))
    return 4 * len(rows) * largest * largest >= _EXACT
