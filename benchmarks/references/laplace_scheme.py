"""Aldà and Simon's scheme as they write it: integer Laplace noise on a vector, and the answer of one known rule.

For comparison: one indicator by randomised response needs fewer users (`usefulness`). Vectors are the bits of the
arrangements of section 6, to which noise is added one by one; ε is proved in integers for the counted Δ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from benchmarks.references.discrete_laplace import BITS, DiscreteLaplace, IntegerVectors
from sordino_analysis.arrays import Floats, Mask
from sordino_analysis.vectorized.randomness import uniform_bits
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomness import Randomness


@dataclass(frozen=True, eq=False)
class LaplaceScheme:
    """Reports of `dimension` bits with noise of `law` each."""

    dimension: int
    law: DiscreteLaplace

    @classmethod
    def of(cls, extremes: IntegerVectors, guarantee: PureEpsilon, reach: int) -> LaplaceScheme:
        """For bits whose vectors are as far apart as two of `extremes` (2 or more, d); raises as DiscreteLaplace does.

        All k bits, free of one another: the vectors of zeros and of ones, with Δ = k.
        """
        if not set(np.unique(extremes).tolist()) <= {0, 1}:
            raise InvalidValue("the vectors of an arrangement are bits", extremes)
        return cls(extremes.shape[1], DiscreteLaplace.of(extremes, guarantee, reach))

    @property
    def report_bytes(self) -> int:
        """d·⌈log₂(2B + 1)⌉ bits."""
        return math.ceil(self.dimension * (2 * self.law.reach).bit_length() / 8)

    def reports(self, bits: Mask, randomness: Randomness) -> IntegerVectors:
        """(n, d) noisy vectors of (n, d) bits, drawn by the integer weights."""
        ends = np.cumsum(np.array(self.law.weights, dtype=np.uint64), axis=1)
        drawn = uniform_bits(randomness, BITS, bits.size).reshape(bits.shape)
        outputs = np.where(
            bits, np.searchsorted(ends[1], drawn, side="right"), np.searchsorted(ends[0], drawn, side="right")
        )
        return np.asarray(outputs - self.law.reach, dtype=np.int64)

    def answer(self, sums: IntegerVectors, users: int, direction: Floats, negative: Floats, positive: Floats) -> float:
        """The share of yes from the summed reports (d,), unbiased for evenly spread databases.

        `direction` (d,) is a separating half-space's weights or m₁ − m₀; `negative` and `positive` (d,) are the means
        of the bits over both classes. Of a bit there are two values, so clamping is undone exactly. Raises
        InvalidValue where the direction does not tell the classes apart.
        """
        (low, high), _ = self.law.moments
        told = (sums / users - low) / (high - low)
        apart = float(direction @ (positive - negative))
        if abs(apart) < 1e-12:
            raise InvalidValue("the direction is the same on average over both classes: take another one", direction)
        return float(direction @ (told - negative)) / apart

    def noise_variance(self, direction: Floats, negative: Floats, positive: Floats) -> float:
        """Of one report's answer, from the noise alone, at most; all arguments are (d,)."""
        (low, high), variances = self.law.moments
        apart = float(direction @ (positive - negative)) * (high - low)
        return float((direction**2).sum() * variances.max() / apart**2)
