"""How far the reports of two values are apart, in integers, and what shuffling makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.guarantees.clones import Clones

# Entries of a table that are compared pair by pair: less than a second.
_MOST_COMPARED = 1 << 26
# ε of a pair grows about like the root of its distance, and that of a group like most/√least, in shares of the largest
# distance: from most to most^1.8 it stays below that of the farthest pair.
_SHARES = tuple(0.999 ** (1.8**power) for power in range(20))


def column_distances(table: NDArray[np.uint64]) -> list[int] | None:
    """Σ_y [K(y|x) − K(y|x′)]₊ over all pairs, each number above 0 once, the largest first, in the table's integers.

    `table` (m, k) has columns of equal sums of at most 2^62. None where there are too many entries to compare.
    """
    rows, types = table.shape
    if rows * types * types // 2 > _MOST_COMPARED:
        return None
    found: set[int] = set()
    for cell in range(types - 1):
        own, others = table[:, cell, None], table[:, cell + 1 :]
        found.update(np.where(own > others, own - others, np.uint64(0)).sum(axis=0, dtype=np.uint64).tolist())
    return sorted(found - {0}, reverse=True)


def clones_by_distance(ratio: Fraction, distances: Sequence[Fraction]) -> tuple[Clones, ...]:
    """For pairs at these `distances`, in falling order: the farthest by itself, nearer ones in groups."""
    if not distances:
        return ()
    most, *nearer = distances
    groups: dict[int, list[Fraction]] = {}
    for distance in nearer:
        groups.setdefault(_group(float(distance / most)), []).append(distance)
    together = (Clones.of_pairs(ratio, members[-1], members[0]) for members in groups.values())
    return Clones.of_pair(ratio, most), *together


def _group(share: float) -> int:
    """Which group pairs belong to that are at this share of the largest distance."""
    return sum(share < least for least in _SHARES)
