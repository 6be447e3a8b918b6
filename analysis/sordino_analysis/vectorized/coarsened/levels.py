"""Many reports of one level; see `sordino_shared.randomizers.coarsened.level`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.vectorized.arrays import computed_once
from sordino_analysis.vectorized.coarsened.labels import draw_words, labels_of, minus
from sordino_analysis.vectorized.coarsened.partitions import allows_public, cell_coordinates, draw_public
from sordino_analysis.vectorized.randomness import Words, uniform_below
from sordino_shared.randomizers.coarsened import Level
from sordino_shared.randomizers.coarsened.level import Weights
from sordino_shared.randomizers.coarsened.partitions import Sizes
from sordino_shared.randomness import Randomness


@dataclass(frozen=True, eq=False)
class LevelReports:
    """n reports of one level: (n,) offsets or places, (n,) words of the label, and (n,) y."""

    public: Sequence[Words]
    words: Sequence[Words]
    shifted: Words

    def __len__(self) -> int:
        return len(self.shifted)

    def some(self, chosen: slice | NDArray[Any]) -> LevelReports:
        """The reports at some places: a slice, (m,) indices, or (n,) whether each is taken."""
        return LevelReports([a[chosen] for a in self.public], [a[chosen] for a in self.words], self.shifted[chosen])


@computed_once
def level_members(level: Level) -> NDArray[np.bool_]:
    """(G,) whether a label is a member."""
    inside = np.zeros(level.label.count, dtype=np.bool_)
    members = np.frombuffer(level.members, dtype=np.uint8)
    bits = np.unpackbits(members, bitorder="little")[: level.label.count]
    inside[: len(bits)] = bits == 1
    return inside


def draw_level(level: Level, sizes: Sizes, codes: Words, weights: Weights, randomness: Randomness) -> list[Words]:
    """(n,) fields of one report for each of the values `codes` (n, attributes)."""
    shape = level.shape(sizes)
    public = draw_public(level.partition, sizes, len(codes), randomness)
    words = draw_words(level.label, shape, len(codes), randomness)
    labels = labels_of(level.label, cell_coordinates(level.partition, codes, public), shape, words)
    return [*public, *words, minus(level.label, labels, _draw_shifts(level, len(codes), weights, randomness))]


def _draw_shifts(level: Level, count: int, weights: Weights, randomness: Randomness) -> Words:
    """(count,) labels z, drawn by their weights."""
    inside = level_members(level)
    members, others = np.flatnonzero(inside), np.flatnonzero(~inside)
    beyond = len(members) * weights.high
    draws = uniform_below(randomness, beyond + len(others) * weights.low, count).astype(np.int64)
    within = members[np.minimum(draws // weights.high, len(members) - 1)]
    outside = others[np.maximum(draws - beyond, 0) // weights.low]
    return np.where(draws < beyond, within, outside).astype(np.uint64)


def level_produces(level: Level, sizes: Sizes, fields: Sequence[Words]) -> NDArray[np.bool_]:
    """(n,) whether these fields are ones that some value can produce."""
    report = split_fields(level, sizes, fields)
    allowed = allows_public(level.partition, sizes, report.public)
    return np.asarray(allowed & (report.shifted < np.uint64(level.label.count)))


def split_fields(level: Level, sizes: Sizes, fields: Sequence[Words]) -> LevelReports:
    """The fields by what they are."""
    public = len(level.partition.public_bits(sizes))
    return LevelReports(fields[:public], fields[public:-1], fields[-1])
