"""Orbits of the cells of Z_c1 × … × Z_cd under exchanges of equal attributes and z → −z, and their characters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.symmetry.krawtchouk import krawtchouk
from sordino_analysis.questions.linear.characters import Characters, Integers, orbit_key

# The table of characters of the orbits takes a pass over all cells for each.
_MOST_ORBITS, _MOST_CELLS = 200, 1 << 20
# Beyond it the sizes of orbits differ by more than a solver in double precision can tell apart.
_MOST_BINARY = 20


@dataclass(frozen=True, eq=False)
class GroupOrbits:
    """The orbits of all k cells, and of all characters, which have the same; the zero is the first.

    `sizes` (n,), `table` (n, n) with Σ of cas_r over the cells of an orbit for an r of each orbit, `places` of the
    orbits that queries use.
    """

    sizes: Floats
    table: Floats
    places: Integers


def group_orbits(characters: Characters) -> GroupOrbits | None:
    """The orbits of the group and their table, or None where they are too many, or an attribute is pinned."""
    shape = characters.shape
    if characters.pinned is not None:
        return None
    if set(shape) == {2}:
        return _by_ones(characters)
    digits = sum(size - 1 for size in set(shape))
    if math.prod(shape) > _MOST_CELLS or (len(shape) + 1) ** digits >= 1 << 62:
        return None
    kinds, first, orbit_of = np.unique(_cell_keys(shape), return_index=True, return_inverse=True)
    if len(kinds) > _MOST_ORBITS:
        return None
    rows = []
    for cell in first:
        frequency = np.unravel_index(int(cell), shape)
        angle = reduce(np.add.outer, [2 * np.pi * r / c * np.arange(c) for r, c in zip(frequency, shape, strict=True)])
        rows.append(np.bincount(orbit_of.ravel(), weights=(np.cos(angle) + np.sin(angle)).ravel()))
    by_key = {
        orbit_key(characters.kinds, [int(r) for r in np.unravel_index(int(cell), shape)]): place
        for place, cell in enumerate(first)
    }
    places = np.array([by_key[key] for key in characters.orbits])
    return GroupOrbits(np.bincount(orbit_of.ravel()).astype(float), np.array(rows), places)


def _by_ones(characters: Characters) -> GroupOrbits | None:
    """On binary attributes cells with as many ones are an orbit, whose characters sum to Krawtchouk values."""
    attributes = len(characters.shape)
    if attributes > _MOST_BINARY:
        return None
    sizes = np.array([math.comb(attributes, ones) for ones in range(attributes + 1)], dtype=float)
    places = np.array([len(key) for key in characters.orbits])
    return GroupOrbits(sizes, krawtchouk(attributes, attributes), places)


def _cell_keys(shape: Sequence[int]) -> Integers:
    """(k,) the same number for cells that exchanges of attributes of equal size, or z → −z, take to one another.

    A digit, in base d + 1, counts the attributes of one size with one value.
    """
    base, sizes = len(shape) + 1, sorted(set(shape))
    starts = dict(zip(sizes, np.cumsum([0, *(size - 1 for size in sizes)]).tolist()[:-1], strict=True))

    def digits(size: int) -> Integers:
        return np.array([0, *(base ** (starts[size] + value) for value in range(size - 1))], dtype=np.int64)

    there = reduce(np.add.outer, [digits(size) for size in shape])
    back = reduce(np.add.outer, [digits(size)[-np.arange(size) % size] for size in shape])
    return np.asarray(np.minimum(there, back).ravel())
