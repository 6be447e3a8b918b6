"""The fields GF(2^r) for many elements; see `sordino_shared.randomizers.coarsened.binary_field`."""

from __future__ import annotations

import numpy as np

from sordino_analysis.vectorized.randomness import Words
from sordino_shared.randomizers.coarsened.binary_field import low_part

_ONE = np.uint64(1)
# Halves of words of 64 bits: the parity of a word is that of its halves, xored.
_HALVES = (32, 16, 8, 4, 2, 1)


def times_x(elements: Words, degree: int) -> Words:
    """(n,) x·a of every element a."""
    carried = (elements >> np.uint64(degree - 1)) & _ONE
    shifted = (elements << _ONE) & np.uint64((1 << degree) - 1)
    return np.asarray(shifted ^ (carried * np.uint64(low_part(degree))))


def multiply(first: Words, second: Words, degree: int) -> Words:
    """(n,) products a·b."""
    product = np.zeros_like(first)
    power = first
    for place in range(degree):
        product = product ^ (power * ((second >> np.uint64(place)) & _ONE))
        power = times_x(power, degree)
    return product


def parity(words: Words) -> Words:
    """(n,) the sum of a word's bits modulo 2."""
    folded = words.copy()
    for shift in _HALVES:
        folded ^= folded >> np.uint64(shift)
    return folded & _ONE
