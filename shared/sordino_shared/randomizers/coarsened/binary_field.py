"""The fields GF(2^r), r from 1 to 64: polynomials over F₂, bit i being the coefficient of x^i, modulo a fixed one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
MAX_DEGREE = 64
# The polynomial of GF(2^r) is x^r plus the one written here at place r − 1: of all irreducible ones of degree r it is
# the least as an integer.
# fmt: off
LOW_PARTS = (
    1, 3, 3, 3, 5, 3, 3, 27, 3, 9, 5, 9, 27, 33, 3, 43,
    9, 9, 39, 9, 5, 3, 33, 27, 9, 27, 39, 3, 5, 3, 9, 141,
    75, 27, 5, 53, 63, 99, 17, 57, 9, 39, 89, 33, 27, 3, 33, 45,
    113, 29, 75, 9, 71, 125, 71, 149, 17, 99, 123, 3, 39, 105, 3, 27,
)
# fmt: on
_ONE = np.uint64(1)


def times_x(elements: Words, degree: int) -> Words:
    """(n,) x·a of every element a."""
    carried = (elements >> np.uint64(degree - 1)) & _ONE
    shifted = (elements << _ONE) & np.uint64((1 << degree) - 1)
    return np.asarray(shifted ^ (carried * np.uint64(LOW_PARTS[degree - 1] & ((1 << degree) - 1))))


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
    for shift in (32, 16, 8, 4, 2, 1):
        folded ^= folded >> np.uint64(shift)
    return folded & _ONE
