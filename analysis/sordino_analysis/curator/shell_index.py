"""The index of an Eulerian polynomial of type B, drawn exactly with weights b_j e^(−j/scale)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from sordino_shared._checks import check_range
from sordino_shared.randomness import Randomness

# As many answers as a curator measures at once.
MAX_DIMENSION = 1024
# Bits that are drawn first: further ones decide the rare ties.
_FIRST_BITS = 128


def eulerian_type_b(dimension: int) -> list[int]:
    """b_0, …, b_d of Σ_r (2r+1)^d x^r = Σ_j b_j x^j / (1−x)^(d+1), all positive.

    They follow b(d, j) = (2j+1) b(d−1, j) + (2(d−j)+1) b(d−1, j−1).
    """
    row = [1]
    for size in range(1, dimension + 1):
        shifted = [0, *row]
        row = [
            (2 * j + 1) * here + (2 * (size - j) + 1) * before
            for j, (here, before) in enumerate(zip([*row, 0], shifted, strict=True))
        ]
    return row


class ShellIndex:
    """P(j) ∝ b_j e^(−j/scale), 0 ≤ j ≤ d, decided from as many bits as it takes."""

    def __init__(self, dimension: int, scale: Fraction) -> None:
        check_range(dimension, 1, MAX_DIMENSION, "dimension of a ball")
        self._coefficients = eulerian_type_b(dimension)
        self._rate = 1 / scale
        self._brackets: dict[int, tuple[list[int], list[int]]] = {}

    def draw(self, count: int, randomness: Randomness) -> NDArray[np.int64]:
        """(count, ) indices."""
        return np.array([self._one(randomness) for _ in range(count)], dtype=np.int64)

    def _one(self, randomness: Randomness) -> int:
        bits, uniform = 0, 0
        for wanted in self._precisions():
            uniform = (uniform << (wanted - bits)) | int.from_bytes(randomness.bytes((wanted - bits) // 8), "big")
            bits = wanted
            index = self._decided(uniform, bits)
            if index is not None:
                return index
        raise AssertionError("precisions never end")

    @staticmethod
    def _precisions() -> Iterator[int]:
        bits = _FIRST_BITS
        while True:
            yield bits
            bits *= 2

    def _decided(self, uniform: int, bits: int) -> int | None:
        """The index j with F_{j−1} ≤ U < F_j for every U that begins with these bits; None where that is open."""
        lows, highs = self._bracket(bits)
        for index, (low, high) in enumerate(zip(lows, highs, strict=True)):
            if uniform + 1 <= low:
                return index
            if uniform < high:
                return None
        return None

    def _bracket(self, bits: int) -> tuple[list[int], list[int]]:
        """2^bits times lower and upper bounds of the distribution function, the last one exact."""
        if bits not in self._brackets:
            low_power, high_power = exponential_bracket(self._rate, 2 * bits)
            below, above, low, high = [], [], 1 << 2 * bits, 1 << 2 * bits
            for coefficient in self._coefficients:
                below.append(coefficient * low)
                above.append(coefficient * high)
                low, high = low * low_power >> 2 * bits, -(-high * high_power >> 2 * bits)
            sums_below, sums_above = list(accumulate(below)), list(accumulate(above))
            least, most = sums_below[-1], sums_above[-1]
            pairs = list(zip(sums_below, sums_above, strict=True))
            lows = [(low << bits) // (low + most - high) for low, high in pairs]
            highs = [-(-(high << bits) // (high + least - low)) for low, high in pairs]
            self._brackets[bits] = lows, highs
        return self._brackets[bits]


def exponential_bracket(rate: Fraction, bits: int) -> tuple[int, int]:
    """Whole numbers a ≤ 2^bits e^(−rate) ≤ b, for rate ≥ 0, with b − a a few units.

    The Taylor series of e^rate has positive terms. Rounded down it is below; one unit a term, times the growth of
    what a term lost, covers both the rounding and the tail.
    """
    guard = 64 + 2 * int(rate)
    one = 1 << (bits + guard)
    term = total = one
    index = 0
    while term:
        index += 1
        term = term * rate.numerator // (index * rate.denominator)
        total += term
    lost = (index + 1) << (2 * int(rate) + 2)
    shift = 2 * bits + guard
    return (1 << shift) // (total + lost), -(-(1 << shift) // total)
