"""Noise of a trusted curator: discrete Gaussian, discrete Laplace and the ball of ℓ∞ on the lattice, without floats.

Laws are drawn by rejection in integers (Canonne, Kamath and Steinke 2020, Algorithms 1 to 3), so that the privacy
proof is about the numbers that are released.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.curator.coins import exponential_coins, exponential_share_coins, exponential_unit_coins
from sordino_analysis.curator.shell_index import MAX_DIMENSION, ShellIndex
from sordino_analysis.vectorized.randomness import uniform_below, uniform_bits
from sordino_shared._checks import check_range
from sordino_shared.errors import InvalidValue
from sordino_shared.randomness import Randomness, SystemRandomness

Integers = NDArray[np.int64]
# A geometric variable beyond 2¹² of its means has a probability below e^(−4096); machine words hold it up to there.
_MAX_SCALE = 2**50
# A smaller scale would be drawn as nothing but 0.
_LEAST_SCALE = Fraction(1, 1000)
# Machine words hold this many means.
_MAX_MEANS = 2**12
# Radii of 1024 dimensions stay far below 2⁶².
_MAX_BALL_SCALE = 2**40
# Acceptance is at least .6; the last few are drawn again in chunks of at least this size.
_LEAST_CHUNK = 64
# The rejection sampler compares in integers of this size.
_MAX_VARIANCE = 2**80


class CuratorNoise:
    """Draws of noise from one source of randomness: the operating system's, or a seed's in tests.

    Raises InvalidValue for any other source unless `seeded_for_tests`: who knows the seed of a release reads the rows.
    """

    def __init__(self, randomness: Randomness | None = None, *, seeded_for_tests: bool = False) -> None:
        source = SystemRandomness() if randomness is None else randomness
        if type(source) is not SystemRandomness and not seeded_for_tests:
            raise InvalidValue("noise of a release comes from the operating system: leave out the seed", source)
        self._randomness = source

    def gaussian(self, variance: Fraction, count: int) -> Integers:
        """(count, ) draws of N_Z(0, σ²): P(z) ∝ e^(−z²/2σ²), with 0 < σ² ≤ 2⁸⁰ a ratio of integers.

        Raises InvalidValue for a variance outside.
        """
        check_variance(variance)
        return self._until(count, lambda chunk: self._accepted_gaussian(variance, chunk))

    def laplace(self, scale: Fraction, count: int) -> Integers:
        """(count, ) draws of P(z) ∝ e^(−|z|/scale), with a scale of numerator at most 2⁵⁰.

        Raises InvalidValue for another scale.
        """
        check_scale(scale)
        return self._until(count, lambda chunk: self._accepted_laplace(scale, chunk))

    def ball(self, scale: Fraction, dimension: int, count: int) -> Integers:
        """(count, dimension) draws of P(z) ∝ e^(−‖z‖∞/scale) on the lattice.

        e^(−‖z‖/s) = (1 − e^(−1/s)) Σ_{r ≥ ‖z‖} e^(−r/s): z is uniform in a cube of radius r with
        P(r) ∝ (2r+1)^d e^(−r/s). That law has the generating function B_d(x)/(1−x)^(d+1) with the Eulerian polynomial
        B_d of type B, whose coefficients are positive: r is a sum of d + 1 geometric variables and an index of B_d.
        Raises InvalidValue for a scale above 2⁴⁰ or of another form, or a dimension outside 1 to 1024.
        """
        check_ball(scale, dimension)
        index = ShellIndex(dimension, scale)
        radii = self._geometric(scale, (dimension + 1) * count).reshape(count, dimension + 1).sum(axis=1)
        radii += index.draw(count, self._randomness)
        widths = np.repeat(2 * radii + 1, dimension)
        return np.asarray((self._below_each(widths) - widths // 2).reshape(count, dimension))

    def _until(self, count: int, draw: Callable[[int], Integers]) -> Integers:
        """`count` accepted draws; acceptance depends on the noise alone, so the time tells nothing of any row."""
        drawn: list[Integers] = []
        missing = count
        while missing > 0:
            drawn.append(draw(max(_LEAST_CHUNK, missing + missing // 2)))
            missing -= len(drawn[-1])
        return np.concatenate(drawn)[:count] if drawn else np.zeros(0, dtype=np.int64)

    def _accepted_gaussian(self, variance: Fraction, chunk: int) -> Integers:
        """Discrete Laplace of scale t = ⌊σ⌋ + 1, accepted with e^(−(|y| − σ²/t)²/2σ²)."""
        t = math.isqrt(math.floor(variance)) + 1
        drawn = self._accepted_laplace(Fraction(t), chunk)
        distances = np.abs(drawn).astype(object) * (t * variance.denominator) - variance.numerator
        denominator = 2 * variance.numerator * variance.denominator * t * t
        return drawn[exponential_coins(distances * distances, denominator, self._randomness)]

    def _accepted_laplace(self, scale: Fraction, chunk: int) -> Integers:
        """A geometric variable with a sign, where −0 is rejected."""
        magnitudes = self._geometric(scale, chunk)
        negative = uniform_bits(self._randomness, 1, chunk) == 1
        kept = ~(negative & (magnitudes == 0))
        return np.asarray(np.where(negative, -magnitudes, magnitudes)[kept])

    def _geometric(self, scale: Fraction, count: int) -> Integers:
        """(count, ) P(z) ∝ e^(−z/scale), z ≥ 0: ⌊X/s⌋ for X = u + t·v of scale t, at scale = t/s."""
        t = scale.numerator
        remainders = self._until(count, lambda chunk: self._accepted_remainders(t, chunk))
        wholes = np.zeros(count, dtype=np.int64)
        open_draws = np.arange(count)
        while open_draws.size:
            open_draws = open_draws[exponential_unit_coins(len(open_draws), self._randomness)]
            wholes[open_draws] += 1
        if count and wholes.max() >= _MAX_MEANS:
            raise ArithmeticError("a draw beyond 4096 means has a probability below e^-4096: the generator is broken")
        return np.asarray((remainders + t * wholes) // scale.denominator)

    def _accepted_remainders(self, t: int, chunk: int) -> Integers:
        """u uniform in [0, t), accepted with e^(−u/t)."""
        drawn = uniform_below(self._randomness, t, chunk)
        return drawn[exponential_share_coins(drawn, t, self._randomness)].astype(np.int64)

    def _below_each(self, bounds: Integers) -> Integers:
        """(n, ) uniform integers in [0, bound) for each bound: words past its last multiple are drawn again."""
        sizes = bounds.astype(np.uint64)
        words = uniform_bits(self._randomness, 63, len(sizes))
        limits = np.uint64(2**63) - np.uint64(2**63) % sizes
        while (rejected := words >= limits).any():
            words[rejected] = uniform_bits(self._randomness, 63, int(rejected.sum()))
        return (words % sizes).astype(np.int64)


def check_variance(variance: Fraction) -> None:
    """Raise InvalidValue for a variance that `gaussian` does not draw."""
    if not isinstance(variance, Fraction) or not 0 < variance <= _MAX_VARIANCE:
        raise InvalidValue(f"the variance must be a fraction above 0 and at most 2^80, got {variance!r}", variance)


def check_scale(scale: Fraction) -> None:
    """Raise InvalidValue for a scale that `laplace` does not draw."""
    if not isinstance(scale, Fraction) or scale < _LEAST_SCALE or scale.numerator > _MAX_SCALE:
        raise InvalidValue(
            f"the scale must be a fraction of at least 1/1000 with a numerator up to 2^50, got {scale!r}", scale
        )


def check_ball(scale: Fraction, dimension: int) -> None:
    """Raise InvalidValue for a scale or a dimension that `ball` does not draw."""
    check_scale(scale)
    if scale > _MAX_BALL_SCALE:
        raise InvalidValue(f"the scale of a ball must be at most 2^40, got {scale}", scale)
    check_range(dimension, 1, MAX_DIMENSION, "dimension of a ball")
