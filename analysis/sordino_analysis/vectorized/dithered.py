"""Members rounded to knots at random, many at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.vectorized.randomness import uniform_below_each
from sordino_shared.randomizers import Dithered
from sordino_shared.randomness import Randomness

Codes = NDArray[np.uint64]


def dithered_types(dithered: Dithered, codes: Codes, randomness: Randomness) -> Codes:
    """(n, attributes) the types that the inner randomizer takes, drawn for rows of member indices, one an attribute."""
    types = codes.copy()
    for place, knots in enumerate(dithered.knots):
        if knots:
            types[:, place] = _dithered(knots, codes[:, place], randomness)
    return types


def _dithered(knots: Sequence[int], members: Codes, randomness: Randomness) -> Codes:
    """(n,) types of (n,) members of one attribute; nothing is drawn for the last knot and what follows it."""
    ends = np.array(knots, dtype=np.uint64)
    places = np.searchsorted(ends, members, side="right") - 1
    types = places.astype(np.uint64)
    # On the last knot this is its place.
    after = members >= ends[-1]
    types[after] = np.uint64(len(knots) - 1) + members[after] - ends[-1]
    if (lower := places[~after]).size:
        drawn = uniform_below_each(randomness, ends[lower + 1] - ends[lower])
        types[~after] += drawn < members[~after] - ends[lower]
    return types
