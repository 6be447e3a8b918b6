"""What a curator measures: an integer matrix R̂ times the counts, whose sensitivity is a whole number.

What is measured is R̂·counts and noise of a law of `laws.py`. Under ρ it is the discrete Gaussian, with Δ² computed
from the integers; under ε it is blocks of Laplace noise or balls, with ε computed from the integers (`loss.py`). Floats
occur before, where R̂ is designed, and after, where answers are decoded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear, nnls

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.laws import BlockLaw, GaussianLaw, NoiseLaw
from sordino_analysis.curator.loss import loss_of_rows
from sordino_analysis.curator.simulated_quantiles import simulated_quantiles
from sordino_analysis.curator.tuning import STRATEGY
from sordino_analysis.documents.curator_part import CharacterScales, IntegerRows, NoiseBlock
from sordino_analysis.estimation.consistency import RELATIVE_GAP, NearestHistogram, nearest_histogram
from sordino_analysis.estimation.intervals import normal_quantile, simultaneous_quantile
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.questions.linear.operators import Dense
from sordino_analysis.questions.linear.workload import Workload
from sordino_analysis.request_terms import Neighbours
from sordino_analysis.vectorized.arrays import array_of
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import NANO, PureEpsilon

Integers = NDArray[np.int64]
# Sums of products of integers below 2⁵² are exact in double precision, in any order.
EXACT = 2**52
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

    def gaussian(self, guarantee: Zcdp) -> GaussianLaw:
        """The noise that keeps ρ; raises InvalidValue for ρ = 0."""
        return GaussianLaw.of(self.squared_sensitivity, self.measured, guarantee)

    def blocks(self, blocks: Sequence[NoiseBlock], guarantee: PureEpsilon) -> BlockLaw:
        """These blocks of noise, in order; raises InvalidValue unless they keep ε, by `loss`."""
        loss = self.loss(blocks)
        if not 0 < loss <= Fraction(guarantee.nano, NANO):
            raise InvalidValue(f"the noise keeps ε = {float(loss):.12g}, not {guarantee}: do not run it", loss)
        return BlockLaw(guarantee=guarantee, blocks=tuple(blocks))

    def variances(self, guarantee: Zcdp) -> Floats:
        """(m,) variances of the unbiased answers under Gaussian noise of this ρ, in squared counts."""
        return self.variances_under(self.gaussian(guarantee).variances())

    def quantiles(self, law: NoiseLaw, level: float) -> tuple[Floats, float]:
        """(m,) how many standard errors each answer stays within with this chance, and how many all do at once."""
        if law.normal:
            return np.full(len(self.known_part()), normal_quantile(level)), self.band_quantile(level)
        return _simulated(self, law, level)

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
    def loss(self, blocks: Sequence[NoiseBlock]) -> Fraction:
        """The ε that blocks of noise on what is measured are proved to keep, from whole numbers."""

    @abstractmethod
    def variances_under(self, noise: Floats) -> Floats:
        """(r,) variances of independent noise on what is measured → (m,) of the unbiased answers, in squared counts."""

    @abstractmethod
    def exact(self, counts: Integers) -> Integers:
        """(k,) → (r,) what is measured of these counts, before noise."""

    @abstractmethod
    def decode(self, noisy: Floats) -> Floats:
        """(r, …) → (m, …) answers in counts, without their known part."""

    @abstractmethod
    def total_covariances(self, noise: Floats) -> Floats:
        """(m − 1,) covariances of the answers with the last one, the number of people; `noise` (r,) are variances."""

    @abstractmethod
    def band_quantile(self, level: float) -> float:
        """How many standard errors all answers stay within at once with this chance, under normal noise."""

    @abstractmethod
    def nearest(self, workload: Workload, noisy: Floats, deviations: Floats, users: int) -> Nearest:
        """The shares of so many users that are nearest to a measurement (r,) with noise of these deviations (r,)."""

    @abstractmethod
    def nearest_counts(self, workload: Workload, noisy: Floats, deviations: Floats) -> Floats:
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

    def loss(self, blocks: Sequence[NoiseBlock]) -> Fraction:
        return loss_of_rows(self.rows, blocks, self.neighbours)

    def variances_under(self, noise: Floats) -> Floats:
        return np.asarray(self.decoder**2 @ noise)

    def exact(self, counts: Integers) -> Integers:
        return exact_products(self.rows, counts)

    def known_part(self) -> Floats:
        return self.offset

    def decode(self, noisy: Floats) -> Floats:
        return self.decoder @ noisy

    def total_covariances(self, noise: Floats) -> Floats:
        return np.asarray(self.decoder[:-1] @ (noise * self.decoder[-1]))

    def band_quantile(self, level: float) -> float:
        return _band_quantile(self, level)

    def nearest(self, workload: Workload, noisy: Floats, deviations: Floats, users: int) -> Nearest:
        """argmin ‖(R̂·users·h − measurement)/deviations‖ over histograms h; of greatest likelihood under Gaussian noise.

        `noisy` (r,). Nikolov, Talwar and Zhang 2013, Section 3, in the measurement instead of the answers; their
        Theorem 4 under pure ε.
        """
        scaled = Dense(np.asarray(self.rows * (users / deviations)[:, None], dtype=float))
        nearest = nearest_histogram(scaled, noisy / deviations, RELATIVE_GAP * self.measured)
        operator = workload.operator
        return Nearest(
            operator.matvec(nearest.histogram), operator.squared_matvec(nearest.histogram), unfinished(nearest)
        )

    def nearest_counts(self, workload: Workload, noisy: Floats, deviations: Floats) -> Floats:
        """Those of argmin ‖(R̂x − measurement)/deviations‖ over x ≥ 0; `noisy` (r,)."""
        return workload.operator.matvec(_nearest_people(self.rows / deviations[:, None], noisy / deviations))

    def check_decodes(self, matrix: Floats) -> None:
        """Raise InvalidValue unless decoder·R̂ + offset 1ᵀ is the matrix (Q, k), up to rounding."""
        error = np.abs(self.decoder @ self.rows + self.offset[:, None] - matrix).max()
        if self.neighbours == "add-remove" and self.offset.any():
            raise InvalidValue("with a secret number of people no query has a known part", self.offset)
        if not error <= _DECODING_TOLERANCE * max(1.0, np.abs(matrix).max()):
            raise InvalidValue(f"the decoder misses the workload by {error:.2g}: its answers would be biased", error)


# Quantiles are drawn from decoder and law alone: releases of one plan share them.
@lru_cache(maxsize=_KEPT)
def _simulated(strategy: Strategy, law: NoiseLaw, level: float) -> tuple[Floats, float]:
    errors = np.sqrt(strategy.variances_under(law.variances()))
    return simulated_quantiles(strategy.decode, law, errors, level)


@lru_cache(maxsize=_KEPT)
def _band_quantile(strategy: IntegerStrategy, level: float) -> float:
    return simultaneous_quantile(strategy.decoder, level)


def check_sensitivity(stated: int, counted: int) -> None:
    """Raise InvalidValue unless the stated Δ² is that of the integers, and positive."""
    if counted != stated or counted <= 0:
        raise InvalidValue(f"the strategy states Δ² = {stated}, its integers have {counted}: do not run it", stated)


def exact_products(rows: Integers, counts: Integers) -> Integers:
    """R̂·counts for rows (r, k) and counts (k,) of up to 2³² people, of any size."""
    # The number of people may be secret: how sums are formed depends on the cap of it alone.
    if int(np.abs(rows).max()) * MAX_PEOPLE < _WORD:
        return np.asarray(rows @ counts.astype(np.int64))
    return np.asarray(rows.astype(object) @ counts.astype(object))


def squared_sensitivity(rows: Integers, neighbours: Neighbours) -> int:
    """The exact Δ² of an integer matrix (r, k) between neighbours; 0 where all columns agree."""
    columns = rows.astype(object) if _sums_overflow(rows) else rows.astype(float)
    if neighbours == "add-remove":
        return int((columns * columns).sum(axis=0).max())
    columns = columns - columns[:, :1]
    gram = columns.T @ columns
    squares = np.diag(gram)
    return int((squares[:, None] + squares - 2 * gram).max())


def _nearest_people(rows: Floats, noisy: Floats) -> Floats:
    try:
        return np.asarray(nnls(rows, noisy, maxiter=STRATEGY.most_pivots * rows.shape[1])[0])
    except RuntimeError:
        # An interior point method ends whatever the rows are, within a share of 10⁻¹⁰ of the least error.
        return np.asarray(np.maximum(lsq_linear(rows, noisy, bounds=(0, np.inf)).x, 0))


def unfinished(nearest: NearestHistogram) -> tuple[str, ...]:
    """What to warn of where the histogram is feasible and not the nearest; nothing where it is."""
    if nearest.converged:
        return ()
    return (
        "the best guesses are feasible but not the nearest: their squared distance to the measurement exceeds "
        f"the least by up to {nearest.excess:.3g} of the noise's variance",
    )


def _sums_overflow(rows: Integers) -> bool:
    """Whether the squared distances of columns might pass what double precision holds exactly."""
    largest = 2 * max(abs(int(rows.max())), abs(int(rows.min())))
    return 4 * len(rows) * largest * largest >= EXACT
