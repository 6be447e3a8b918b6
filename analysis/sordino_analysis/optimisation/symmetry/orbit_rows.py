"""Rows for orbit kernels: sets of cells over a few slots, and their information about every orbit of characters.

For up to 16 cells all sets are listed, one of each profile; on four binary slots these 65,534 sets already come within
2 % of the bound for width 3 and ε ≤ 1. On more cells a search finds informative sets for given prices of the
orbits: the information is convex in the set, so taking the cells with the largest gradient never lowers it; single
flips finish the search.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np

from sordino_analysis.arrays import NEARLY_ZERO, Floats, Mask
from sordino_analysis.optimisation.symmetry.tuning import ORBIT_ROWS
from sordino_analysis.questions.linear.characters import Characters, Integers, orbit_key

# Every marginal that can be asked fits a row.
MOST_CELLS = 2048
# Profiles that agree in so many digits are those of one orbit.
_PROFILE_DIGITS = 10


@dataclass(frozen=True, eq=False)
class RowShape:
    """Slots of a row, and the orbit (K,) of each of its frequencies in C order; −1 at zero and beyond the width."""

    sizes: tuple[int, ...]
    orbits: Integers

    @property
    def cells(self) -> int:
        """K."""
        return len(self.orbits)

    @property
    def listed(self) -> bool:
        """Whether all sets are few enough to be listed."""
        return self.cells <= ORBIT_ROWS.listed_cells

    def profiles(self, sets: Mask, epsilon: float, orbits: int) -> Floats:
        """(n, orbits) Σ |û(r)|² over each orbit, for (n, K) sets."""
        levels = np.where(sets, math.exp(epsilon), 1.0)
        levels /= levels.sum(axis=1, keepdims=True)
        axes = tuple(range(1, 1 + len(self.sizes)))
        squares = np.abs(np.fft.fftn(levels.reshape(-1, *self.sizes), axes=axes).reshape(len(sets), -1)) ** 2
        counted = np.flatnonzero(self.orbits >= 0)
        membership = np.zeros((len(counted), orbits))
        membership[np.arange(len(counted)), self.orbits[counted]] = 1.0
        return np.asarray(squares[:, counted] @ membership)

    def every_set(self, epsilon: float, orbits: int) -> Mask:
        """(n, K) a set of each profile; a shift takes any to one that holds the first cell."""
        numbers = np.arange(1, 2**self.cells - 1, 2, dtype=np.uint64)
        sets = (numbers[:, None] >> np.arange(self.cells, dtype=np.uint64)) & np.uint64(1) == 1
        row_orbits = np.unique(self.orbits[self.orbits >= 0])
        profiles = self.profiles(sets, epsilon, orbits)[:, row_orbits]
        # Sums with weights that no profile knows differ where profiles do; one column is sorted faster than many.
        sums = profiles @ np.sqrt(np.arange(2.0, 2.0 + len(row_orbits)))
        _, first = np.unique(np.round(sums / sums.max(), _PROFILE_DIGITS), return_index=True)
        return np.asarray(sets[np.sort(first)])

    def pairs(self) -> Mask:
        """(slots, K) sets of two cells that differ in the first slot, in the first two, …, in all."""
        slots = len(self.sizes)
        others = np.ravel_multi_index(tuple(np.triu(np.ones((slots, slots), dtype=np.int64))), self.sizes)
        sets = np.zeros((slots, self.cells), dtype=bool)
        sets[:, 0] = True
        sets[np.arange(slots), others] = True
        return sets

    def most_informative_sets(self, prices: Floats, epsilon: float, generator: np.random.Generator) -> Mask:
        """(n, K) sets that no single flip makes tell more, from random starts; `prices` (orbits,) are not negative."""
        likeness = self._likeness(prices)
        size = self.cells / (math.exp(epsilon) + 1)
        sizes = np.clip(np.rint(size + generator.uniform(-1, 1, ORBIT_ROWS.starts)), 1, self.cells - 1).astype(int)
        slopes = generator.standard_normal((ORBIT_ROWS.starts, self.cells)) @ likeness
        sets = _largest(slopes, sizes)
        for _ in range(ORBIT_ROWS.linear_steps):
            moved = _largest(sets @ likeness, sizes)
            if (moved == sets).all():
                break
            sets = moved
        return np.unique(_flipped(sets, likeness, math.exp(epsilon)), axis=0)

    def _likeness(self, prices: Floats) -> Floats:
        """(K, K) Σ_r price_r cos θ_r(x − y): the sum over pairs of a set is Σ_r price_r |Σ_{x in the set} e^{iθ}|²."""
        weights = np.where(self.orbits >= 0, prices[self.orbits], 0.0).reshape(self.sizes)
        by_shift = np.fft.fftn(weights).real.ravel()
        return np.asarray(by_shift[self._differences])

    @cached_property
    def _differences(self) -> Integers:
        cells = np.indices(self.sizes).reshape(len(self.sizes), -1)
        moved = (cells[:, None, :] - cells[:, :, None]) % np.array(self.sizes)[:, None, None]
        return np.asarray(np.ravel_multi_index(tuple(moved), self.sizes))


def distinct_profiles(profiles: Floats) -> tuple[Integers, Integers]:
    """The number of the first set with each of the (n, orbits) profiles, and of how many sets it is the profile."""
    rounded = np.round(profiles / profiles.sum(axis=1).max(), _PROFILE_DIGITS)
    _, first, counts = np.unique(rounded, axis=0, return_index=True, return_counts=True)
    return first, counts


def row_shapes(characters: Characters) -> list[RowShape]:
    """Shapes that cover every set of `width` attributes: as many slots, and more where cells are few."""
    present = Counter(size for size, pinned in characters.kinds if size > 1 and not pinned)
    first = tuple(size for size, pinned in characters.kinds if pinned)
    width, most = min(characters.width - len(first), present.total()), present.total()
    needed = [first + sizes for sizes in _multisets(present, width)]
    longer: list[tuple[int, ...]] = []
    for slots in range(width + 1, most + 1):
        sizes = [first + free for free in _multisets(present, slots)]
        fitting = [one for one in sizes if math.prod(one) <= ORBIT_ROWS.most_searched_cells]
        if not fitting:
            break
        longer += fitting
    return [row_shape(sizes, characters) for sizes in needed + longer[: ORBIT_ROWS.most_shapes]]


def row_shape(sizes: tuple[int, ...], characters: Characters) -> RowShape:
    """Slots of these sizes, each of which some attribute has; the first is the pinned attribute's, if there is one."""
    numbers, width, kinds = characters.orbit_numbers, characters.width, characters.slot_kinds(sizes)
    frequencies = np.indices(sizes).reshape(len(sizes), -1).T.tolist()
    within = (0 < np.count_nonzero(r) <= width for r in frequencies)
    orbits = [
        numbers[orbit_key(kinds, r)] if is_within else -1 for r, is_within in zip(frequencies, within, strict=True)
    ]
    return RowShape(sizes, np.array(orbits))


def _multisets(present: Counter[int], length: int) -> list[tuple[int, ...]]:
    chosen = combinations_with_replacement(sorted(present), length)
    return [sizes for sizes in chosen if not Counter(sizes) - present]


def _largest(slopes: Floats, sizes: Integers) -> Mask:
    """(n, K) the `sizes[i]` cells with the largest slopes in each row."""
    ranks = np.argsort(np.argsort(-slopes, axis=1), axis=1)
    return np.asarray(ranks < sizes[:, None])


def _flipped(sets: Mask, likeness: Floats, boost: float) -> Mask:
    """Each set after the best single flip, repeated until none adds information.

    The information of a set of n cells is (e^ε − 1)² · (sum of likeness over its pairs)/(K + (e^ε − 1)n)², without
    constants.
    """
    sets, everyone = sets.copy(), np.arange(len(sets))
    cells = sets.shape[1]
    for _ in range(ORBIT_ROWS.most_flips):
        near = sets @ likeness
        sizes, total = sets.sum(axis=1), (near * sets).sum(axis=1)
        signs = np.where(sets, -1, 1)
        after = sizes[:, None] + signs
        values = (total[:, None] + 2 * signs * near + likeness[0, 0]) / (cells + (boost - 1) * after) ** 2
        values[(after == 0) | (after == cells)] = -np.inf
        best = values.argmax(axis=1)
        better = values[everyone, best] > total / (cells + (boost - 1) * sizes) ** 2 * (1 + NEARLY_ZERO)
        if not better.any():
            break
        sets[everyone[better], best[better]] ^= True
    return sets
