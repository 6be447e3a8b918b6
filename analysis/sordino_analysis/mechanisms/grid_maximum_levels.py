"""Levels of shifted grids for the largest variance: which, how often, and what their reports count.

Where ε is large the holder's own cell makes most of a report's second moment, so that sets are denser and wide combs
count less than for the mean. Levels are chosen at a few hundred types and descended again at each doubling.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.families import LineFamily
from sordino_analysis.evaluation.grids.law import GridLaw
from sordino_analysis.evaluation.grids.levels import GridLevel
from sordino_analysis.mechanisms.grid_maximum import LargestVariance, descended, with_terms
from sordino_analysis.mechanisms.hash_response import HashResponse
from sordino_analysis.mechanisms.tuning import GRID_MAXIMUM


def levels_for_maximum(family: LineFamily, epsilon: float) -> list[GridLevel]:
    """Levels with chances that sum to 1 and with their factors."""
    size = family.size
    while size > GRID_MAXIMUM.chosen_at:
        size //= 2
    smaller = family.resized(size)
    levels = _least(_candidates(size, epsilon), smaller)
    for octaves in reversed(range(_octaves(family.size, size))):
        larger = family.size >> octaves
        levels = _grown(levels, size, larger)
        if larger <= GRID_MAXIMUM.descended_to:
            levels = [*levels, *_between(levels, larger, epsilon)]
            levels = _least(levels, family.resized(larger))
        size = larger
    return levels


def largest_variance(levels: Sequence[GridLevel], family: LineFamily, count: int) -> float:
    """The largest w_q Var_q over all types and about `count` queries."""
    asked = _Asked.of(family, count)
    return float((asked.weights * GridLaw(levels, family.size).variances(asked.queries).max(axis=1)).max())


def _octaves(size: int, smaller: int) -> int:
    return round(math.log2(size / smaller))


@dataclass(frozen=True, eq=False)
class _Asked:
    """Some `queries` v (b, k) of a family and how many times the variance of each counts, `weights` (b,)."""

    queries: Floats
    weights: Floats

    @classmethod
    def of(cls, family: LineFamily, count: int) -> Self:
        """About so many, without those that vary as another one does.

        That is for types in the opposite order, or for all but its: grids and combs look alike from both ends, and the
        answer about all types has no error.
        """
        samples = family.samples(count)
        queries, kept = family.rows(samples), dict[bytes, int]()
        weights = family.weights(samples)
        for row in np.argsort(-weights, kind="stable").tolist():
            query = queries[row]
            alike = (query, query[::-1], 1 - query, 1 - query[::-1])
            kept.setdefault(min(one.tobytes() for one in alike), row)
        rows = sorted(kept.values())
        return cls(queries[rows], weights[rows])

    def worst(self, levels: Sequence[GridLevel], count: int) -> Self:
        """Those with the largest w_q Var_q."""
        largest = self.weights * GridLaw(levels, self.queries.shape[1]).variances(self.queries).max(axis=1)
        rows = np.argsort(-largest, kind="stable")[:count]
        return replace(self, queries=self.queries[rows], weights=self.weights[rows])

    def joined(self, other: Self) -> Self:
        """Both; of equal queries, which parts of a stack may share, the one that counts most."""
        queries, weights = np.vstack([self.queries, other.queries]), np.append(self.weights, other.weights)
        heaviest = np.argsort(-weights, kind="stable")
        _, first = np.unique(queries[heaviest], axis=0, return_index=True)
        rows = heaviest[first]
        return replace(self, queries=queries[rows], weights=weights[rows])


def _least(levels: Sequence[GridLevel], family: LineFamily) -> list[GridLevel]:
    """Descended over a few queries, then with those that were then the worst of more of them."""
    found, asked = list(levels), _Asked.of(family, GRID_MAXIMUM.queries)
    compared = _Asked.of(family, GRID_MAXIMUM.compared)
    for power in GRID_MAXIMUM.powers:
        found = _kept(descended(LargestVariance(found, asked.queries, asked.weights, power), GRID_MAXIMUM.steps))
        asked = asked.joined(compared.worst(found, GRID_MAXIMUM.queries))
    return found


def _candidates(size: int, epsilon: float) -> list[GridLevel]:
    """Hashed cells of every power of 2 and combs of many periods, in the densities between mean and maximum."""
    hashed = [
        _hashed(1 << power, labels, epsilon) for power in range(size.bit_length()) for labels in _label_counts(epsilon)
    ]
    combs = []
    # Beyond ε = 14.8 the sets of all are too dense, and those of the most labels least.
    within = [labels for labels in GRID_MAXIMUM.comb_labels if _within(1 / labels, epsilon)]
    for labels in within or [max(GRID_MAXIMUM.comb_labels)]:
        response = HashResponse(1, labels, epsilon)
        widths = {round(size * times / labels) for times in GRID_MAXIMUM.comb_periods} - {0}
        combs += [_started(response.level(width, hashed=False)) for width in sorted(widths)]
    return [*hashed, *combs]


def _label_counts(epsilon: float) -> list[int]:
    return [1 << bits for bits in GRID_MAXIMUM.label_bits if _within(1 / (1 << bits), epsilon)]


def _within(density: float, epsilon: float) -> bool:
    """Whether a density is about between those that are best for the mean and for the maximum of single values."""
    least, most = 1 / (math.exp(epsilon) + 1), 1 / (math.exp(epsilon / 2) + 1)
    return least / GRID_MAXIMUM.margin <= density <= GRID_MAXIMUM.margin * most


def _hashed(width: int, labels: int, epsilon: float) -> GridLevel:
    return HashResponse(1, labels, epsilon).level(width, hashed=True)


def _started(comb: GridLevel) -> GridLevel:
    """A comb that counts what it does about where a descent ends."""
    return replace(comb, counts=GRID_MAXIMUM.comb_start * math.sqrt(comb.spread / comb.own_spread))


def _grown(levels: Sequence[GridLevel], size: int, larger: int) -> list[GridLevel]:
    """Combs as wide a part of the larger domain, and hashed cells as they are."""
    return [one if one.hashed else replace(one, width=round(one.width * larger / size)) for one in levels]


def _between(levels: Sequence[GridLevel], size: int, epsilon: float) -> list[GridLevel]:
    """Hashed cells of widths up to a part of the domain that no level has, in a few of the reports each."""
    present = {(level.width, level.hits, level.labels) for level in levels if level.hashed}
    tried = [
        _hashed(1 << power, labels, epsilon)
        for power in range((size // GRID_MAXIMUM.widest_part).bit_length())
        for labels in _label_counts(epsilon)
    ]
    return [
        replace(level, chance=GRID_MAXIMUM.tried_chance)
        for level in tried
        if (level.width, level.hits, level.labels) not in present
    ]


def _kept(levels: Sequence[GridLevel]) -> list[GridLevel]:
    kept = [level for level in levels if level.chance >= GRID_MAXIMUM.least_chance]
    return with_terms(
        kept, np.array([level.chance for level in kept]), np.array([level.counts for level in kept], dtype=float)
    )
