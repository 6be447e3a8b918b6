"""Levels of grids in integers, as a device part has them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.levels import Shape
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import Coarsened, Level
from sordino_shared.randomizers.coarsened.level import CHANCE_BITS, MAX_LEVELS
from sordino_shared.randomizers.coarsened.randomizer import MAX_TABLES


class DesignedLevel(Protocol):
    """A level of any kind of grids."""

    @property
    def chance(self) -> float: ...


L = TypeVar("L", bound=DesignedLevel)


def whole_chances(chances: Floats, rounded: int | None = None) -> list[int]:
    """`chances` (levels,) in whole units of 2^−32, one or more each. Level `rounded` takes what rounding leaves.

    It is the likeliest level where none is named.
    """
    whole = 1 << CHANCE_BITS
    found = np.maximum(1, np.rint(chances * whole)).astype(np.int64)
    found[found.argmax() if rounded is None else rounded] += whole - found.sum()
    return [int(chance) for chance in found]


def shipped_beside(
    levels: Sequence[L], shape: Shape, shipped: Callable[[L, int], Level], guarantee: PureEpsilon
) -> Coarsened:
    """The likeliest levels beside categories, with the largest weight whose ratio to the low one is in e^ε."""
    # Each has a table of the types that it looks at.
    most = MAX_TABLES // (math.prod(shape) + 1)
    kept = sorted(levels, key=lambda level: -level.chance)[: min(most, MAX_LEVELS)]
    shares = np.array([level.chance for level in kept])
    chances = whole_chances(shares / shares.sum())
    return Coarsened.for_guarantee(shape, [shipped(*each) for each in zip(kept, chances, strict=True)], guarantee)
