"""Climbing from sets of types by single flips, for prices of rows of any kind."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sordino_analysis.arrays import Floats, Mask

_MOST_FLIPS_PER_TYPE = 2
# Gains below it are rounding, and would be taken and given back endlessly.
_RISES = 1e-12

# (n, k) sets → (n,) their gains, and (n, k) their gains after flipping each type.
Flips = Callable[[Mask], tuple[Floats, Floats]]


def climbed(members: Mask, flips: Flips) -> Mask:
    """Each set after the single flips that raise its gain the most, until none does. `members` (n, k) → (n, k)."""
    ends, moving = members.copy(), np.arange(len(members))
    for _ in range(_MOST_FLIPS_PER_TYPE * members.shape[1]):
        gains, flipped = flips(ends[moving])
        best = flipped.argmax(axis=1)
        better = flipped[np.arange(len(moving)), best] > gains + _RISES * np.abs(gains)
        moving, best = moving[better], best[better]
        if not len(moving):
            break
        ends[moving, best] ^= True
    return ends
