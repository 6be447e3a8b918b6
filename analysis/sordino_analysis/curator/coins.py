"""Coins of probability e^(−x) for rational x, exact, many at a time (Canonne, Kamath and Steinke 2020, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Mask
from sordino_analysis.vectorized.randomness import uniform_below, uniform_bits
from sordino_shared.errors import InvalidValue
from sordino_shared.randomness import Randomness

Words = NDArray[np.uint64]
# Python's integers in an array: exact at any size, and ten times slower than machine words.
BigIntegers = NDArray[np.object_]
Indices = NDArray[np.int64]
# Bits that are drawn first: further ones decide ties, one coin in 2^62.
_BITS = 62


def exponential_coins(exponents: BigIntegers, denominator: int, randomness: Randomness) -> Mask:
    """Coins that are true with probability e^(−exponents/denominator), (n, ) integers of at least 0 → (n, ).

    Raises InvalidValue for a negative exponent.
    """
    if len(exponents) and min(exponents) < 0:
        raise InvalidValue("e^(−x) is a probability for x of at least 0 alone")
    wholes = np.minimum(exponents // denominator, 2**62).astype(np.int64)
    heads = _below_one(exponents % denominator, denominator, randomness)
    # e^(−w): w coins of e^(−1), of which most fail early.
    while (open_coins := np.flatnonzero(heads & (wholes > 0))).size:
        heads[open_coins] = exponential_unit_coins(len(open_coins), randomness)
        wholes[open_coins] -= 1
    return heads


def exponential_unit_coins(count: int, randomness: Randomness) -> Mask:
    """(count, ) coins of probability e^(−1)."""
    return _alternating(np.arange(count), lambda waiting: np.ones(len(waiting), dtype=bool), randomness)


def exponential_share_coins(numerators: Words, denominator: int, randomness: Randomness) -> Mask:
    """Coins that are true with probability e^(−numerators/denominator), (n, ) words of at most denominator → (n, ).

    As `exponential_coins`, in machine words; denominator ≤ 2⁶³.
    """

    def draw(waiting: Indices) -> Mask:
        return np.asarray(uniform_below(randomness, denominator, len(waiting)) < numerators[waiting])

    return _alternating(np.arange(len(numerators)), draw, randomness)


def _below_one(exponents: BigIntegers, denominator: int, randomness: Randomness) -> Mask:
    chances = _Chances(exponents, denominator)
    return _alternating(np.arange(len(exponents)), lambda waiting: chances.draw(waiting, randomness), randomness)


def _alternating(indices: Indices, draw: Callable[[Indices], Mask], randomness: Randomness) -> Mask:
    """Coins of e^(−γ) from coins of γ: with A_j of probability γ/j, the first j that fails is odd with e^(−γ)."""
    heads = np.zeros(len(indices), dtype=bool)
    waiting, step = indices, 1
    while waiting.size:
        goes_on = draw(waiting)
        goes_on &= uniform_below(randomness, step, len(waiting)) == 0
        heads[waiting[~goes_on]] = step % 2 == 1
        waiting, step = waiting[goes_on], step + 1
    return heads


class _Chances:
    """Rational probabilities, compared with 62 bits first and with as many as it takes where those are equal."""

    def __init__(self, numerators: BigIntegers, denominator: int) -> None:
        self._numerators, self._denominator = numerators, denominator
        self._words = ((numerators << _BITS) // denominator).astype(np.uint64)

    def draw(self, indices: Indices, randomness: Randomness) -> Mask:
        """One coin for each of these indices, (m, ) → (m, )."""
        drawn, words = uniform_bits(randomness, _BITS, len(indices)), self._words[indices]
        heads = np.asarray(drawn < words)
        for tie in np.flatnonzero(drawn == words):
            numerator = int(self._numerators[indices[tie]])
            heads[tie] = _rest_of_bits(Fraction(numerator << _BITS, self._denominator) % 1, randomness)
        return heads


def _rest_of_bits(chance: Fraction, randomness: Randomness) -> bool:
    """A coin of this probability below 1, bit by bit."""
    while chance:
        chance *= 2
        bit = int(uniform_bits(randomness, 1, 1)[0])
        if bit != int(chance):
            return bit < int(chance)
        chance %= 1
    return False
