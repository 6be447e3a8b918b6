"""How many members a set of cells shares with its shift, at the least over all shifts but none.

Cells are those of a product of cyclic groups. Shifted by d, the set shares A(d) = |S ∩ (S + d)| cells with itself: the
autocorrelation, which is the inverse transform of |F|² of its indicator.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence


def least_overlap(members: int, shape: Sequence[int]) -> int:
    """min over d ≠ 0 of |S ∩ (S + d)|; bit c of `members` is 1 where cell c, numbered row by row, is in S.

    The cost grows with the cells times the sum of `shape`, or with the square of the cells over 64 for one axis.
    """
    cells = math.prod(shape)
    if len(shape) == 1:
        whole = (1 << cells) - 1
        shifts = ((members << d | members >> (cells - d)) & whole for d in range(1, cells))
        return min((members & shift).bit_count() for shift in shifts)
    indicator = [complex(members >> cell & 1) for cell in range(cells)]
    powers = [complex(abs(wave) ** 2) for wave in _transform(indicator, shape)]
    # Counts are whole, and rounding is far below one half; the transform of a real even function is its inverse.
    return min(round(count.real / cells) for count in _transform(powers, shape)[1:])


def _transform(points: list[complex], shape: Sequence[int]) -> list[complex]:
    """The Fourier transform along every axis, each by its definition: axes are short."""
    stride = len(points)
    for size in shape:
        stride //= size
        roots = [cmath.exp(-2j * math.pi * k / size) for k in range(size)]
        result = [0j] * len(points)
        for start in range(0, len(points), stride * size):
            for inner in range(start, start + stride):
                line = points[inner : inner + stride * size : stride]
                result[inner : inner + stride * size : stride] = [
                    sum(point * roots[j * k % size] for j, point in enumerate(line)) for k in range(size)
                ]
        points = result
    return points
