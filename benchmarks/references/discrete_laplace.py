"""Aldà and Simon's Laplace noise on integer vectors: two-sided geometric, clamped, with ε proved in integers.

A device holds one of the integer vectors U_x. To each coordinate it adds geometric noise and clamps to −B … B, which
is post-processing. Two neighbouring values of a coordinate have laws within ρ of one another, and two vectors differ
by Δ steps at most, so a report's chances are within ρ^Δ ≤ e^ε. Δ is counted, not bounded by 2√d as in Lemma 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon, exp_lower_bound

BITS = 60
_FRACTION_BITS = 128
# Rounding down to integers moves the ratio by some 2^-20 where the least weight is above 2^20.
_LEAST_WEIGHT = 1 << 20
_ROOM = 1e-5

IntegerVectors = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DiscreteLaplace:
    """The law of one coordinate: row u − low of `weights`, out of 2^BITS each, is over the outputs −B … B.

    `low` is the least value of a coordinate, `steps` Δ, the most by which two vectors differ.
    """

    weights: tuple[tuple[int, ...], ...]
    low: int
    steps: int

    @classmethod
    def of(cls, vectors: IntegerVectors, guarantee: PureEpsilon, reach: int) -> DiscreteLaplace:
        """For (M, d) integer vectors and outputs up to ±`reach`; raises InvalidValue where the integers do not prove ε.

        That is where noise is so rare at the ends that its weight is nothing: take a smaller `reach`.
        """
        low, high = int(vectors.min()), int(vectors.max())
        if reach < max(abs(low), abs(high)) or low == high:
            raise InvalidValue(f"outputs up to ±{reach} do not hold the values {low} to {high}", reach)
        steps = most_steps(vectors)
        ratio = math.exp(-(1 - _ROOM) * guarantee.epsilon / steps)
        law = cls(tuple(_weights(value, reach, ratio) for value in range(low, high + 1)), low, steps)
        if min(map(min, law.weights)) < _LEAST_WEIGHT or not law.holds(guarantee):
            raise InvalidValue(
                f"the integers do not prove {guarantee} for outputs up to ±{reach}: take a smaller reach", reach
            )
        return law

    @property
    def reach(self) -> int:
        """B."""
        return len(self.weights[0]) // 2

    @cached_property
    def ratio(self) -> Fraction:
        """ρ, the largest ratio of an output's chances under neighbouring values."""
        pairs = zip(self.weights, self.weights[1:], strict=False)
        return max(max(Fraction(a, b), Fraction(b, a)) for one, next_ in pairs for a, b in zip(one, next_, strict=True))

    def holds(self, guarantee: PureEpsilon) -> bool:
        """Whether ρ^Δ ≤ e^ε, in integers."""
        most = Fraction(exp_lower_bound(guarantee.nano, _FRACTION_BITS), 1 << _FRACTION_BITS)
        return self.ratio**self.steps <= most

    @cached_property
    def moments(self) -> tuple[Floats, Floats]:
        """(values,) each: mean and variance of the output for every value of a coordinate, clamping included."""
        outputs = np.arange(-self.reach, self.reach + 1)
        chances = np.array(self.weights, dtype=float) / 2.0**BITS
        means = chances @ outputs
        return means, chances @ outputs**2 - means**2


def most_steps(vectors: IntegerVectors) -> int:
    """Δ, the largest ℓ1 distance of two of the (M, d) vectors."""
    return max(int(np.abs(vectors - vector).sum(axis=1).max()) for vector in vectors)


def _weights(value: int, reach: int, ratio: float) -> tuple[int, ...]:
    """Of the outputs −B … B: both ends carry the tails beyond them, and the value itself what rounding leaves."""
    whole = 1 << BITS
    inner = [int(whole * (1 - ratio) / (1 + ratio) * ratio ** abs(z - value)) for z in range(-reach, reach + 1)]
    inner[0] = int(whole * ratio ** (value + reach) / (1 + ratio))
    inner[-1] = int(whole * ratio ** (reach - value) / (1 + ratio))
    inner[value + reach] += whole - sum(inner)
    return tuple(inner)
