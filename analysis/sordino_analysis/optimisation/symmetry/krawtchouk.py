"""Krawtchouk values, exact: characters of binary attributes, summed over all of one width."""

from __future__ import annotations

from functools import cache

import numpy as np

from sordino_analysis.arrays import Floats


def krawtchouk(attributes: int, width: int) -> Floats:
    """(attributes + 1, width + 1) K_j(i; d) = Σ over the sets S of j attributes of χ_S at a cell with i ones.

    Sums are of whole numbers, so nothing cancels: (d − i choose j) terms of one sign meet as many of the other.
    """
    return np.array(krawtchouk_integers(attributes, width), dtype=float)


@cache
def krawtchouk_integers(attributes: int, width: int) -> tuple[tuple[int, ...], ...]:
    """The same as whole numbers of any size. Coefficients of (1 − t)^i (1 + t)^(d − i) up to t^width, for each i."""
    rows = []
    for ones in range(attributes + 1):
        row = [1] + [0] * width
        for attribute in range(attributes):
            sign = -1 if attribute < ones else 1
            for power in range(width, 0, -1):
                row[power] += sign * row[power - 1]
        rows.append(tuple(row))
    return tuple(rows)
