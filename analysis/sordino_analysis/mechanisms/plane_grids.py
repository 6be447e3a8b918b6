"""Levels of grids on two attributes as a randomizer; the planner does not choose them yet."""

from __future__ import annotations

import numpy as np

from sordino_analysis.evaluation.grids.plane_levels import Pair, PlaneLevel
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import Coarsened, GridPartition, Level, LinearLabel, ResidueLabel
from sordino_shared.randomizers.coarsened.level import CHANCE_BITS, MAX_LEVELS

# Of the largest chance; a level of a smaller one costs bytes only.
_SMALLEST_SHARE = 1e-5


def shipped_plane(levels: list[PlaneLevel], shape: Pair, guarantee: PureEpsilon) -> Coarsened:
    """The levels in integers: chances that sum to 2^32, and the largest weight whose ratio to the low one is in e^ε."""
    most = max(level.chance for level in levels)
    kept = sorted((one for one in levels if one.chance > _SMALLEST_SHARE * most), key=lambda one: -one.chance)
    kept = kept[:MAX_LEVELS]
    shares = np.array([level.chance for level in kept])
    whole = 1 << CHANCE_BITS
    chances = np.maximum(1, np.rint(shares / shares.sum() * whole)).astype(np.int64)
    chances[chances.argmax()] += whole - chances.sum()
    made = [_shipped(level, int(chance)) for level, chance in zip(kept, chances, strict=True)]
    return Coarsened.for_guarantee(shape, made, guarantee)


def _shipped(level: PlaneLevel, chance: int) -> Level:
    members = ((1 << level.hits) - 1).to_bytes((level.hits + 7) // 8, "little")
    grid = GridPartition(level.widths)
    if level.residues is None:
        return Level(chance, grid, LinearLabel(level.labels.bit_length() - 1), members)
    looked_at = [count for count, width in zip(level.residues, level.widths, strict=True) if width]
    return Level(chance, grid, ResidueLabel(tuple(looked_at)), members)
