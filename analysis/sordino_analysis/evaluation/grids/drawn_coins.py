"""Moves of a report of grids whose level, offsets and label words are drawn: estimated from coins of a fixed stream."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.levels import CellLevel, Shape
from sordino_analysis.evaluation.mean_moves import coins_of, moves_of_ends
from sordino_analysis.vectorized.coarsened.labels import labels_of, minus
from sordino_shared.randomizers import Coarsened, GridPartition, Level
from sordino_shared.randomness import CoinStream

# The stream is part of the method: who computes the bound again gets the same.
_STREAM = b"sordino mean moves v1\0"
# Queries that are spread over all: neighbours are moved about as far.
_MOST_QUERIES = 64
# However long they take: fewer would say too little of the others.
_LEAST_QUERIES = 8
# Products of a cell's sum and a label that are added up for all queries: about a second of a processor.
_MOST_PRODUCTS = 3_000_000_000
# Entries of weights and of labels that are held at once: 128 MiB and 8 MiB.
_MOST_WEIGHTS, _MOST_LABELS = 1 << 24, 1 << 20


@dataclass(frozen=True, eq=False)
class DrawnCoins:
    """`count` coins of a randomizer, its `levels` as likelihoods and the `factors` that their reports count."""

    randomizer: Coarsened
    levels: Sequence[CellLevel]
    factors: Sequence[float]

    @property
    def count(self) -> int:
        """How many coins are drawn."""
        return coins_of(self.randomizer.size)

    @cached_property
    def _groups(self) -> dict[tuple[int, tuple[int, ...]], list[list[int]]]:
        """Words of the labels by level and offsets."""
        coin, found = CoinStream(_STREAM), defaultdict[tuple[int, tuple[int, ...]], list[list[int]]](list)
        for _ in range(self.count):
            number, public, words = self.randomizer.draw_public(coin)
            found[number, tuple(public)].append(words)
        return found

    @cached_property
    def most_queries(self) -> int:
        """Queries whose moves are estimated in about a second; at least `_LEAST_QUERIES`."""
        each = sum(
            len(words) * math.prod(self._shape(number)) * self.randomizer.levels[number].label.count
            for (number, _), words in self._groups.items()
        )
        return max(_LEAST_QUERIES, min(_MOST_QUERIES, _MOST_PRODUCTS // each, _MOST_WEIGHTS // self.randomizer.size))

    def sums(self, weights: Floats, constants: Floats, least: Floats, most: Floats) -> tuple[Floats, Floats]:
        """(b,) Σ M(κ) and Σ M(κ)² over the coins, for β (b, k₁, k₂, …), t (b,) and the ends of the queries (b,)."""
        sums, whole = _cumulative(weights), weights.reshape(len(weights), -1).sum(axis=1)[:, None]
        total, squares = np.zeros((2, len(weights)))
        for (number, public), words in self._groups.items():
            level, factor = self.levels[number], self.factors[number]
            cells = self._cell_sums(sums, number, public)
            step = max(1, _MOST_LABELS // (cells.shape[1] * self.randomizer.levels[number].label.count))
            for start in range(0, len(words), step):
                low, high = _ends(cells, self._held(number, words[start : start + step]))
                low, high = (
                    constants[:, None] + factor * ((level.low - 1) * whole + (level.high - level.low) * end)
                    for end in (low, high)
                )
                moves = moves_of_ends(low, high, least[:, None], most[:, None])
                total += moves.sum(axis=1)
                squares += (moves**2).sum(axis=1)
        return total, squares

    def _shape(self, number: int) -> Shape:
        return self.randomizer.levels[number].shape(self.randomizer.sizes)

    def _cell_sums(self, sums: Floats, number: int, public: Sequence[int]) -> Floats:
        """D (b, cells) of a level with these offsets; cells past the last type are empty."""
        partition, sizes, offsets = self.randomizer.levels[number].partition, self.randomizer.sizes, iter(public)
        assert isinstance(partition, GridPartition)
        counts = iter(self._shape(number))
        for axis, (width, size) in enumerate(zip(partition.widths, sizes, strict=True), 1):
            edges = np.array([0, size])
            if width:
                starts = np.arange(next(counts) + 1) * width - (next(offsets) if width > 1 else 0)
                edges = np.clip(starts, 0, size)
            sums = np.diff(sums.take(edges, axis=axis), axis=axis)
        return sums.reshape(len(sums), -1)

    def _held(self, number: int, words: Sequence[Sequence[int]]) -> Floats:
        """(n, cells, G) 1 where the report with label y holds the cell, else 0."""
        level, shape = self.randomizer.levels[number], self._shape(number)
        places = np.indices(shape, dtype=np.uint64).reshape(len(shape), 1, -1)
        drawn = np.array(words, dtype=np.uint64).reshape(len(words), -1).T[:, :, None]
        labels = np.broadcast_to(
            labels_of(level.label, list(places), shape, list(drawn)), (len(words), places.shape[2])
        )
        return _table(level)[labels.astype(np.intp)]


def _table(level: Level) -> Floats:
    """(G, G) 1 where a report with label y holds the cells with label t: t ⊖ y is a member."""
    labels = np.arange(level.label.count, dtype=np.uint64)
    bits = np.frombuffer(level.members.ljust((len(labels) + 7) // 8, b"\0"), dtype=np.uint8)
    members = np.unpackbits(bits, bitorder="little")[: len(labels)].astype(float)
    return np.asarray(members[minus(level.label, labels[:, None], labels[None]).astype(np.intp)])


def _ends(cells: Floats, held: Floats) -> tuple[Floats, Floats]:
    """(b, n) the least and the largest Σ D over the cells that a report of some label y holds."""
    count, _, labels = held.shape
    sums = cells @ held.transpose(1, 0, 2).reshape(cells.shape[1], -1)
    by_label = sums.reshape(len(cells), count, labels)
    return by_label.min(axis=2), by_label.max(axis=2)


def _cumulative(weights: Floats) -> Floats:
    """(b, k₁ + 1, k₂ + 1, …) sums of β over all types before, from 0."""
    found = np.zeros((len(weights), *(size + 1 for size in weights.shape[1:])))
    found[(slice(None), *(slice(1, None),) * (weights.ndim - 1))] = weights
    for axis in range(1, weights.ndim):
        np.cumsum(found, axis=axis, out=found)
    return found
