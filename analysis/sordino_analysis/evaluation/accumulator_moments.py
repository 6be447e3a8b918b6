"""The exact law of one report's statistic s given the type x, for every shipped randomizer.

Probabilities are the shipped integers over 2^bits. For rows F (b, p) of a linear decoder: E[F s | x], Var(F s | x) and
the covariance of F s averaged over a histogram. Nothing is sampled.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import (
    FiniteKernel,
    Pair,
    RandomizedResponse,
    Randomizer,
    SeededDirection,
    SubsetMixture,
    SubsetSelection,
)

# ‖E[bit·ĝ | x] − (2t_x/2^B − 1)·c_d·û_x‖ relative to the second term, for atoms in place of normal variables. Exact
# sums at d = 2 reach 1.1e-4 for vectors just beside a diagonal, where two atoms tie, and 5.6e-5 beside an axis; generic
# vectors and more dimensions average the steps of the atoms out, to 1e-6. A plan states almost twice the worst.
DIRECTION_ERROR = 2e-4


class AccumulatorMoments(ABC):
    """E and Cov of the statistic s (p,) for each of k types."""

    @abstractmethod
    def means(self, rows: Floats) -> Floats:
        """E[F s | x], (b, k)."""

    @abstractmethod
    def variances(self, rows: Floats) -> Floats:
        """Var(F s | x), (b, k)."""

    @abstractmethod
    def covariance(self, rows: Floats, histogram: Floats) -> Floats:
        """Σ_x h_x Cov(F s | x), (b, b)."""

    def mean_error(self, rows: Floats) -> Floats:
        """(b,) how far `means` may be from the truth; zero where it is exact."""
        return np.zeros(len(rows))


@dataclass(frozen=True, eq=False)
class KernelMoments(AccumulatorMoments):
    """s = e_y for an output y of a kernel K (p, k): E[(F s)²|x] is (F∘F)K."""

    kernel: Floats

    def means(self, rows: Floats) -> Floats:
        return rows @ self.kernel

    def variances(self, rows: Floats) -> Floats:
        return np.asarray(rows**2 @ self.kernel - (rows @ self.kernel) ** 2)

    def covariance(self, rows: Floats, histogram: Floats) -> Floats:
        means = rows @ self.kernel
        return np.asarray((rows * (self.kernel @ histogram)) @ rows.T - (means * histogram) @ means.T)


@dataclass(frozen=True, eq=False)
class ExchangeableMoments(AccumulatorMoments):
    """s ∈ {0,1}^k where all positions but the type's own are alike: indicators of a random set.

    `own` and `other` are the chances of holding the type and another one; `pair` and `own_pair` those of holding two
    others, and the type with another. So Cov(s|x) = `spread`·I + `shared`·11ᵀ off the own position, and
    Var(w·s|x) = spread·Σw² + shared·(Σw)² + cross·w_x·Σw + square·w_x².
    """

    own: Fraction
    other: Fraction
    pair: Fraction
    own_pair: Fraction

    @property
    def shared(self) -> float:
        return float(self.pair - self.other**2)

    @property
    def spread(self) -> float:
        return float(self.other - self.pair)

    @property
    def cross(self) -> float:
        return float(2 * (self._own_covariance - (self.pair - self.other**2)))

    @property
    def square(self) -> float:
        others = self.other - self.other**2 - 2 * (self.pair - self.other**2)
        return float(self.own - self.own**2 - others - 2 * self._own_covariance)

    @property
    def _own_covariance(self) -> Fraction:
        return self.own_pair - self.own * self.other

    def means(self, rows: Floats) -> Floats:
        return np.asarray(float(self.other) * rows.sum(axis=1, keepdims=True) + float(self.own - self.other) * rows)

    def variances(self, rows: Floats) -> Floats:
        sums, squares = rows.sum(axis=1, keepdims=True), (rows**2).sum(axis=1, keepdims=True)
        common = self.spread * squares + self.shared * sums**2
        return np.asarray(common + self.cross * sums * rows + self.square * rows**2)

    def covariance(self, rows: Floats, histogram: Floats) -> Floats:
        sums, held = rows.sum(axis=1), rows @ histogram
        crossed = np.outer(held, sums)
        common = self.spread * (rows @ rows.T) + self.shared * np.outer(sums, sums)
        own = self.cross / 2 * (crossed + crossed.T) + self.square * ((rows * histogram) @ rows.T)
        return np.asarray(common + own)


@dataclass(frozen=True, eq=False)
class SizeMixtureMoments(AccumulatorMoments):
    """s = (0, …, s_j, …, 0): the indicators of a random set, in the place j of its size, which has chance p_j.

    `parts` are the laws of s_j given the size, each over k types; F is (b, D·k).
    """

    chances: tuple[float, ...]
    parts: tuple[ExchangeableMoments, ...]

    def means(self, rows: Floats) -> Floats:
        weighted = [p * part.means(block) for p, part, block in self._by_size(rows)]
        return np.asarray(np.sum(weighted, axis=0))

    def variances(self, rows: Floats) -> Floats:
        squares = [p * (part.variances(block) + part.means(block) ** 2) for p, part, block in self._by_size(rows)]
        return np.asarray(np.sum(squares, axis=0) - self.means(rows) ** 2)

    def covariance(self, rows: Floats, histogram: Floats) -> Floats:
        products = [
            p * (part.covariance(block, histogram) + (part.means(block) * histogram) @ part.means(block).T)
            for p, part, block in self._by_size(rows)
        ]
        means = self.means(rows)
        return np.asarray(np.sum(products, axis=0) - (means * histogram) @ means.T)

    def _by_size(self, rows: Floats) -> Iterator[tuple[float, ExchangeableMoments, Floats]]:
        return zip(self.chances, self.parts, np.split(rows, len(self.parts), axis=1), strict=True)


@dataclass(frozen=True, eq=False)
class DirectionMoments(AccumulatorMoments):
    """s = ±ĝ for a direction ĝ of d dimensions: E[s|x] is `vectors`[:, x] (d, k) and E[s sᵀ] is I/d exactly.

    The second is exact for the atoms as well, since entries of ĝ are exchangeable and have symmetric signs.
    """

    vectors: Floats

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.vectors.shape[0])

    def means(self, rows: Floats) -> Floats:
        return rows @ self.vectors

    def variances(self, rows: Floats) -> Floats:
        second = (rows**2).sum(axis=1, keepdims=True) / self.dimension
        return np.asarray(second - (rows @ self.vectors) ** 2)

    def covariance(self, rows: Floats, histogram: Floats) -> Floats:
        means = rows @ self.vectors
        return np.asarray(rows @ rows.T / self.dimension - (means * histogram) @ means.T)

    def mean_error(self, rows: Floats) -> Floats:
        if self.dimension == 1:
            return np.zeros(len(rows))
        longest = float(np.sqrt((self.vectors**2).sum(axis=0).max()))
        return np.asarray(DIRECTION_ERROR * longest * np.sqrt((rows**2).sum(axis=1)))


@dataclass(frozen=True, eq=False)
class PairMoments(AccumulatorMoments):
    """s = (s₁, s₂), independent given the type; with `products` also ⟨s₁, s₂⟩ of two directions in d dimensions.

    E[⟨s₁, s₂⟩²] = 1/d and E[⟨s₁, s₂⟩ s₁ | x] = E[s₂ | x]/d, since E[s sᵀ] is I/d for either. F is (b, p₁ + p₂ [+ 1]).
    """

    first: AccumulatorMoments
    second: AccumulatorMoments
    sizes: tuple[int, int]
    products: bool

    def means(self, rows: Floats) -> Floats:
        left, right, last = self._split(rows)
        together: Floats = self.first.means(left) + self.second.means(right)
        return together + np.outer(last, self._inner()) if self.products else together

    def variances(self, rows: Floats) -> Floats:
        left, right, last = self._split(rows)
        spread: Floats = self.first.variances(left) + self.second.variances(right)
        if not self.products:
            return spread
        together = self.first.means(left) + self.second.means(right)
        squares = together**2 + 2 * last[:, None] * self._crossed(left, right) + last[:, None] ** 2 / self.sizes[0]
        return np.asarray(spread + squares - self.means(rows) ** 2)

    def covariance(self, rows: Floats, histogram: Floats) -> Floats:
        left, right, last = self._split(rows)
        spread: Floats = self.first.covariance(left, histogram) + self.second.covariance(right, histogram)
        if not self.products:
            return spread
        together, means = self.first.means(left) + self.second.means(right), self.means(rows)
        crossed = np.outer(self._crossed(left, right) @ histogram, last)
        squares = (together * histogram) @ together.T + crossed + crossed.T + np.outer(last, last) / self.sizes[0]
        return np.asarray(spread + squares - (means * histogram) @ means.T)

    def mean_error(self, rows: Floats) -> Floats:
        left, right, last = self._split(rows)
        # Either mean has at most length one, so their inner product is off by at most both errors.
        return np.asarray(
            self.first.mean_error(left) + self.second.mean_error(right) + 2 * DIRECTION_ERROR * np.abs(last)
        )

    def _split(self, rows: Floats) -> tuple[Floats, Floats, Floats]:
        """What is decoded from s₁, from s₂ and (b,) from their inner product."""
        ends = self.sizes[0], sum(self.sizes)
        return rows[:, : ends[0]], rows[:, ends[0] : ends[1]], rows[:, ends[1] :].sum(axis=1)

    def _vectors(self) -> tuple[Floats, Floats]:
        """Mean directions of both parts, (d, k)."""
        basis = np.eye(self.sizes[0])
        return self.first.means(basis), self.second.means(basis)

    def _inner(self) -> Floats:
        """(k,) E[⟨s₁, s₂⟩ | x]."""
        first, second = self._vectors()
        return np.asarray((first * second).sum(axis=0))

    def _crossed(self, left: Floats, right: Floats) -> Floats:
        """(b, k) E[⟨s₁, s₂⟩·(F₁s₁ + F₂s₂) | x]."""
        first, second = self._vectors()
        return np.asarray((left @ second + right @ first) / self.sizes[0])


def half_sphere_mean(dimension: int) -> float:
    """c_d = E|⟨ĝ, u⟩| = Γ(d/2)/(√π Γ((d+1)/2)) for a uniform direction ĝ and a unit vector u in d dimensions."""
    return math.exp(math.lgamma(dimension / 2) - math.lgamma((dimension + 1) / 2)) / math.sqrt(math.pi)


def accumulator_moments(randomizer: Randomizer) -> AccumulatorMoments:
    """The law of the randomizer's statistic; raises InvalidValue for one that is not known here."""
    if isinstance(randomizer, FiniteKernel):
        return KernelMoments(randomizer.table / float(1 << randomizer.bits))
    if isinstance(randomizer, (RandomizedResponse, SubsetSelection)):
        return exchangeable_moments(randomizer)
    if isinstance(randomizer, SubsetMixture):
        return size_mixture_moments(randomizer)
    if isinstance(randomizer, SeededDirection):
        return _direction_law(randomizer)
    if isinstance(randomizer, Pair):
        parts = (randomizer.first, randomizer.second)
        sizes = (parts[0].accumulator_size, parts[1].accumulator_size)
        return PairMoments(accumulator_moments(parts[0]), accumulator_moments(parts[1]), sizes, randomizer.has_products)
    raise InvalidValue(f"no exact law is known for the randomizer {type(randomizer).__name__}", randomizer)


def exchangeable_moments(randomizer: RandomizedResponse | SubsetSelection) -> ExchangeableMoments:
    """Exact chances: a subset of size d holds x with chance p and is uniform given that; d = 1 is randomized response.

    So q = (d−p)/(k−1), a pair with x has p(d−1)/(k−1), and a pair of others (d−1)(d−2p)/((k−1)(k−2)).
    """
    if isinstance(randomizer, RandomizedResponse):
        whole = 1 << randomizer.bits
        other = Fraction(randomizer.other_weight, whole)
        return ExchangeableMoments(Fraction(randomizer.own_weight, whole), other, Fraction(0), Fraction(0))
    k, d = randomizer.size, randomizer.subset_size
    own = Fraction(randomizer.include_weight, 1 << randomizer.bits)
    other, own_pair = (d - own) / (k - 1), own * (d - 1) / (k - 1)
    # Two types leave no pair of others, and nothing to multiply this by.
    pair = (d - 1) * (d - 2 * own) / ((k - 1) * (k - 2)) if k > 2 else Fraction(0)
    return ExchangeableMoments(own, other, pair, own_pair)


def size_mixture_moments(randomizer: SubsetMixture) -> SizeMixtureMoments:
    """The law given each size, and the chances of the sizes, from the integers."""
    chances = tuple(weight / (1 << randomizer.bits) for weight in randomizer.size_weights)
    return SizeMixtureMoments(chances, tuple(exchangeable_moments(part) for part in randomizer.parts))


def _direction_law(randomizer: SeededDirection) -> DirectionMoments:
    vectors = randomizer.vectors.numpy().astype(float).T
    lengths = np.sqrt((vectors**2).sum(axis=0))
    kept = randomizer.keep_weights.numpy().astype(float) / float(1 << (randomizer.bits - 1)) - 1.0
    sizes = kept * half_sphere_mean(randomizer.dimension)
    # A type with the zero vector reports a fair coin on average, whatever its keep weight.
    return DirectionMoments(vectors * np.divide(sizes, lengths, out=np.zeros_like(sizes), where=lengths > 0))
