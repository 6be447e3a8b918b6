"""The fast Fourier transform of a list whose length is a power of two, in plain Python.

Devices and shufflers prove (ε, δ) without any dependency, so there is no numpy here. 4,096 points take about 10 ms.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence


def transform(points: Sequence[complex]) -> list[complex]:
    """F_k = Σ_j points_j e^(−2πijk/n) for k = 0, …, n − 1, by Stockham's method, which needs no reordering."""
    return _stockham(list(points), -1)


def inverse_transform(waves: Sequence[complex]) -> list[complex]:
    """The points of which `waves` is the transform."""
    scale = 1 / len(waves)
    return [scale * point for point in _stockham(list(waves), 1)]


def _stockham(points: list[complex], sign: int) -> list[complex]:
    """One pass for each factor of two: rows a and b of the two halves become a + b and (a − b)·w, interleaved."""
    count = len(points)
    half, stride = count // 2, 1
    turn = sign * 2j * math.pi / count
    roots = [cmath.exp(turn * place) for place in range(half)]
    while half:
        result: list[complex] = [0j] * count
        for row in range(half):
            root = roots[row * stride]
            first = points[row * stride : (row + 1) * stride]
            second = points[(row + half) * stride : (row + half + 1) * stride]
            start = 2 * row * stride
            result[start : start + stride] = [a + b for a, b in zip(first, second, strict=True)]
            result[start + stride : start + 2 * stride] = [(a - b) * root for a, b in zip(first, second, strict=True)]
        points, half, stride = result, half // 2, stride * 2
    return points
