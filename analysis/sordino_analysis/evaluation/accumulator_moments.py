"""The exact moments of one report's accumulator s given the type x.

Probabilities are the shipped integers over 2^bits. For rows F (b, p) of a linear decoder: E[F s | x], Var(F s | x) and
the covariance of F s averaged over a histogram. Nothing is sampled. Here are the interface and the moments of random
sets, which decoders are made from; those of other reports are with their randomizers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_shared.randomizers import RandomizedResponse, SubsetMixture, SubsetSelection


class AccumulatorMoments(ABC):
    """E and Cov of the accumulator s (p,) of one report for each of k types."""

    @abstractmethod
    def means(self, rows: Floats) -> Floats:
        """E[F s | x], (b, k)."""

    @abstractmethod
    def variances(self, rows: Floats) -> Floats:
        """Var(F s | x), (b, k)."""

    @abstractmethod
    def covariance(self, rows: Floats, histogram: Floats) -> Floats:
        """Σ_x h_x Cov(F s | x), (b, b)."""

    def blanket(self, rows: Floats) -> tuple[Floats, Floats]:
        """E and Var of F s for a random report of a shuffler, (b,) each: here that of a uniform type."""
        means = self.means(rows)
        return means.mean(axis=1), np.maximum(self.variances(rows), 0.0).mean(axis=1) + means.var(axis=1)

    def mean_error(self, rows: Floats) -> Floats:
        """(b,) how far `means` may be from the truth; zero where it is exact."""
        return np.zeros(len(rows))


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


def response_moments(randomizer: RandomizedResponse) -> ExchangeableMoments:
    """Exact chances of the own and of another output, of which a report holds one."""
    whole = 1 << randomizer.bits
    other = Fraction(randomizer.other_weight, whole)
    return ExchangeableMoments(Fraction(randomizer.own_weight, whole), other, Fraction(0), Fraction(0))


def selection_moments(randomizer: SubsetSelection) -> ExchangeableMoments:
    """Exact chances: a subset of size d holds x with chance p and is uniform given that.

    So q = (d−p)/(k−1), a pair with x has p(d−1)/(k−1), and a pair of others (d−1)(d−2p)/((k−1)(k−2)).
    """
    k, d = randomizer.size, randomizer.subset_size
    own = Fraction(randomizer.include_weight, 1 << randomizer.bits)
    other, own_pair = (d - own) / (k - 1), own * (d - 1) / (k - 1)
    # Two types leave no pair of others, and nothing to multiply this by.
    pair = (d - 1) * (d - 2 * own) / ((k - 1) * (k - 2)) if k > 2 else Fraction(0)
    return ExchangeableMoments(own, other, pair, own_pair)


def mixture_moments(randomizer: SubsetMixture) -> SizeMixtureMoments:
    """The moments given each size, and the chances of the sizes, from the integers."""
    chances = tuple(weight / (1 << randomizer.bits) for weight in randomizer.size_weights)
    return SizeMixtureMoments(chances, tuple(selection_moments(part) for part in randomizer.parts))
