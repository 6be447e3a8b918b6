"""Moments of sums of values that are drawn without replacement."""

from __future__ import annotations

from math import comb

import numpy as np

from sordino_analysis.arrays import Floats


def drawn_sums(values: Floats, size: int) -> Floats:
    """(5, k) E Tʲ, j = 0 … 4, for T the sum of `size` of the values but x's own, drawn without replacement.

    E Tʲ adds up the chances of 1 … j distinct values, each with a symmetric polynomial of power sums.
    """
    others = len(values) - 1
    p1, p2, p3, p4 = ((values**power).sum() - values**power for power in range(1, 5))
    one, two, three, four = np.cumprod([(size - i) / (others - i) if others > i else 0.0 for i in range(4)])
    second = one * p2 + two * (p1**2 - p2)
    third = one * p3 + 3 * two * (p2 * p1 - p3) + three * (p1**3 - 3 * p1 * p2 + 2 * p3)
    fourth = (
        one * p4
        + two * (4 * (p3 * p1 - p4) + 3 * (p2**2 - p4))
        + 6 * three * (p2 * p1**2 - p2**2 - 2 * p3 * p1 + 2 * p4)
        + four * (p1**4 - 6 * p1**2 * p2 + 3 * p2**2 + 8 * p1 * p3 - 6 * p4)
    )
    return np.stack([np.ones_like(p1), one * p1, second, third, fourth])


def moved(raw: Floats, by: Floats) -> Floats:
    """Raw moments (5, k) of T + by from those of T."""
    return np.stack([sum(comb(j, i) * raw[i] * by ** (j - i) for i in range(j + 1)) for j in range(5)])
